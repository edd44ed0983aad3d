"""How the commands reach a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autosched.client import Client

DEADLINE_SECONDS = 30.0
"""For one call: a person waits for it."""


def connect(server: str, token: str | None, allow_plain_token: bool) -> Client:
    """InvalidInput: no address, or a token that would travel in the clear."""
    from autosched.client import Client, Patience

    return Client(
        server,
        token,
        allow_plain_token=allow_plain_token,
        patience=Patience(deadline=DEADLINE_SECONDS),
    )


def cache_directory(given: Path | None) -> Path:
    """Where answers are kept for when the service is away."""
    import platformdirs

    return platformdirs.user_cache_path("autosched") / "best" if given is None else given
