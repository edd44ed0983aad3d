"""How the commands reach a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autosched.cli.output import ERR

if TYPE_CHECKING:
    from autosched.client import Client

DEADLINE_SECONDS = 30.0
"""For one call: a person waits for it."""
LOOKUP_SECONDS = 10.0
"""For one that the cache answers, too."""


@contextmanager
def connect(
    server: str, token: str | None, allow_plain_token: bool, seconds: float = DEADLINE_SECONDS
) -> Iterator[Client]:
    """A client that says on stderr when it has to wait, once for each reason. InvalidInput: no address, a token that
    would travel in the clear or is not good there; refusals speak of the options that were given."""
    from autosched.cli.refusals import told
    from autosched.client import Client, Patience, ServiceError

    said: set[str] = set()

    def say(why: str) -> None:
        if why not in said:
            said.add(why)
            ERR.print(f"trying again: {why}", markup=False)

    with Client(
        server,
        token,
        allow_plain_token=allow_plain_token,
        patience=Patience(deadline=seconds),
        on_wait=say,
    ) as client:
        try:
            yield client
        except ServiceError as error:
            raise told(error, server, has_token=bool(token)) from error


def cache_directory(given: Path | None) -> Path:
    """Where answers are kept for when the service is away."""
    import platformdirs

    return platformdirs.user_cache_path("autosched") / "best" if given is None else given
