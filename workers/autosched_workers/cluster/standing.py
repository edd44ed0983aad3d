"""What a worker and the bridges that use its node tell each other: files in the node's folder, all that both can reach.

Each bridge asks under a name of its own whether the node is to go, and says under it that nothing of its own is under
way there any more. The time of a file is that of the system's monotonic clock, which never jumps.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

HEARD, RELEASED, DRAIN = "heard-", "released-", "drain"


def fresh_asker() -> str:
    """A name for what asks in this process."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


class Standing:
    """That of the node whose folder this is."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def drain(self) -> None:
        """The node is to go."""
        self._note(DRAIN)

    def is_draining(self, asker: str) -> bool:
        """Whether the node is to go; that somebody has asked is noted."""
        self._note(HEARD + asker)
        return (self._folder / DRAIN).exists()

    def release(self, asker: str) -> None:
        """Nothing of the asker's is under way here any more."""
        self._note(RELEASED + asker)

    def askers(self) -> Mapping[str, float]:
        """Who has ever asked, and the seconds since it did last."""
        now = time.monotonic()
        return {
            f.name.removeprefix(HEARD): now - f.stat().st_mtime
            for f in self._folder.glob(f"{HEARD}*")
        }

    def has_released(self, asker: str) -> bool:
        return (self._folder / (RELEASED + asker)).exists()

    def forget(self) -> None:
        """For a node that begins anew: nobody has asked it anything."""
        for prefix in (HEARD, RELEASED):
            for file in self._folder.glob(f"{prefix}*"):
                file.unlink()

    @staticmethod
    def is_there(asker: str) -> bool:
        """Whether its process is, which may not come to ask: it is to release after something that is under way."""
        return Path("/proc", asker.partition("-")[0]).exists()

    def _note(self, name: str) -> None:
        now = time.monotonic()
        file = self._folder / name
        file.touch()
        os.utime(file, (now, now))
