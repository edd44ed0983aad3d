"""What the server's own loggers say, as structured lines."""

from __future__ import annotations

import logging

from autosched.entry.service_log import Log


class Forwarded(logging.Handler):
    """Hands records of the standard library's loggers to a structured one."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        write = getattr(self._log, level, self._log.info)
        write(record.getMessage(), logger=record.name, exc_info=record.exc_info)
