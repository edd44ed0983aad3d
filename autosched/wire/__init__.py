"""The typed JSON of the REST service and of `--json`: names with units, non-finite numbers as null, times in UTC.

In: reports and records. Out: documents that the command line prints, the service answers and the client reads. It must
not know HTTP or terminals.
"""
