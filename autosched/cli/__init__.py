"""The command line: one file a command, each a few lines over `autosched.entry`.

In: arguments. Out: results on stdout, progress and errors on stderr, an exit status: 0 done, 1 the job failed, 2 bad
usage or input, 130 interrupted. Alone may read environment variables (AUTOSCHED_DB, AUTOSCHED_SERVER and
AUTOSCHED_TOKEN), and, inside a command, import api and workers. It must not know how anything is computed.
"""
