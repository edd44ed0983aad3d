"""What rules ask about stages: reuse, elementwise match, shared outer axes, operands, unit strides.

Definitions of reuse and elementwise match follow Ansor's (see the paper's section 4.1), stated on te.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from autosched.te.expr import Binary, Expr, Index, Load, Select, Unary, index_symbols, loads
from autosched.te.integer import Int, as_int, less, less_equal, substitute, symbols
from autosched.te.interval import fold
from autosched.te.workload import Axis, Stage, Tensor, Workload, producers


def stage_symbols(stage: Stage) -> frozenset[Int]:
    return frozenset(a.symbol for a in (*stage.axes, *stage.reduce_axes))


@lru_cache(maxsize=4096)
def has_reuse(stage: Stage) -> bool:
    """A reduction in which some operand leaves out a spatial axis (of extent over 1): its elements are used again.
    The chunks of a split reduction, whose number is a decision, are no such axis."""
    if not stage.is_reduction:
        return False
    spatial = {a.symbol for a in stage.axes if not (_is_one(a.extent) or _is_decided(a.extent))}
    return any(spatial - index_symbols(operand) for operand in operands(stage))


def _is_decided(extent: Int) -> bool:
    return any(s.kind == "decision" for s in symbols(extent))


def has_size(extent: Int) -> bool:
    """The extent is known only at run time."""
    return any(s.kind == "size" for s in symbols(extent))


def _is_one(extent: Int) -> bool:
    return extent.is_constant and extent.value == 1


@lru_cache(maxsize=4096)
def operands(stage: Stage) -> tuple[Expr, ...]:
    """The parts of a stage's values that can be packed: the largest subexpressions that read memory and do not
    depend on every axis, and else the guarded or plain loads."""
    every = stage_symbols(stage)
    found: dict[Expr, None] = {}
    for value in stage.values:
        for operand in _operands(value, every):
            found.setdefault(operand)
    return tuple(found)


@lru_cache(maxsize=4096)
def operand_axes(stage: Stage) -> tuple[frozenset[str], ...]:
    """Names of the stage's axes that each operand depends on."""
    names = {a.symbol: a.name for a in (*stage.axes, *stage.reduce_axes)}
    return tuple(
        frozenset(names[s] for s in index_symbols(o) if s in names) for o in operands(stage)
    )


def _operands(value: Expr, every: frozenset[Int]) -> Iterator[Expr]:
    if not loads(value):
        return
    if isinstance(value, (Load, Select)) or index_symbols(value) < every:
        yield value
        return
    for operand in value.operands:
        yield from _operands(operand, every)


def single_load(operand: Expr) -> Load | None:
    """The load of an operand that is one load, or one load guarded by a select against a constant."""
    if isinstance(operand, Load):
        return operand
    if isinstance(operand, Select) and isinstance(operand.a, Load) and not loads(operand.b):
        return operand.a
    return None


def is_strided(operand: Expr) -> bool:
    """Some index of the operand's load adds several axes: neighbouring tiles overlap, as in a convolution's data."""
    load = single_load(operand)
    return load is not None and any(len(symbols(i)) > 1 for i in load.indices)


def is_guarded(operand: Expr) -> bool:
    """The operand reads under a condition on indices: padding."""
    return isinstance(operand, Select)


def is_guarded_by_shape(operand: Expr) -> bool:
    """The condition of a guarded operand says that its load lies inside its source, and nothing else: then a copy of
    the source with the constant around it answers every read."""
    load = single_load(operand)
    if not isinstance(operand, Select) or load is None:
        return False
    inside = {
        test
        for i, extent in zip(load.indices, load.source.shape, strict=True)
        for test in (less_equal(0, i), less(i, extent), less_equal(i, extent - 1))
    }
    found = comparisons(operand.condition)
    return found is not None and all(test in inside for test in found)


def comparisons(condition: Expr) -> list[Int] | None:
    """The conjunction of comparisons of indices that a condition is, or None."""
    match condition:
        case Index(index, _):
            return _conjuncts(index)
        case Binary("and", a, b):
            left, right = comparisons(a), comparisons(b)
            return None if left is None or right is None else left + right
    return None


def _conjuncts(index: Int) -> list[Int]:
    if index.op == "and":
        return [c for a in index.args for c in _conjuncts(a)]
    return [index]


