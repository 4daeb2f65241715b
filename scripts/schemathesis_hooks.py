"""What schemathesis is told of the routes that the description cannot tell."""

import schemathesis


@schemathesis.hook
def map_query(context, query):
    """Whoever waits for news waits for a moment only."""
    for name in ("wait_s", "wait"):
        if query and isinstance(query.get(name), (int, float)) and query[name] > 0:
            query[name] = 0
    return query


@schemathesis.hook
def filter_case(context, case):
    """A stream of events does not end by itself: tests/events.rs reads those."""
    return not case.operation.path.endswith("/events")
