"""Structured logs of the service's processes: one JSON object a line on stderr, with the keys of request, job, task and
candidate where there are any, and never a secret."""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol, TextIO

import structlog


class Log(Protocol):
    def info(self, event: str, **fields: Any) -> Any: ...

    def warning(self, event: str, **fields: Any) -> Any: ...

    def error(self, event: str, **fields: Any) -> Any: ...


def open_log(stream: TextIO | None = None, **bound: Any) -> Log:
    """A log that depends on no global configuration; its every line carries `bound`."""
    log: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream or sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind(**bound)
    return log
