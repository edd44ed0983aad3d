"""The meaning of a nest: runs it on arrays, element by element, in the dtypes it declares.

What the other readers must agree with:

* A statement below blocks runs once for every valid lane, lanes in order, the first lane of a block slowest. Lanes
  past the valid ones do not exist: no statement touches them. So a register buffer that a `Fold` reads over all its
  lanes must have been filled with the identity over all of them, by a block whose lanes are always full; text that
  computes a partial vector whole must blend, not overwrite.
* Memory allocated inside the nest starts as NaN or garbage each time its `Alloc` is reached; outputs and workspaces too.
* A limit never exceeds its extent, an index lies in its dimension: both are checked, and an `AccessError` says which.
* Tasks of a region run in any order (`order` shuffles them). Thread loops run one thread after another, which is
  right where barriers stand between thread loops, not in them; shared memory passed between threads without a barrier
  between is an `AccessError` too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from autosched.nest.nodes import Buffer, Nest, Region
from autosched.nest.observer import AccessError, Observer
from autosched.nest.program import Program, Writer
from autosched.te.dtype import DTYPES, is_float, numpy_dtype
from autosched.te.expr import BINARY, UNARY
from autosched.te.integer import Int, evaluate

Array = np.ndarray[Any, Any]
Memory = list[Any]

GARBAGE = 0x5B


def interpret(
    nest: Nest,
    env: Mapping[Int, int],
    inputs: Sequence[Array],
    *,
    observer: Observer | None = None,
    order: np.random.Generator | None = None,
) -> tuple[Array, ...]:
    """Outputs of the nest, prepare regions included.

    `env` has a value for each decision and size. `inputs` in the nest's order, in its shapes or flat; outputs have the
    shapes of the nest's outputs. `observer` counts executions and collects addresses, an order of magnitude slower.
    """
    if len(inputs) != len(nest.inputs):
        raise ValueError(f"{nest.name} has {len(nest.inputs)} inputs, {len(inputs)} given")
    external = (*nest.inputs, *nest.outputs, *nest.packed, *nest.workspaces)
    regions = (*nest.prepare, *nest.regions)
    writer = Writer(env, watched=observer is not None)
    for region in regions:
        writer.region(region, external)
    program = writer.program()
    memory = [_list_of(b, a, env) for b, a in zip(nest.inputs, inputs, strict=True)]
    memory += [[_poison(b.dtype)] * evaluate(b.elements, env) for b in external[len(inputs) :]]
    functions = _functions(program, (observer or Observer()).start(program, external))
    with np.errstate(all="ignore"):
        for region, function in zip(regions, functions, strict=True):
            for task, point in enumerate(_tasks(region, env, order)):
                if observer is not None:
                    observer.start_task(region, task)
                function(memory, *point)
    outputs = memory[len(inputs) : len(inputs) + len(nest.outputs)]
    return tuple(_array_of(b, m, env) for b, m in zip(nest.outputs, outputs, strict=True))


def _list_of(buffer: Buffer, array: Array, env: Mapping[Int, int]) -> Memory:
    elements = evaluate(buffer.elements, env)
    if array.size != elements or array.dtype != numpy_dtype(buffer.dtype):
        raise ValueError(
            f"{buffer.name} is {buffer.dtype} of {elements} elements, "
            f"{array.dtype} of {array.size} given"
        )
    return list(array.ravel())


def _array_of(buffer: Buffer, memory: Memory, env: Mapping[Int, int]) -> Array:
    shape = tuple(evaluate(e, env) for e in buffer.shape)
    return np.array(memory, dtype=numpy_dtype(buffer.dtype)).reshape(shape)


def _tasks(
    region: Region, env: Mapping[Int, int], order: np.random.Generator | None
) -> list[tuple[int, ...]]:
    points = list(itertools.product(*(range(evaluate(x.extent, env)) for x in region.loops)))
    return points if order is None else [points[i] for i in order.permutation(len(points))]


def _functions(program: Program, observed: Mapping[str, Any]) -> list[Callable[..., None]]:
    """Compiles the text; a fault in it names the buffer by its own name."""

    def fault(number: int, axis: int, index: int, extent: int) -> None:
        buffer = program.buffers[number]
        raise AccessError(
            f"{buffer.name}: index {index} in dimension {axis} of extent {extent} "
            f"(shape {buffer.shape})"
        )

    scope: dict[str, Any] = {**SCOPE, **observed, "fault": fault}
    scope |= {f"c{i}": value for i, value in enumerate(program.constants)}
    exec(compile(program.text, "<nest>", "exec"), scope)
    return [scope[name] for name in program.functions]


def _within(limit: int, extent: int) -> int:
    if limit > extent:
        raise AccessError(f"limit {limit} exceeds the extent {extent} of its loop")
    return limit


def _poison(dtype: str) -> Any:
    return numpy_dtype(dtype).type(math.nan if is_float(dtype) else GARBAGE)


def _greater(a: Any, b: Any) -> Any:
    """The maximum, NaN if either is."""
    return b if b > a or isnan(b) else a


def _smaller(a: Any, b: Any) -> Any:
    return b if b < a or isnan(b) else a


def _scope() -> dict[str, Any]:
    """Names that the text of a program may use."""
    scope: dict[str, Any] = {f"unary_{name}": op.numpy for name, op in UNARY.items()}
    scope |= {f"binary_{name}": op.numpy for name, op in BINARY.items()}
    scope |= {f"as_{name}": numpy_dtype(name).type for name in DTYPES}
    scope |= {f"poison_{name}": _poison(name) for name in DTYPES}
    return scope | {
        "as_bool": bool,
        "binary_max": _greater,
        "binary_min": _smaller,
        "unary_erf": lambda x: type(x)(math.erf(x)),
        "unary_not": lambda x: not x,
        "product": itertools.product,
        "within": _within,
    }


SCOPE = _scope()
