"""A round of one failure: something breaks at a random moment, and the work goes on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from autosched.testing.waiting import until
from tests.service.world import Accounts


@dataclass(frozen=True)
class Patience:
    """`commit_seconds`: until a new trial commits; `stray_seconds`: until what was left behind is gone; `look_seconds`:
    between two looks."""

    commit_seconds: float = 60.0
    stray_seconds: float = 60.0
    look_seconds: float = 0.05


def break_once(
    world: Accounts,
    break_it: Callable[[], None],
    strays: Callable[[], object],
    rng: random.Random,
    patience: Patience = Patience(),
) -> None:
    """`break_it` after a few trials; then a new trial commits, and no strays are left."""
    _closes(world, 1, patience)
    _closes(world, rng.randrange(1, 12), patience)
    break_it()
    _closes(world, 1, patience)
    until(lambda: not strays(), seconds=patience.stray_seconds, pause=patience.look_seconds)


def _closes(world: Accounts, n: int, patience: Patience) -> None:
    """So many more trials commit, while there is work."""
    wanted = world.n_closed() + n

    def committed() -> bool:
        world.feed()
        return world.n_closed() >= wanted

    until(committed, seconds=patience.commit_seconds, pause=patience.look_seconds)
