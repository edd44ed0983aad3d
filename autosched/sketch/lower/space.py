"""The open numbers of a sketch while it is lowered: decisions with their domains, and constraints between them."""

from __future__ import annotations

from dataclasses import dataclass

from autosched.sketch.sketch import Decision
from autosched.te.integer import Int, as_int
from autosched.te.workload import Stage

LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)
LARGEST = LADDER[-1]


@dataclass(frozen=True)
class Role:
    """What a decision is for: which number of which axis of which stage. Kinds by the end of the decision's name:
    r lanes, m units inside the reduction tile, o units outside it, t reduction tile, u unroll, c chunk."""

    kind: str
    stage: Stage
    axis: str


class NoCandidateError(Exception):
    """A plan that no values can make legal: it yields no sketch."""


class Space:
    """Collects the decisions and constraints of one sketch."""

    def __init__(self) -> None:
        self._decisions: dict[str, Decision] = {}
        self._roles: dict[str, Role] = {}
        self._constraints: dict[Int, None] = {}

    def decide(self, role: Role, domain: tuple[int, ...]) -> Int:
        """The symbol of a decision; the number itself where there is only one."""
        name = f"{role.stage.name}.{role.axis}.{role.kind}"
        values = tuple(sorted(set(domain)))
        if not values:
            raise ValueError(f"decision {name!r} has an empty domain")
        if len(values) == 1:
            return as_int(values[0])
        self._roles[name] = role
        known = self._decisions.setdefault(name, Decision(name, values))
        if known.domain != values:
            raise ValueError(f"decision {name!r} has two domains: {known.domain}, {values}")
        return known.symbol

    def require(self, condition: Int) -> None:
        """Prune every candidate for which the condition is 0; what always holds is no constraint."""
        if not condition.is_constant:
            self._constraints.setdefault(condition)
        elif not condition.value:
            raise NoCandidateError("a constraint can never hold")

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(self._decisions[n] for n in sorted(self._decisions))

    @property
    def roles(self) -> dict[str, Role]:
        """What each decision is for, by its name."""
        return dict(self._roles)

    @property
    def constraints(self) -> tuple[Int, ...]:
        return tuple(self._constraints)


def largest(extent: Int) -> int:
    """The extent, or the top of the ladder where it is known only at run time."""
    return extent.value if extent.is_constant else LARGEST


def ladder(limit: int) -> tuple[int, ...]:
    """Steps of the ladder up to `limit`, the limit itself included."""
    return (*(s for s in LADDER if s < limit), limit)