def is_constant(operand: Expr) -> bool:
    """Every load of the operand is of a constant input."""
    found = loads(operand)
    return bool(found) and all(isinstance(x.source, Tensor) and x.source.constant for x in found)


def consumers(workload: Workload, stage: Stage) -> tuple[Stage, ...]:
    return workload.readers(stage)


def is_elementwise_of(consumer: Stage, producer: Stage) -> bool:
    """The consumer reads the producer only at its own axes, in order, all of them, and reduces nothing."""
    if consumer.is_reduction or len(consumer.axes) != len(producer.axes):
        return False
    own = tuple(a.symbol for a in consumer.axes)
    if any(a.extent is not b.extent for a, b in zip(consumer.axes, producer.axes, strict=True)):
        return False
    return all(
        load.indices == own
        for load in consumer.loads
        if isinstance(load.source, Tensor) and load.source.stage is producer
    )


def shared_outer_axes(consumer: Stage, producer: Stage) -> int:
    """How many leading axes of the producer the consumer reads exactly at its own axes of the same position."""
    shared = min(len(consumer.axes), len(producer.axes))
    for load in consumer.loads:
        if isinstance(load.source, Tensor) and load.source.stage is producer:
            shared = min(shared, _leading_match(load, consumer, producer))
    return shared


def _leading_match(load: Load, consumer: Stage, producer: Stage) -> int:
    n = 0
    for index, own, theirs in zip(load.indices, consumer.axes, producer.axes, strict=False):
        if index is not own.symbol or own.extent is not theirs.extent:
            break
        n += 1
    return n


def stride_along(load: Load, axis: Int) -> Int:
    """Elements between the addresses of neighbours along an axis, row major (exact for affine indices)."""
    total = as_int(0)
    stride = as_int(1)
    for index, extent in zip(reversed(load.indices), reversed(load.source.shape), strict=True):
        step = substitute(index, {axis: as_int(1)}) - substitute(index, {axis: as_int(0)})
        if axis in symbols(index):
            total = total + step * stride
        stride = stride * extent
    return total


def has_unit_stride(load: Load, axis: Int) -> bool:
    """Neighbours along the axis are neighbours in memory."""
    stride = fold(stride_along(load, axis), {})
    return stride.is_constant and stride.value == 1


def is_affine(index: Int) -> bool:
    """No division or remainder of symbols."""
    if index.op in ("floordiv", "ceildiv", "mod"):
        return False
    return all(is_affine(a) for a in index.args)


def phase_axes(stage: Stage) -> frozenset[Int]:
    """Axes inside a quotient or remainder of some index: they are never tiled, so the quotient stays constant."""
    found: set[Int] = set()
    for load in stage.loads:
        for index in load.indices:
            _collect_divided(index, found)
    return frozenset(found)


def _collect_divided(index: Int, found: set[Int]) -> None:
    if index.op in ("floordiv", "ceildiv", "mod"):
        found |= symbols(index)
    for argument in index.args:
        _collect_divided(argument, found)


EXPENSIVE = frozenset({"exp", "log", "tanh", "erf", "sigmoid", "sin", "cos", "pow"})


def is_expensive(expression: Expr) -> bool:
    """Calls something worth computing once."""
    if isinstance(expression, (Unary, Binary)) and expression.op in EXPENSIVE:
        return True
    return any(is_expensive(o) for o in expression.operands)


def has_branch(expression: Expr) -> bool:
    if isinstance(expression, Select):
        return True
    return any(has_branch(o) for o in expression.operands)


def reads_of(stage: Stage, producer: Stage) -> tuple[Load, ...]:
    return tuple(
        x for x in stage.loads if isinstance(x.source, Tensor) and x.source.stage is producer
    )


def axis_by_name(stage: Stage, name: str) -> Axis:
    for axis in (*stage.axes, *stage.reduce_axes):
        if axis.name == name:
            return axis
    raise KeyError(f"stage {stage.name} has no axis {name!r}")


def common_axes(stages: Sequence[Stage]) -> int:
    """Leading axes that all of the stages share, by how they read each other; all of them for a single stage."""
    shared = min(len(s.axes) for s in stages)
    inside = {id(s) for s in stages}
    for consumer in stages:
        for producer in producers(consumer):
            if id(producer) in inside:
                shared = min(shared, shared_outer_axes(consumer, producer))
    return shared
