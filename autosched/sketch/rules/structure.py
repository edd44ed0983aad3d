"""What the structure rules share: vector axes, packs and hoisted axes of one reducing or elementwise stage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod

from autosched.sketch.analysis import (
    has_reuse,
    has_size,
    has_unit_stride,
    is_constant,
    is_guarded,
    is_guarded_by_shape,
    is_strided,
    operands,
    phase_axes,
    single_load,
)
from autosched.sketch.lower.space import largest
from autosched.sketch.plan import Pack, StagePlan
from autosched.te.expr import Expr, index_symbols, loads
from autosched.te.workload import Axis, Stage, Tensor

NARROW = 16
"""An axis below this extent wastes vector lanes."""

FEW_USES = 4
"""An operand used no more often than this is streamed: packing it would cost as much as using it."""

MOST_STRUCTURES = 32
"""Structures of one stage; the first are those that most often win."""


def structures(stage: Stage) -> Iterator[StagePlan]:
    """Vector axes x packs x hoisted axis, best guesses first."""
    return islice(_structures(stage), MOST_STRUCTURES)


def _structures(stage: Stage) -> Iterator[StagePlan]:
    if not has_reuse(stage):
        for vector in plain_vectors(stage):
            yield StagePlan(vector=vector)
        return
    for hoist in hoists(stage):
        for vector in reuse_vectors(stage):
            for packs in pack_sets(stage, vector):
                yield StagePlan(vector=vector, hoist=hoist, packs=packs)


def plain_vectors(stage: Stage) -> list[str]:
    """Vector axes of a stage without reuse: contiguous ones of what it writes or reads, reductions included."""
    axes = [a for a in (*stage.axes, *stage.reduce_axes) if _is_wide(a)]
    phases = phase_axes(stage)
    contiguous = [
        a
        for a in axes
        if a.symbol not in phases and any(has_unit_stride(x, a.symbol) for x in stage.loads)
    ]
    if not stage.is_reduction:
        last = [a for a in stage.axes[-1:] if _is_wide(a)]
        return [a.name for a in last or axes[-1:]] or [""]
    spatial = [a for a in contiguous if a in stage.axes]
    reduce = [a for a in contiguous if a in stage.reduce_axes and largest(a.extent) >= NARROW]
    chosen = spatial[-1:] + reduce[-1:]
    anything = [a for a in stage.axes if a in axes] or axes
    return [a.name for a in chosen or anything[-1:]] or [""]


def reuse_vectors(stage: Stage) -> list[str]:
    """Vector axes of a stage with reuse, best guess first: the contiguous axis of the result, unless it is narrow and
    another is long; an axis of a constant operand, which can be laid out along it; a reduction axis along which an
    operand that is hardly used again is contiguous (a matrix times a vector)."""
    phases = phase_axes(stage)
    axes = [a for a in stage.axes if _is_wide(a) and a.symbol not in phases]
    if not axes:
        return [""]
    constant = [
        a
        for a in axes
        if any(is_constant(o) and a.symbol in index_symbols(o) for o in operands(stage))
    ]
    chosen = [*streamed_reductions(stage), axes[-1].name, *(a.name for a in constant[-1:])]
    if largest(axes[-1].extent) < NARROW:
        chosen.insert(0, max(axes, key=lambda a: largest(a.extent)).name)
    return list(dict.fromkeys(chosen))


def streamed_reductions(stage: Stage) -> list[str]:
    """Reduction axes along which a run-time operand is contiguous that few results share."""
    found = []
    for operand in operands(stage):
        load, used = single_load(operand), index_symbols(operand)
        sharing = prod(largest(a.extent) for a in stage.axes if a.symbol not in used)
        if load is None or is_constant(operand) or sharing > FEW_USES:
            continue
        found += [
            a.name for a in stage.reduce_axes if _is_wide(a) and has_unit_stride(load, a.symbol)
        ]
    return found


def _is_wide(axis: Axis) -> bool:
    """Has more than one element, and how many is known before run time."""
    return not has_size(axis.extent) and largest(axis.extent) > 1


def hoists(stage: Stage) -> list[str]:
    """The last axis (its panels stay in cache while the others pass), and none."""
    return [stage.axes[-1].name, ""] if len(stage.axes) > 1 else [""]


def pack_sets(stage: Stage, vector: str) -> Iterator[tuple[Pack, ...]]:
    """One choice of pack for each operand."""
    choices = [pack_choices(stage, i, vector) for i in range(len(operands(stage)))]
    ranked = sorted(product(*(range(len(c)) for c in choices)), key=sum)
    for picks in ranked:
        packs = tuple(c[i] for c, i in zip(choices, picks, strict=True))
        yield tuple(p for p in packs if p.position != "none")


def pack_choices(stage: Stage, number: int, vector: str) -> list[Pack]:
    """Where an operand may be packed, best guess first."""
    operand = operands(stage)[number]
    used = index_symbols(operand)
    if not used or _reads_stage(operand):
        return [Pack(number, "none")]
    along_reduction = any(a.name == vector for a in stage.reduce_axes)
    if is_constant(operand):
        return [Pack(number, "none" if along_reduction else "prepare")]
    if is_strided(operand) or is_guarded(operand):
        return _patch_choices(number, operand)
    if along_reduction:
        return [Pack(number, "none")]
    along = next((a.symbol for a in stage.axes if a.name == vector), None)
    load = single_load(operand)
    if along is not None and along in used:
        kept = [] if load is None or not has_unit_stride(load, along) else [Pack(number, "none")]
        return [Pack(number, "shared"), Pack(number, "reduce"), Pack(number, "task"), *kept]
    return [Pack(number, "none"), Pack(number, "reduce"), Pack(number, "task")]


def _reads_stage(operand: Expr) -> bool:
    return any(isinstance(x.source, Tensor) and x.source.stage is not None for x in loads(operand))


def _patch_choices(number: int, operand: Expr) -> list[Pack]:
    if single_load(operand) is None:
        return [Pack(number, "reduce"), Pack(number, "task")]
    if is_guarded(operand):
        bare, spanned = [], is_guarded_by_shape(operand)
    else:
        bare, spanned = [Pack(number, "none")], True
    spans = [Pack(number, p, "span") for p in ("task", "reduce", "shared") if spanned]
    return [*bare, *spans, Pack(number, "reduce", "axes")]
