"""Structured logs: one JSON object a line on stderr, with what finds a request again and never a secret."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

PROCESSORS: tuple[Any, ...] = (
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    structlog.processors.JSONRenderer(),
)

Log = Any
"""A structlog logger: `log.info("event", key=value)`."""


def make_log(stream: Any = None) -> Log:
    """A logger that depends on no global configuration."""
    return structlog.wrap_logger(
        structlog.PrintLogger(stream or sys.stderr),
        processors=list(PROCESSORS),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )


class Forwarded(logging.Handler):
    """Hands records of the standard library's loggers (those of the server) to a structured one."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        write = getattr(self._log, level, self._log.info)
        write(record.getMessage(), logger=record.name, exc_info=record.exc_info)
