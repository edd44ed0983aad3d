"""The sketches of a task, compiled: a whole population to static checks and to feature rows in few array operations.

Every sketch compiles once to a program that fills its candidates' slots; the feature formulas are one program that
runs over the slots of all sketches together, block by block, so that the work stays in the cache.

    space = Space(sketches, target)
    allowed = space.admissible(population)              # constraints and static limits
    rows = space.features(population.take(allowed))     # float32 [n, len(FEATURES)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from autosched.features import formulas
from autosched.features.columns import Array, Column, ColumnGraph, Program, compile_columns
from autosched.features.population import Population, row_of
from autosched.features.slots import SketchSlots
from autosched.features.table import FEATURES
from autosched.sketch.sketch import Sketch
from autosched.target.target import Target
from autosched.te.integer import Int
from autosched.te.interval import interval

EXACT = float(1 << 53)
"""Integers below are exact in float64; a candidate with a larger one anywhere is pruned."""
BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Limits:
    """Static limits on any candidate, whatever its sketch asks; None takes the default for the target.

    `code`: unrolled instructions of the whole text; `register_share`: register buffers over vector registers.
    """

    scratch_bytes: float | None = None
    workspace_bytes: float = float(1 << 30)
    packed_bytes: float = float(4 << 30)
    code: float = 1000.0
    register_share: float = 4.0

    def of(self, target: Target) -> dict[str, float]:
        """The limit of every slot that has one."""
        scratch = self.scratch_bytes or max(2.0 * target.l2_bytes, target.l3_bytes / target.threads)
        return {
            "whole.scratch_bytes": scratch,
            "whole.workspace_bytes": self.workspace_bytes,
            "whole.packed_bytes": self.packed_bytes,
            "sum.code": self.code,
            "maximum.register_vectors": self.register_share * target.vector_registers,
        }


@dataclass(frozen=True)
class _Compiled:
    """Programs of one sketch; `columns` are the positions of its decisions among the names of the space."""

    columns: Array
    slots: Program
    checks: Program
    limits: tuple[float, ...]
    n_constraints: int


class Space:
    """The sketches of one task with everything compiled on first use."""

    def __init__(
        self, sketches: Sequence[Sketch], target: Target, limits: Limits | None = None
    ) -> None:
        self.sketches = tuple(sketches)
        self.target = target
        self.limits = limits or Limits()
        ordered = dict.fromkeys(d.name for s in self.sketches for d in s.decisions)
        self.names: tuple[str, ...] = tuple(ordered)
        self._position = {name: i for i, name in enumerate(self.names)}
        self._compiled: dict[int, _Compiled] = {}

    @cached_property
    def domains(self) -> tuple[dict[str, Array], ...]:
        """Allowed values by decision name, for each sketch."""
        return tuple(
            {d.name: np.array(d.domain, np.int64) for d in s.decisions} for s in self.sketches
        )

    def position(self, name: str) -> int:
        """Column of a decision name."""
        return self._position[name]

    def size(self, sketch: int) -> int:
        """Points of the product of the domains, constraints aside."""
        total = 1
        for decision in self.sketches[sketch].decisions:
            total *= len(decision.domain)
        return total

    def values(self, population: Population, row: int) -> dict[str, int]:
        """Decision values of one candidate, by name."""
        sketch = self.sketches[int(population.sketch[row])]
        return {
            d.name: int(population.values[row, self._position[d.name]]) for d in sketch.decisions
        }

    def seeds(self, sketch: int) -> Population:
        """The constructive seeds of a sketch."""
        rows = [row_of(self.names, seed) for seed in self.sketches[sketch].seeds]
        values = np.array(rows, np.int64).reshape(len(rows), len(self.names))
        return Population(np.full(len(rows), sketch, np.int32), values)

    def admissible(self, population: Population) -> Array:
        """True for each candidate that keeps its sketch's constraints and the static limits."""
        allowed = np.zeros(len(population), bool)
        for sketch, rows in _by_sketch(population):
            compiled = self._program(sketch)
            for block in _blocks(rows):
                allowed[block] = self._check(compiled, population.values[block])
        return allowed

    def _check(self, compiled: _Compiled, values: Array) -> Array:
        n = len(values)
        results = np.empty((compiled.checks.n_outputs, n))
        registers = np.empty((compiled.checks.n_registers, n))
        compiled.checks.run(_inputs(compiled, values), list(results), registers)
        first = compiled.n_constraints
        kept = np.all(results[:first] != 0, axis=0)
        limits = np.array(compiled.limits)[:, None]
        return np.asarray(kept & np.all(results[first:] <= limits, axis=0))

    def features(self, population: Population) -> npt.NDArray[np.float32]:
        """One row a candidate, [n, len(FEATURES)], scaled; zeros where a number is beyond what is exact."""
        rows = np.empty((len(population), len(FEATURES)), np.float32)
        order = np.argsort(population.sketch, kind="stable")
        ordered = bool(np.all(order[1:] > order[:-1]))
        scratch = _Scratch(BLOCK_ROWS, max(1, self._registers(population)))
        for start in range(0, len(order), BLOCK_ROWS):
            block = order[start : start + BLOCK_ROWS]
            where = slice(start, start + len(block)) if ordered else block
            rows[where] = self._block(population.take(where), scratch)
        return rows

    def _registers(self, population: Population) -> int:
        return max(
            (self._program(int(s)).slots.n_registers for s in np.unique(population.sketch)),
            default=0,
        )

    def _block(self, block: Population, scratch: _Scratch) -> Array:
        """Features [rows, features] of one block, its rows ordered by sketch."""
        n = len(block)
        for sketch, rows in _by_sketch(block):
            compiled = self._program(sketch)
            low, high = int(rows[0]), int(rows[-1]) + 1
            compiled.slots.run(
                _inputs(compiled, block.values[low:high]),
                list(scratch.slots[:, low:high]),
                scratch.registers[:, : high - low],
            )
        slots = scratch.slots[:, :n]
        found = scratch.features[:, :n]
        formulas.compute(slots[:-1], found, scratch.temporaries[:, :n])
        checked = found[formulas.CHECKED]
        inexact = (slots[-1] > EXACT) | ~np.isfinite(checked).all(axis=0)
        if inexact.any():
            found[:, inexact] = 0.0
        return found.T

    def _program(self, sketch: int) -> _Compiled:
        found = self._compiled.get(sketch)
        if found is None:
            found = self._compile(self.sketches[sketch])
            self._compiled[sketch] = found
        return found

    def _compile(self, sketch: Sketch) -> _Compiled:
        decisions = sketch.decisions
        middle = {d.symbol: d.domain[len(d.domain) // 2] for d in decisions}
        reference = middle if not sketch.seeds else sketch.environment(sketch.seeds[0])
        slots = SketchSlots(sketch.nest, self.target, reference)
        constraints = [slots.graph.integer(c) for c in sketch.constraints]
        ranges = {d.symbol: (min(d.domain), max(d.domain)) for d in decisions}
        largest = _largest_number(slots.graph, ranges)
        limits = self.limits.of(self.target)
        limited = [slots.slots[name] for name in limits]
        ordered = [slots.slots[name] for name in formulas.SLOT_ORDER]
        names = [d.name for d in decisions]
        return _Compiled(
            np.array([self._position[name] for name in names], np.intp),
            compile_columns([*ordered, largest], names),
            compile_columns([*constraints, *limited, largest], names),
            (*limits.values(), EXACT),
            len(constraints),
        )


def _largest_number(graph: ColumnGraph, ranges: dict[Int, tuple[int, int]]) -> Column:
    """The largest absolute value among the integers that the domains let pass 2**53."""
    memo: dict[Int, tuple[int, int]] = {}
    result = graph.constant(0.0)
    for expression, column in list(graph.whole_numbers().items()):
        low, high = interval(expression, ranges, memo)
        if max(-low, high) >= EXACT:
            result = graph.maximum(result, graph.maximum(column, column * -1.0))
    return result


class _Scratch:
    """Arrays reused from block to block."""

    def __init__(self, rows: int, n_registers: int) -> None:
        self.registers = np.empty((n_registers, rows))
        self.slots = np.empty((len(formulas.SLOT_ORDER) + 1, rows), np.float32)
        self.features = np.empty((len(FEATURES), rows), np.float32)
        self.temporaries = np.empty((formulas.PROGRAM.n_registers, rows), np.float32)


def _inputs(compiled: _Compiled, values: Array) -> list[Any]:
    return list(np.ascontiguousarray(values[:, compiled.columns].T, dtype=np.float64))


def _by_sketch(population: Population) -> Iterator[tuple[int, Array]]:
    """Each sketch with the rows of its candidates, ascending."""
    for sketch in np.unique(population.sketch):
        yield int(sketch), np.flatnonzero(population.sketch == sketch)


def _blocks(rows: Array) -> Iterator[Array]:
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]
