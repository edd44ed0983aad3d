"""What a search offers: a default, proposals, and to be told of results. No I/O, no memory but the closed rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from autosched.records.record import Candidate, Trial


@dataclass(frozen=True)
class Proposal:
    """A candidate to measure, with the features it was judged by; `origin` says what proposed it."""

    candidate: Candidate
    features: tuple[float, ...] = field(default=(), repr=False)
    features_schema: str = ""
    origin: str = ""


class Policy(Protocol):
    """One search over one task.

    default = policy.default()          # trial 0: the best seed
    policy.observe(round_0)             # closed trials, round by round, in number order
    asked = policy.propose(16)          # what to measure in the next round
    policy.observe(round_1) ...

    A policy built anew and told the same rounds proposes the same. It never proposes a candidate that it was told of.
    Fewer than asked means that its space is nearly exhausted, none that it is. `notes` are sentences for a person, what
    the search could not do and went on without; whoever shows one takes it out.
    """

    notes: list[str]

    def default(self) -> Proposal: ...

    def propose(self, n: int) -> Sequence[Proposal]: ...

    def observe(self, trials: Sequence[Trial]) -> None: ...
