"""What every request passes on its way, as plain ASGI layers, outermost first:

    headers    what a browser may do with an answer
    requests   an id, a line in the log, a time in the metrics, an answer even where we are at fault
    hosts      host names that are ours
    origins    pages of ours or none

In: an ASGI application. Out: one that refuses, or adds. They must not read bodies or know a route.
"""
