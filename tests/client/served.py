"""The real API over real sockets: its application in a thread, on a SQLite database with a worker that was seen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvicorn
from autosched_api.app import create_app
from autosched_api.settings import Settings

from autosched.db.store import SqlTuningStore, connect
from autosched.jobs.access import Scope, Token, digest_of, new_secret
from autosched.jobs.workers import Worker
from autosched.testing.records import TARGET, TOOLCHAIN, TOOLCHAIN_KEY
from autosched.testing.waiting import until


@dataclass(frozen=True)
class Served:
    """The service's address, and the database behind it, at which a test plays the dispatcher."""

    url: str
    store: SqlTuningStore

    def token(self, owner: str, *scopes: Scope) -> str:
        """A good token's text."""
        token_id, text = new_secret()
        self.store.add_token(Token(token_id, owner, frozenset(scopes), digest_of(text)))
        return text


@contextmanager
def api(folder: Path, **settings: Any) -> Iterator[Served]:
    url = f"sqlite:///{folder / 'service.db'}"
    store = connect(url)
    store.register(
        Worker(
            id="w-1",
            host="mill",
            target_key=TARGET.key,
            target=asdict(TARGET),
            max_threads=TARGET.threads,
            toolchain_key=TOOLCHAIN_KEY,
            toolchain=TOOLCHAIN,
            devices=("mill/cpu",),
        )
    )
    store.seen("w-1")
    wanted = Settings(db=url, port=0, event_poll_seconds=0.02, **settings)
    config = uvicorn.Config(create_app(wanted), port=0, log_level="critical", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", store)
    finally:
        server.should_exit = True
        thread.join()
        store.close_connections()
