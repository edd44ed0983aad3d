"""Structured logs: one JSON object a line on stderr, with the keys of job, task and candidate where there are any."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import structlog


class Log(Protocol):
    def info(self, event: str, **fields: Any) -> Any: ...

    def warning(self, event: str, **fields: Any) -> Any: ...

    def error(self, event: str, **fields: Any) -> Any: ...


def open_log(**bound: Any) -> Log:
    """A log whose every line carries `bound`."""
    log = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    )
    bound_log: Log = log.bind(**bound)
    return bound_log
