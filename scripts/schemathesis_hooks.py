"""Facts about the routes that the HTTP description cannot express."""

import json

import schemathesis


def without_waiting(values):
    """Sets wait times to zero, so that requests that wait return at once."""
    for name in ("wait_s", "wait"):
        if isinstance(values, dict) and isinstance(values.get(name), (int, float)) and values[name] > 0:
            values[name] = 0
    return values


@schemathesis.hook
def map_query(context, query):
    return without_waiting(query)


@schemathesis.hook
def map_body(context, body):
    return without_waiting(body)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Sends headers as text. Stateful tests take their values from answers, where an ID may be a number."""
    for name, value in list((case.headers or {}).items()):
        case.headers[name] = value if isinstance(value, (str, bytes)) else str(value)


@schemathesis.serializer("application/x-ndjson")
def json_lines(_context, value):
    """Serializes a list as JSON lines; passes text and bytes through."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(line) for line in lines).encode()
