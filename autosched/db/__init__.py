"""The store of a tuner and of a service on SQL: records in, records out; alone may import SQLAlchemy and Alembic.

In: a database URL, and the values of `autosched.records` and `autosched.jobs`. Out: the same values. Must not know:
operators, graphs, how a search works, who asks. `open_store(url)` gives one at the current schema.
"""
