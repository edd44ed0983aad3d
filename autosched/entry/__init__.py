"""What a user can do with a source: tune it, look its winners up, build it. Composition, and nothing else.

In: a source, a target, a database. Out: reports, answers, built directories. The command line and the Python API stand
on it; it must not know terminals.
"""
