"""Axes split where they are only read by parts, so that a reader matches what it reads.

    y[f] = s[f / 4, f % 4] + b[f]   ->   y[g, r] = s[g, r] + b[4*g + r]

A grouped convolution and a transposed one in phases have such split axes; what follows them element by
element takes them over. An axis is split together with every axis that reads its tensor along it, or
not at all; outputs are row-major memory and never object.
"""

from __future__ import annotations

from collections.abc import Iterator

from autosched.te.expr import Expr, Load, index_values, substitute_indices
from autosched.te.index_form import axis_ranges, n_divisions, simplified
from autosched.te.integer import Int, as_int, symbol
from autosched.te.interval import Ranges
from autosched.te.rebuild import Rebuilt, rebuild
from autosched.te.workload import Axis, Stage, Tensor, Workload

Place = tuple[int, int]
"""(id of a stage, position of one of its axes, spatial ones first)."""

MAX_SPLITS = 16


def with_split_axes(workload: Workload) -> Workload:
    """The workload with every axis split that is read by quotient and remainder."""
    for _ in range(MAX_SPLITS):
        found = _first_split(workload)
        if found is None:
            break
        places, divisor = found
        workload = _split(workload, places, divisor)
    return workload


def _first_split(workload: Workload) -> tuple[set[Place], int] | None:
    for stage in workload.stages:
        for position, axis in enumerate(_axes(stage)):
            for divisor in sorted(_divisors(stage, axis), reverse=True):
                places = _linked(workload, stage, position, divisor)
                if places is not None:
                    return places, divisor
    return None


def _axes(stage: Stage) -> tuple[Axis, ...]:
    return (*stage.axes, *stage.reduce_axes)


def _divisors(stage: Stage, axis: Axis) -> set[int]:
    """By what the axis is divided in loads and conditions."""
    indices = [i for load in stage.loads for i in load.indices]
    indices += [i for value in stage.values for i in index_values(value)]
    return {d for index in indices for d in _divisions_of(index, axis.symbol)}


def _divisions_of(index: Int, wanted: Int) -> Iterator[int]:
    divides = index.op in ("floordiv", "mod") and index.args[1].is_constant
    if divides and index.args[0] is wanted:
        yield index.args[1].value
    for part in index.args:
        yield from _divisions_of(part, wanted)


def _linked(workload: Workload, stage: Stage, position: int, divisor: int) -> set[Place] | None:
    """The axes to split together; None where a reader does not take it."""
    places: set[Place] = set()
    stack = [(stage, position)]
    while stack:
        stage, position = stack.pop()
        if (id(stage), position) in places:
            continue
        places.add((id(stage), position))
        if not _splits(_axes(stage)[position], divisor):
            return None
        if position >= len(stage.axes):
            continue
        for reader in workload.readers(stage):
            ranges = axis_ranges(_axes(reader))
            for load in reader.loads:
                if not isinstance(load.source, Tensor) or load.source.stage is not stage:
                    continue
                index = load.indices[position]
                if index.is_symbol:
                    symbols = [a.symbol for a in _axes(reader)]
                    stack.append((reader, symbols.index(index)))
                elif not _divides_cleanly(index, divisor, ranges):
                    return None
    return places


def _splits(axis: Axis, divisor: int) -> bool:
    extent = axis.extent
    return extent.is_constant and divisor < extent.value and extent.value % divisor == 0


def _divides_cleanly(index: Int, divisor: int, ranges: Ranges) -> bool:
    parts = [simplified(part, ranges) for part in (index // divisor, index % divisor)]
    return sum(n_divisions(p) for p in parts) <= n_divisions(index)


def _split(workload: Workload, places: set[Place], divisor: int) -> Workload:
    def new_stage(stage: Stage, rebuilt: Rebuilt) -> Stage:
        axes: list[Axis] = []
        values: dict[Int, Int] = {}
        for position, axis in enumerate(_axes(stage)):
            if (id(stage), position) not in places:
                axes.append(axis)
                continue
            outer = Axis(symbol(f"{axis.name}_q", "index"), as_int(axis.extent.value // divisor))
            inner = Axis(symbol(f"{axis.name}_r", "index"), as_int(divisor))
            values[axis.symbol] = outer.symbol * divisor + inner.symbol
            axes += [outer, inner]
        n_split = sum((id(stage), d) in places for d in range(len(stage.axes)))
        n_spatial = len(stage.axes) + n_split
        ranges = axis_ranges(axes)

        def rule(load: Load, source: Tensor) -> Expr:
            return Load(source, tuple(_parts(load, places, divisor, ranges)))

        new = tuple(rebuilt.value(substitute_indices(v, values), rule) for v in stage.values)
        return Stage(
            stage.name,
            tuple(axes[:n_spatial]),
            new,
            stage.dtypes,
            tuple(axes[n_spatial:]),
            stage.combiner,
        )

    return rebuild(workload, new_stage)


def _parts(load: Load, places: set[Place], divisor: int, ranges: Ranges) -> Iterator[Int]:
    """The indices of a load, two for a dimension that was split."""
    stage = load.source.stage if isinstance(load.source, Tensor) else None
    for position, index in enumerate(load.indices):
        if stage is not None and (id(stage), position) in places:
            yield simplified(index // divisor, ranges)
            yield simplified(index % divisor, ranges)
        else:
            yield simplified(index, ranges)
