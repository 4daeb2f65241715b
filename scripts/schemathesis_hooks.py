"""What schemathesis is told of the routes that the description cannot tell."""

import json

import schemathesis


def without_waiting(values):
    """Whoever waits, for news or for a task, waits for a moment only."""
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


@schemathesis.serializer("application/x-ndjson")
def json_lines(_context, value):
    """JSON lines: each of a list, or a text as it is."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(line) for line in lines).encode()
