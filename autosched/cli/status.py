"""The exit statuses of the program."""

from __future__ import annotations

DONE = 0
FAILED = 1
"""The job failed, or what was checked is not so."""
BAD_INPUT = 2
INTERRUPTED = 130
