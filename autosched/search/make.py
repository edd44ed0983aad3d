"""Policies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.store import HistoryRecord
from autosched.search.evolution import EvolutionaryPolicy
from autosched.search.random_policy import RandomPolicy, Stream

POLICIES: Mapping[str, Callable[[Space, Stream, Sequence[HistoryRecord]], RandomPolicy]] = {
    "evolutionary": EvolutionaryPolicy,
    "random": RandomPolicy,
}


def make_policy(
    name: str,
    space: Space,
    *,
    seed: int,
    task: int = 0,
    history: Sequence[HistoryRecord] = (),
) -> RandomPolicy:
    """The policy of this name over a space; `task` is the number of the task in its job.

    Raises InvalidInput for an unknown name or a space without a sketch.
    """
    if name not in POLICIES:
        raise InvalidInput(f"policy {name!r} is unknown; known: {', '.join(POLICIES)}")
    return POLICIES[name](space, Stream(seed, task), history)
