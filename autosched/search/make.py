"""Policies by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autosched.errors import InvalidInput
from autosched.features.space import Space
from autosched.records.store import HistoryRecord
from autosched.search.evolution import EvolutionaryPolicy
from autosched.search.random_policy import RandomPolicy, Stream

POLICIES: Mapping[str, type[RandomPolicy]] = {
    "evolutionary": EvolutionaryPolicy,
    "random": RandomPolicy,
}

LEARNING = frozenset({"evolutionary"})
"""Policies that read records of earlier jobs."""


def make_policy(
    name: str,
    space: Space,
    *,
    seed: int,
    task: int = 0,
    history: Sequence[HistoryRecord] = (),
    model_threads: int = 1,
) -> RandomPolicy:
    """The policy of this name over a space.

    `task` is the number of the task in its job: with the seed and the number of the round it fixes the random stream.
    `history` are records of earlier jobs, newest first. `model_threads` train the learned model; they change no
    proposal. Raises InvalidInput for an unknown name or a space without a sketch.
    """
    if name not in POLICIES:
        raise InvalidInput(f"policy {name!r} is unknown; known: {', '.join(POLICIES)}")
    return POLICIES[name](space, Stream(seed, task), history, model_threads=model_threads)
