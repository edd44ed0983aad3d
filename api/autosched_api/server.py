"""The process: uvicorn around the application, ended politely.

SIGTERM -> no new connections -> event streams end themselves -> requests under way are answered -> the store is closed
"""

from __future__ import annotations

import logging
import signal
import socket
from typing import NoReturn

import uvicorn
from fastapi import FastAPI

from autosched.entry.service_log import Log
from autosched_api.connections import bounded
from autosched_api.forwarded import Forwarded
from autosched_api.service import Service
from autosched_api.settings import Settings


class Server(uvicorn.Server):
    """Tells the service first that it is to end."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._service.log.info("listening", host=self.config.host, port=self.config.port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.log.info("stopping")
        self._service.stopping.set()
        await super().shutdown(sockets)


def serve(app: FastAPI, settings: Settings, log: Log) -> bool:
    """Answers requests until SIGTERM or SIGINT; whether it had started."""
    _forward_logs(log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_well)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=bounded(settings),  # type: ignore[arg-type]  # called, as a class would be
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=512,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.shutdown_seconds),
    )
    server = Server(config, app.state.service)
    server.run()
    return server.started


def _end_well(*_: object) -> NoReturn:
    """What a signal means before the server listens for it, and when it raises it again after its own end."""
    raise SystemExit(0)


def _forward_logs(log: Log) -> None:
    """What goes wrong in the server itself goes into the same log; its words for a person at a terminal do not."""
    logger = logging.getLogger("uvicorn")
    logger.handlers[:] = [Forwarded(log)]
    logger.setLevel(logging.WARNING)
    logger.propagate = False
