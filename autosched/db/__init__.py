"""The TuningStore and the Catalog on SQL: records in, records out; alone may import SQLAlchemy and Alembic.

In: a database URL, and the values of `autosched.records`. Out: the same values. Must not know: operators, graphs, how
a search works, who asks. `connect(url)` opens a store at the current schema; `lookup` works on any Catalog.
"""
