"""Packing: copying an operand to contiguous memory, and reading it there.

`axes`: the copy is laid out by the axes of the stage, micro-panels first to last as (units.., reduction.., lanes..):

    B[k, j]  ->  P[j_unit, k, j_lane]            A[i, k]  ->  P[i_unit, k, i_lane]
    X[h*s + a, w*s + b, c]  ->  P[h_unit, w_unit, a, b, c, h_lane, w_lane]          (im2col)

`span`: the copy is the rectangle of the source that the inner loops touch, padding included:

    select(0 <= h*s + a - p < H, X[h*s + a - p, ...], 0)  ->  P[(h - h_base)*s + a, ...]

Both read `value(axes)` and write `P[local(axes)]`, where local leaves out the part of an axis that is fixed at the
position. The conditions of a guarded operand become bounds of the copy, and so do the ends of ragged tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.nest.nodes import ONE, Bound, Buffer, Copy, CopyAxis, Count, Loop, Role, Scope
from autosched.sketch.analysis import comparisons, has_unit_stride, single_load
from autosched.sketch.lower.axis import ZERO, ReduceTiling, SpatialTiling, index
from autosched.te.expr import (
    Const,
    Expr,
    Load,
    Select,
    index_symbols,
    substitute_indices,
)
from autosched.te.integer import Int, as_int, ceil_div, equal, minimum, select, substitute, symbols
from autosched.te.interval import linear


@dataclass(frozen=True)
class Part:
    """The part of one axis that varies inside the position: `units` of `lanes` (units counted by `unit_count`, their
    index `unit` in the loops of the stage), starting at `start`. `left_units` is what there is of them."""

    axis: Int
    start: Int
    unit: Int
    units: Int
    left_units: Int
    average: Count
    lanes: Int
    lane: Int
    total: Int


@dataclass(frozen=True)
class Packed:
    """A packed operand: its buffer, the copies that fill it and the expression that reads it."""

    buffer: Buffer
    copy: Copy
    read: Expr


def spatial_part(tiling: SpatialTiling, axis: Int, position: str) -> Part:
    """What of a spatial axis varies inside a position."""
    lanes, lane, total = tiling.lanes, tiling.lane, tiling.extent  # lane is 0 where lanes is 1
    within = tiling.u1 * tiling.inner + tiling.u2
    if position == "task":
        left = minimum(tiling.tile_units, ceil_div(total - tiling.base, lanes))
        average = Count(tiling.units, tiling.n_tasks)
        return Part(axis, tiling.base, within, tiling.tile_units, left, average, lanes, lane, total)
    if position == "reduce":
        loop = tiling.inner_loop()
        start = tiling.base + tiling.u1 * tiling.inner * lanes
        return Part(axis, start, tiling.u2, loop.extent, loop.limit, loop.count, lanes, lane, total)
    # The whole axis: the task's tile is a whole number of register blocks.
    unit = tiling.par * (tiling.outer * tiling.inner) + within
    units = tiling.units
    return Part(axis, ZERO, unit, units, units, Count(units), lanes, lane, total)


def reduce_part(tiling: ReduceTiling, axis: Int, position: str) -> Part:
    """What of a reduction axis varies inside a position; a vector reduction is one tile."""
    if position == "reduce" and not tiling.is_vector:
        loop = tiling.inner_loop()
        start = tiling.base + tiling.outer_var * tiling.tile
        count, unit = loop.count, tiling.inner_var
        return Part(axis, start, unit, loop.extent, loop.limit, count, ONE, ZERO, tiling.total)
    if position in ("task", "reduce"):
        count = Count(tiling.total, ceil_div(tiling.total, tiling.extent))
        start, unit, extent, left = tiling.base, tiling.local, tiling.extent, tiling.left
        return Part(axis, start, unit, extent, left, count, ONE, ZERO, tiling.total)
    total = tiling.total
    return Part(axis, ZERO, tiling.value, total, total, Count(total), ONE, ZERO, total)


def scope_of(role: Role) -> Scope:
    """Copies made inside a task are scratch, the others live outside."""
    return "scratch" if role == "local" else "global"


def pack_axes(name: str, operand: Expr, parts: list[Part], role: Role) -> Packed:
    """Lay the operand out by its axes: units of spatial axes, reduction axes, lanes."""
    used = index_symbols(operand)
    parts = [p for p in parts if p.axis in used]
    with_lanes = [p for p in parts if p.lane is not ZERO]
    shape = [p.units for p in parts] + [p.lanes for p in with_lanes]
    buffer = Buffer(name, tuple(shape), operand.dtype, scope_of(role), role)
    unit_vars = [index(f"{name}.u{i}") for i in range(len(parts))]
    lane_vars = [index(f"{name}.l{i}") for i in range(len(with_lanes))]
    lane_of = {id(p): v for p, v in zip(with_lanes, lane_vars, strict=True)}
    at = {
        p.axis: p.start + u * p.lanes + lane_of.get(id(p), ZERO)
        for p, u in zip(parts, unit_vars, strict=True)
    }
    axes = [
        CopyAxis(u, p.units, p.left_units, p.average) for p, u in zip(parts, unit_vars, strict=True)
    ]
    axes += [CopyAxis(lane_of[id(p)], p.lanes, p.lanes, Count(p.lanes)) for p in with_lanes]
    ends = tuple(Bound(ZERO, at[p.axis], _end(p)) for p in with_lanes)
    value, bounds, fill = _unguarded(operand, at)
    copy = Copy(
        buffer,
        tuple(_contiguous_last(axes, operand, at)),
        (*unit_vars, *lane_vars),
        value,
        (*ends, *bounds),
        fill,
    )
    read = Load(buffer, tuple(p.unit for p in parts) + tuple(p.lane for p in with_lanes))
    return Packed(buffer, copy, read)


def _end(part: Part) -> Int:
    """The end of the axis, out of reach where the lanes divide it (so that the bound folds away)."""
    return select(equal(part.total % part.lanes, 0), FAR, part.total)


def _contiguous_last(axes: list[CopyAxis], operand: Expr, at: Mapping[Int, Int]) -> list[CopyAxis]:
    """The axis that is contiguous in the source goes innermost; the last axis (contiguous in the copy) by default."""
    load = single_load(operand)
    if load is None:
        return axes
    moved = Load(load.source, tuple(substitute(i, at) for i in load.indices))
    for axis in reversed(axes):
        if has_unit_stride(moved, axis.var):
            return [a for a in axes if a is not axis] + [axis]
    return axes


def pack_span(
    name: str,
    operand: Expr,
    parts: list[Part],
    values: Mapping[Int, Int],
    role: Role,
) -> Packed:
    """Lay the operand out as the rectangle of its source that the parts touch.

    Per dimension with index e: low = e at the start of every part, extent = largest - smallest value + 1.
    """
    load = single_load(operand)
    if load is None:
        raise ValueError(f"{name}: a span needs a single load")
    by_axis = {p.axis: p for p in parts}
    spans = [_span(i, by_axis) for i in load.indices]
    buffer = Buffer(name, tuple(e for _, e in spans), operand.dtype, scope_of(role), role)
    variables = [index(f"{name}.u{i}") for i in range(len(spans))]
    source_at = tuple(low + v for (low, _), v in zip(spans, variables, strict=True))
    axes = tuple(
        CopyAxis(v, extent, extent, Count(extent))
        for v, (_, extent) in zip(variables, spans, strict=True)
    )
    bounds = tuple(
        Bound(ZERO, at, size) for at, size in zip(source_at, load.source.shape, strict=True)
    )
    fill = _fill(operand)
    copy = Copy(buffer, axes, tuple(variables), Load(load.source, source_at), bounds, fill)
    read = tuple(
        substitute(i, values) - low for i, (low, _) in zip(load.indices, spans, strict=True)
    )
    return Packed(buffer, copy, Load(buffer, read))


def _span(expression: Int, parts: Mapping[Int, Part]) -> tuple[Int, Int]:
    """Smallest value inside the position, and the number of values from there to the largest."""
    terms, constant = linear(expression)
    at_start = {axis: p.start for axis, p in parts.items()}
    at_end = {axis: p.start + (p.units * p.lanes - 1) for axis, p in parts.items()}
    width = ONE
    low = as_int(constant)
    for atom, factor in terms.items():
        width = width + _reach(atom, parts) * abs(factor)
        low = low + _least(atom, at_start if factor > 0 else at_end, parts) * factor
    return low, width


def _least(atom: Int, at: Mapping[Int, Int], parts: Mapping[Int, Part]) -> Int:
    """The value of an atom at an end of every part; a remainder may be anything from 0 on."""
    if atom.op == "mod" and symbols(atom) & set(parts):
        return ZERO
    return substitute(atom, at)


def _reach(atom: Int, parts: Mapping[Int, Part]) -> Int:
    """Largest minus smallest value of an atom inside the position; a quotient reaches at most the rounded-up one."""
    if atom in parts:
        return parts[atom].units * parts[atom].lanes - 1
    if atom.op == "floordiv":
        terms, _ = linear(atom.args[0])
        reach = as_int(0)
        for inner, factor in terms.items():
            reach = reach + _reach(inner, parts) * abs(factor)
        return ceil_div(reach, atom.args[1])
    if atom.op == "mod" and symbols(atom) & set(parts):
        return atom.args[1] - 1
    return ZERO


def _fill(operand: Expr) -> float:
    if isinstance(operand, Select) and isinstance(operand.b, Const):
        return operand.b.value
    return 0.0


def _unguarded(operand: Expr, at: Mapping[Int, Int]) -> tuple[Expr, tuple[Bound, ...], float]:
    """select(conditions, value, constant) -> value with bounds, at new index values."""
    if isinstance(operand, Select) and isinstance(operand.b, Const):
        bounds = condition_bounds(operand.condition, at)
        if bounds is not None:
            return substitute_indices(operand.a, at), bounds, operand.b.value
    return substitute_indices(operand, at), (), 0.0


FAR = as_int(1 << 40)


def condition_bounds(condition: Expr, at: Mapping[Int, Int]) -> tuple[Bound, ...] | None:
    """A conjunction of comparisons of indices as bounds, or None if it is anything else."""
    found_comparisons = comparisons(condition)
    if found_comparisons is None:
        return None
    found: list[Bound] = []
    stack = [substitute(c, at) for c in found_comparisons]
    while stack:
        node = stack.pop()
        match node.op:
            case "and":
                stack.extend(node.args)
            case "lt":
                found.append(_bound(node.args[0], node.args[1], strict=True))
            case "le":
                found.append(_bound(node.args[0], node.args[1], strict=False))
            case "eq":
                difference = node.args[0] - node.args[1]
                found.append(Bound(ZERO, difference, ONE))
            case "const" if node.value:
                continue
            case _:
                return None
    return tuple(found)


def _bound(a: Int, b: Int, *, strict: bool) -> Bound:
    """a < b or a <= b, with the variable side as the index."""
    extra = 0 if strict else 1
    if a.is_constant:
        return Bound(a + (1 - extra), b, FAR)
    if b.is_constant:
        return Bound(ZERO - FAR, a, b + extra)
    return Bound(as_int(1 - extra), b - a, FAR)


def parallel_copy(copy: Copy, depth: int) -> tuple[tuple[Loop, ...], Copy]:
    """The outermost axes of a copy as parallel loops, and the copy that is left."""
    outer, inner = copy.axes[:depth], copy.axes[depth:]
    loops = tuple(Loop(a.var, a.extent, a.limit, a.count, ()) for a in outer)
    rest = Copy(copy.buffer, inner, copy.indices, copy.value, copy.bounds, copy.fill)
    return loops, rest
