"""A sketch: one legal combination of choices for a workload, a nest with open decisions.

Names of choices and decisions are shared between the sketches of a workload ("s2.j.r" is the register tile of axis j
of stage s2 in every one of them), so values carry over from one to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autosched.nest.nodes import Nest
from autosched.te.integer import Int, symbol
from autosched.te.workload import Workload

Values = Mapping[str, int]


@dataclass(frozen=True)
class Decision:
    """One open number with its domain: the allowed values, ascending."""

    name: str
    domain: tuple[int, ...]

    @property
    def symbol(self) -> Int:
        return symbol(self.name, "decision")


@dataclass(frozen=True)
class Step:
    """One step of a derivation: a rule at a version, the stage it was applied to, its named arguments."""

    rule: str
    version: int
    stage: str
    arguments: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "version": self.version,
            "stage": self.stage,
            "arguments": dict(self.arguments),
        }


@dataclass(frozen=True, eq=False)
class Sketch:
    """`constraints` are 0/1 expressions over the decisions; a candidate with a 0 among them is pruned. `seeds` are
    hardware-aligned values to start from, best first."""

    workload: Workload
    derivation: tuple[Step, ...]
    nest: Nest
    decisions: tuple[Decision, ...]
    constraints: tuple[Int, ...]
    seeds: tuple[Values, ...]

    def environment(self, values: Values) -> dict[Int, int]:
        """Symbol values of a candidate; a ValueError names a missing decision, a strange one or a foreign value."""
        strange = set(values) - {d.name for d in self.decisions}
        if strange:
            raise ValueError(f"unknown decision {sorted(strange)[0]!r}")
        found: dict[Int, int] = {}
        for decision in self.decisions:
            value = values.get(decision.name)
            if value is None or value not in decision.domain:
                raise ValueError(
                    f"decision {decision.name!r} has value {value}, not one of {decision.domain}"
                )
            found[decision.symbol] = value
        return found
