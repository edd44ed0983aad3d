"""Whether a nest at given decisions keeps the rules that every reader relies on.

`verify` visits each statement once with the points at which it is executed and asks every rule of `RULES`. It does not
run the nest; with few points (see `points`) its answer is exact, with many it looks at a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from autosched.nest.concrete import Concrete
from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Body,
    Buffer,
    Guard,
    Loop,
    Nest,
    Region,
    children,
)
from autosched.nest.places import Place, PointAccess
from autosched.nest.points import Points, distinct, one_value_each
from autosched.nest.rules import RULES, Rule
from autosched.te.integer import Int


@dataclass(frozen=True)
class Violation:
    """A broken rule and where: the loops around the statement, outside in."""

    rule: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} in {self.where}: {self.message}"


def verify(nest: Nest, env: Mapping[Int, int]) -> tuple[Violation, ...]:
    """Every broken rule, at most one message a rule and statement."""
    found: list[Violation] = []
    for region in (*nest.prepare, *nest.regions):
        visit = _Visit(nest, region)
        points = Points(Concrete(env), {}, 1)
        for loop in region.loops:
            points = points.expanded(loop.var, points.column(loop.extent))
        visit.body(region.body, Place(nest, region, Barrier(), points, (), (), (), _external(nest)))
        found += visit.found
        found += _shared_between_tasks(visit)
    return tuple(found)


def _external(nest: Nest) -> frozenset[Buffer]:
    return frozenset((*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces))


@dataclass(eq=False)
class _Visit:
    """Walks one region, keeping what crosses statements: the external accesses."""

    nest: Nest
    region: Region
    found: list[Violation] = field(default_factory=list)
    external: list[PointAccess] = field(default_factory=list)

    def body(self, body: Body, around: Place) -> None:
        live = around.live
        for node in body:
            place = replace(around, node=node, live=live)
            if not self._keeps_rules(place, RULES):
                continue
            self.external += [a for a in place.accesses if a.buffer.scope == "global"]
            if isinstance(node, Alloc):
                live |= {node.buffer}
            self.body(children(node), self._below(place))

    def _keeps_rules(self, place: Place, rules: Mapping[str, Rule]) -> bool:
        """Later rules rely on earlier ones, so the first broken rule of a statement is reported alone."""
        for name, rule in rules.items():
            message = next(rule(place), None)
            if message is not None:
                self.found.append(Violation(name, place.where, message))
                return False
        return True

    def _below(self, place: Place) -> Place:
        """The surroundings of the statements below a node."""
        points, node = place.points, place.node
        loops, lanes, guards = place.loops, place.lanes, place.guards
        match node:
            case Loop():
                points = points.expanded(node.var, points.column(node.limit))
                loops += (node,)
            case Guard():
                points = points.where(points.column(node.condition))
                guards += (node,)
            case Block():
                for lane in node.lanes:
                    full = points.column(lane.full) != 0
                    valid = np.where(full, points.column(lane.size), points.column(lane.tail))
                    points = points.expanded(lane.var, valid)
                lanes += node.lanes
        return replace(place, points=points, loops=loops, lanes=lanes, guards=guards)


def _shared_between_tasks(visit: _Visit) -> Iterator[Violation]:
    """External elements that one task writes, no other task of the region writes or reads."""
    variables = [loop.var for loop in visit.region.loops]
    for buffer in {a.buffer for a in visit.external if a.writes}:
        touched = [a for a in visit.external if a.buffer is buffer]
        address = np.concatenate([a.address for a in touched])
        task = distinct(
            [np.concatenate([a.points.columns[v] for a in touched]) for v in variables],
            len(address),
        )
        written = np.unique(np.concatenate([a.address for a in touched if a.writes]))
        kept = np.isin(address, written)
        if not one_value_each(address[kept], task[kept]):
            message = f"two tasks touch one element of {buffer.name}, written by one of them"
            yield Violation("tasks are apart", visit.region.name, message)
