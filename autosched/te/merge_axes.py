"""Adjacent axes merged where every access uses them as adjacent whole dimensions.

    y[n, c, h, w] = x[n, c, h, w] + b[c]   ->   y[n, c, p] = x[n, c, p] + b[c]

Which pairs can merge is a greatest fixpoint: all pairs are candidates, and one is struck out when
an access uses a part of it alone or relies on a pair that was struck out. What is left holds all at
once, so chains merge together. External arrays are row-major memory and never object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from autosched.te.copies import flat
from autosched.te.expr import Expr, Load, index_values, substitute_indices
from autosched.te.index_form import axis_ranges, mentions, n_divisions, simplified
from autosched.te.integer import Int, product, substitute, symbol
from autosched.te.interval import Ranges
from autosched.te.rebuild import Rebuilt, rebuild
from autosched.te.workload import Axis, Stage, Tensor, Workload

T = TypeVar("T")

Pair = tuple[int, int]
"""(owner, d): dimensions d and d + 1 of an input, or axes d and d + 1 of a stage, spatial first.

A spatial pair of a stage is also a pair of dimensions of its tensors.
"""


def with_merged_axes(workload: Workload) -> Workload:
    """The workload with every mergeable group of adjacent axes made one axis."""
    pairs = mergeable_pairs(workload)
    if not pairs:
        return workload

    def new_input(tensor: Tensor) -> Tensor:
        shape = tuple(product(g) for g in _groups(tensor.shape, _owner(tensor), pairs))
        return Tensor(tensor.name, shape, tensor.dtype, constant=tensor.constant)

    return rebuild(workload, lambda s, rebuilt: _merged_stage(s, rebuilt, pairs), new_input)


def mergeable_pairs(workload: Workload) -> set[Pair]:
    """The greatest set of pairs that support each other."""
    pairs = {(_owner(t), d) for t in workload.inputs for d in _neighbours(t.shape)}
    for stage in workload.stages:
        n_spatial = len(stage.axes)
        pairs |= {(id(stage), d) for d in _neighbours(stage.shape)}
        reduced = [a.extent for a in stage.reduce_axes]
        pairs |= {(id(stage), n_spatial + d) for d in _neighbours(reduced)}
    while struck := {p for s in workload.stages for p in _objections(s, pairs)} & pairs:
        pairs -= struck
    return pairs


def _owner(tensor: Tensor) -> int:
    return id(tensor) if tensor.stage is None else id(tensor.stage)


def _neighbours(extents: Sequence[Int]) -> Iterator[int]:
    """Positions d where d and d + 1 could be one; the inner extent has to be known."""
    return (d for d in range(len(extents) - 1) if extents[d + 1].is_constant)


def _objections(stage: Stage, pairs: set[Pair]) -> Iterator[Pair]:
    """The pairs that an access of this stage rules out."""
    every = (*stage.axes, *stage.reduce_axes)
    ranges = axis_ranges(every)
    conditions = [i for v in stage.values for i in index_values(v)]
    for pair in [p for p in pairs if p[0] == id(stage)]:
        outer, inner = every[pair[1]], every[pair[1] + 1]
        clean = all(_is_clean(i, outer, inner, ranges) for i in conditions)
        if not clean or not all(_allows(x, outer, inner, pairs, ranges) for x in stage.loads):
            yield pair
    for load in stage.loads:
        yield from _dimension_objections(stage, load, pairs, ranges)


def _allows(load: Load, outer: Axis, inner: Axis, pairs: set[Pair], ranges: Ranges) -> bool:
    """Whether the access reads nothing but whole dimensions, or positions, of the two axes."""
    used = [d for d, i in enumerate(load.indices) if mentions(i, (outer.symbol, inner.symbol))]
    if len(used) == 2 and used[1] == used[0] + 1:
        whole = load.indices[used[0]] is outer.symbol and load.indices[used[1]] is inner.symbol
        fits = load.source.shape[used[1]] is inner.extent
        assert isinstance(load.source, Tensor)
        if whole and fits and (_owner(load.source), used[0]) in pairs:
            return True
    return all(_is_clean(load.indices[d], outer, inner, ranges) for d in used)


def _is_clean(index: Int, outer: Axis, inner: Axis, ranges: Ranges) -> bool:
    """Whether the index is a plain function of the merged axis."""
    if not mentions(index, (outer.symbol, inner.symbol)):
        return True
    axis, positions = _joined((outer, inner))
    ranges = {**ranges, **axis_ranges((axis,))}
    return not n_divisions(simplified(substitute(index, positions), ranges))


def _dimension_objections(
    stage: Stage, load: Load, pairs: set[Pair], ranges: Ranges
) -> Iterator[Pair]:
    """Pairs of dimensions that this access does not read as one."""
    source = load.source
    assert isinstance(source, Tensor)
    axes = {a.symbol: d for d, a in enumerate((*stage.axes, *stage.reduce_axes))}
    every = (*stage.axes, *stage.reduce_axes)
    for d in range(len(source.shape) - 1):
        pair = (_owner(source), d)
        if pair not in pairs:
            continue
        first, second = load.indices[d], load.indices[d + 1]
        at = axes.get(first, -1)
        adjacent = at >= 0 and axes.get(second, -1) == at + 1 and (id(stage), at) in pairs
        if adjacent and every[at + 1].extent is source.shape[d + 1]:
            continue
        if not _recombine(first, second, source.shape[d + 1], ranges):
            yield pair


def _recombine(first: Int, second: Int, extent: Int, ranges: Ranges) -> bool:
    """Whether two indices are a quotient and a remainder of one position, or both constant."""
    if first.is_constant and second.is_constant:
        return True
    together = simplified(first * extent + second, ranges)
    return n_divisions(together) < n_divisions(first) + n_divisions(second)


def _groups(items: Sequence[T], owner: int, pairs: set[Pair], start: int = 0) -> list[list[T]]:
    """The items, those of a mergeable pair in one group."""
    groups: list[list[T]] = []
    for d, item in enumerate(items, start):
        if d > start and (owner, d - 1) in pairs:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _joined(axes: Sequence[Axis]) -> tuple[Axis, dict[Int, Int]]:
    """One axis for several, and what each of them is in terms of it."""
    if len(axes) == 1:
        return axes[0], {}
    position = symbol("_".join(a.name for a in axes), "index")
    rest, values = position, {}
    for axis in reversed(axes[1:]):
        values[axis.symbol] = rest % axis.extent
        rest = rest // axis.extent
    values[axes[0].symbol] = rest
    return Axis(position, product([a.extent for a in axes])), values


def _merged_stage(stage: Stage, rebuilt: Rebuilt, pairs: set[Pair]) -> Stage:
    n_spatial = len(stage.axes)
    spatial = [_joined(g) for g in _groups(stage.axes, id(stage), pairs)]
    reduced = [_joined(g) for g in _groups(stage.reduce_axes, id(stage), pairs, n_spatial)]
    positions = {s: p for _, values in (*spatial, *reduced) for s, p in values.items()}
    axes, reduce_axes = tuple(a for a, _ in spatial), tuple(a for a, _ in reduced)
    ranges = axis_ranges((*axes, *reduce_axes))
    rule = _load_rule(pairs, ranges)
    values = tuple(rebuilt.value(substitute_indices(v, positions), rule) for v in stage.values)
    return Stage(stage.name, axes, values, stage.dtypes, reduce_axes, stage.combiner)


def _load_rule(pairs: set[Pair], ranges: Ranges) -> Callable[[Load, Tensor], Expr]:
    def rule(load: Load, source: Tensor) -> Expr:
        old = load.source
        assert isinstance(old, Tensor)
        indices = _groups(load.indices, _owner(old), pairs)
        extents = _groups(old.shape, _owner(old), pairs)
        flattened = (flat(tuple(i), tuple(e)) for i, e in zip(indices, extents, strict=True))
        return Load(source, tuple(simplified(i, ranges) for i in flattened))

    return rule
