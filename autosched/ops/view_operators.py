"""Operators that keep elements and their order, and change the shape alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.operator import (
    REQUIRED,
    Array,
    Arrays,
    Attribute,
    Attributes,
    Operator,
    Sample,
    Tensors,
    TensorType,
    Types,
    normalized_axis,
)
from autosched.ops.samples import normal
from autosched.ops.views import viewed
from autosched.te.workload import Tensor

Shape = tuple[int, ...]
ShapeRule = Callable[[Shape, Attributes], Shape]


def _view(
    name: str,
    rule: ShapeRule,
    samples: Callable[[np.random.Generator], tuple[Sample, ...]],
    attributes: tuple[Attribute, ...] = (),
    *,
    static: dict[int, str] | None = None,
    n_inputs: tuple[int, float] = (1, 1),
) -> Operator:
    """The same elements in the same order under the shape that `rule` gives."""

    def infer(inputs: Types, given: Attributes) -> tuple[TensorType, ...]:
        x = inputs[0]
        assert x is not None
        return (TensorType(rule(x.shape, given), x.dtype),)

    def te(inputs: Tensors, given: Attributes) -> tuple[Tensor, ...]:
        x = inputs[0]
        assert x is not None
        return (viewed(x, rule(x.static_shape, given)),)

    def reference(inputs: Arrays, given: Attributes) -> tuple[Array, ...]:
        x = inputs[0]
        assert x is not None
        return (x.reshape(rule(x.shape, given)),)

    return Operator(name, infer, te, reference, samples, attributes, n_inputs, static or {})


def _reshaped(shape: Shape, given: Attributes) -> Shape:
    """0 copies a dimension (unless allowzero), -1 is worked out."""
    wanted = list(given["shape"])
    for d, extent in enumerate(wanted):
        if extent == 0 and not given["allowzero"]:
            if d >= len(shape):
                raise InvalidInput(f"shape {tuple(wanted)} copies dimension {d} of {shape}")
            wanted[d] = shape[d]
    total = int(np.prod(shape, dtype=np.int64))
    if wanted.count(-1) == 1:
        rest = int(np.prod([n for n in wanted if n != -1], dtype=np.int64))
        wanted[wanted.index(-1)] = total // rest if rest else 0
    if min(wanted, default=0) < 0 or int(np.prod(wanted, dtype=np.int64)) != total:
        raise InvalidInput(f"shape {tuple(given['shape'])} does not fit {total} elements {shape}")
    return tuple(wanted)


def _reshape_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 2, 3, 4, 5)
    return (
        Sample("flat", (x,), {"shape": [-1]}),
        Sample("regrouped", (x,), {"shape": [6, 2, 10]}),
        Sample("odd cuts", (x,), {"shape": [8, 15]}),
        Sample("copied dimension", (x,), {"shape": [0, -1, 5]}),
        Sample("units", (x[:1, :, :1],), {"shape": [1, 3, 1, 5, 1]}),
        Sample("empty", (x[:0],), {"shape": [0, 60], "allowzero": 1}),
        Sample("scalar", (x[0, 0, 0, :1],), {"shape": []}),
    )


def _flattened(shape: Shape, given: Attributes) -> Shape:
    axis = (
        given["axis"] if given["axis"] == len(shape) else normalized_axis(given["axis"], len(shape))
    )
    outer, inner = shape[:axis], shape[axis:]
    return int(np.prod(outer, dtype=np.int64)), int(np.prod(inner, dtype=np.int64))


def _flatten_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 2, 3, 4)
    return tuple(Sample(f"axis {a}", (x,), {"axis": a}) for a in (0, 1, 2, 3, -1))


def _squeezed(shape: Shape, given: Attributes) -> Shape:
    if given["axes"] is None:
        return tuple(n for n in shape if n != 1)
    axes = {normalized_axis(a, len(shape), "axes entry") for a in given["axes"]}
    for axis in axes:
        if shape[axis] != 1:
            raise InvalidInput(f"axis {axis} of {shape} has extent {shape[axis]}, not 1")
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def _unsqueezed(shape: Shape, given: Attributes) -> Shape:
    rank = len(shape) + len(given["axes"])
    axes = {normalized_axis(a, rank, "axes entry") for a in given["axes"]}
    if len(axes) != len(given["axes"]):
        raise InvalidInput(f"axes {given['axes']} name an axis twice")
    rest = iter(shape)
    return tuple(1 if d in axes else next(rest) for d in range(rank))


def _squeeze_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 1, 3, 1, 5)
    return (
        Sample("one axis", (x,), {"axes": [0]}),
        Sample("all", (x,)),
        Sample("back", (x,), {"axes": [-2]}),
    )


def _unsqueeze_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    x = normal(random, 3, 5)
    return Sample("front and back", (x,), {"axes": [0, -1]}), Sample("middle", (x,), {"axes": [1]})


def _same_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    return Sample("matrix", (normal(random, 3, 5),)), Sample("empty", (normal(random, 0, 2),))


VIEW_OPERATORS: tuple[Operator, ...] = (
    _view(
        "Reshape",
        _reshaped,
        _reshape_samples,
        (Attribute("shape", "ints", REQUIRED), Attribute("allowzero", "int", 0, (0, 1))),
        static={1: "shape"},
        n_inputs=(1, 2),
    ),
    _view("Flatten", _flattened, _flatten_samples, (Attribute("axis", "int", 1),)),
    _view(
        "Squeeze",
        _squeezed,
        _squeeze_samples,
        (Attribute("axes", "ints"),),
        static={1: "axes"},
        n_inputs=(1, 2),
    ),
    _view(
        "Unsqueeze",
        _unsqueezed,
        _unsqueeze_samples,
        (Attribute("axes", "ints", REQUIRED),),
        static={1: "axes"},
        n_inputs=(1, 2),
    ),
    _view("Identity", lambda shape, _: shape, _same_samples),
    _view(
        "Dropout",
        lambda shape, _: shape,
        _same_samples,
        (
            Attribute("seed", "int"),
            Attribute("ratio", "float", 0.5),
            Attribute("training_mode", "int", 0, (0,)),
        ),
        static={1: "ratio", 2: "training_mode"},
        n_inputs=(1, 3),
    ),
)
