"""What schemathesis is told of the routes that the description cannot tell."""

import json

import schemathesis


@schemathesis.hook
def map_query(context, query):
    """Whoever waits for news waits for a moment only."""
    for name in ("wait_s", "wait"):
        if query and isinstance(query.get(name), (int, float)) and query[name] > 0:
            query[name] = 0
    return query



@schemathesis.serializer("application/x-ndjson")
def json_lines(_context, value):
    """JSON lines: each of a list, or a text as it is."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(line) for line in lines).encode()
