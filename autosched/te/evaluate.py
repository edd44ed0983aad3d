"""The meaning of a workload on NumPy arrays: the reference that every kernel is checked against.

Stage by stage, over blocks of the stage's axes that keep temporary arrays small. It shares nothing
with the nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from autosched.te.arrays import Array, Grid, Precision
from autosched.te.combiner import Combiner, operands
from autosched.te.contraction import sum_of_product
from autosched.te.dtype import numpy_dtype
from autosched.te.expr import (
    BINARY,
    Binary,
    Expr,
    Source,
    index_symbols,
    substitute_indices,
)
from autosched.te.integer import Int, as_int
from autosched.te.integer import evaluate as evaluate_int
from autosched.te.rebuild import TensorKey, tensor_key
from autosched.te.workload import Axis, Stage, Tensor, Workload

BLOCK_ELEMENTS = 1 << 22

Values = tuple[Array, ...]


def evaluate_workload(
    workload: Workload, inputs: Sequence[Array], accumulate: str | None = "float64"
) -> Values:
    """The outputs for `inputs`, given in the workload's order.

    An input may have any shape with the tensor's elements in row-major order. Floats are computed,
    kept between stages and returned in `accumulate`, or in every value's declared dtype where that
    is None; integers always in their own dtype, wrapping around. A wrong number of inputs or
    elements is a ValueError.
    """
    arrays = evaluate_tensors(workload, inputs, accumulate)
    return tuple(arrays[tensor_key(t)] for t in workload.outputs)


def evaluate_tensors(
    workload: Workload, inputs: Sequence[Array], accumulate: str | None = "float64"
) -> dict[TensorKey, Array]:
    """Every tensor of the workload, inputs and intermediate ones too, by `tensor_key`."""
    precision = Precision(accumulate)
    sizes = _bound_sizes(workload, inputs)
    arrays = {
        tensor_key(t): _input_array(t, a, sizes, precision)
        for t, a in zip(workload.inputs, inputs, strict=True)
    }
    with np.errstate(all="ignore"):
        for stage in workload.stages:
            results = _StageEvaluation(_with_sizes(stage, sizes), precision, arrays).run()
            for component, result in enumerate(results):
                arrays[id(stage), component] = result
    return arrays


def _bound_sizes(workload: Workload, inputs: Sequence[Array]) -> dict[Int, Int]:
    """Size symbols take their values from the shapes of the arrays given."""
    if len(inputs) != len(workload.inputs):
        raise ValueError(f"{workload.name} has {len(workload.inputs)} inputs, {len(inputs)} given")
    found: dict[Int, Int] = {}
    for tensor, array in zip(workload.inputs, inputs, strict=True):
        for position, extent in enumerate(tensor.shape):
            if extent.is_symbol and np.ndim(array) == len(tensor.shape):
                found[extent] = as_int(np.shape(array)[position])
    return found


def _input_array(
    tensor: Tensor, array: Array, sizes: dict[Int, Int], precision: Precision
) -> Array:
    values = {symbol: extent.value for symbol, extent in sizes.items()}
    shape = tuple(int(evaluate_int(e, values)) for e in tensor.shape)
    if np.size(array) != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{tensor.name} has shape {shape}, an array of {np.shape(array)} given")
    held = np.asarray(array).reshape(shape).astype(numpy_dtype(tensor.dtype))
    return held.astype(precision.of(tensor.dtype), copy=False)


def _with_sizes(stage: Stage, sizes: dict[Int, Int]) -> Stage:
    if not sizes:
        return stage
    values = {symbol: extent.value for symbol, extent in sizes.items()}

    def fixed(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(a.symbol, as_int(evaluate_int(a.extent, values))) for a in axes)

    return replace(
        stage,
        axes=fixed(stage.axes),
        reduce_axes=fixed(stage.reduce_axes),
        values=tuple(substitute_indices(v, sizes) for v in stage.values),
    )


@dataclass(frozen=True)
class Block:
    """A box of axis values: [start, stop) for each axis, spatial ones first."""

    bounds: tuple[tuple[int, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(stop - start for start, stop in self.bounds)

    def halves(self, position: int) -> tuple[Block, Block]:
        start, stop = self.bounds[position]
        middle = (start + stop) // 2
        before, after = self.bounds[:position], self.bounds[position + 1 :]
        return (
            Block((*before, (start, middle), *after)),
            Block((*before, (middle, stop), *after)),
        )


@dataclass(frozen=True)
class _StageEvaluation:
    """One stage over its blocks; extents are constants here."""

    stage: Stage
    precision: Precision
    arrays: dict[TensorKey, Array]

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        return (*self.stage.axes, *self.stage.reduce_axes)

    @property
    def n_spatial(self) -> int:
        return len(self.stage.axes)

    def run(self) -> Values:
        shape = tuple(a.extent.value for a in self.stage.axes)
        results = tuple(np.empty(shape, self.precision.of(d)) for d in self.stage.dtypes)
        if 0 in shape:
            return results
        whole = Block(tuple((0, a.extent.value) for a in self.all_axes))
        for block in self._blocks(whole, range(self.n_spatial)):
            region = tuple(slice(*b) for b in block.bounds[: self.n_spatial])
            for result, part in zip(results, self._reduced(block), strict=True):
                result[region] = part
        return results

    def _blocks(self, block: Block, splittable: range) -> Iterator[Block]:
        """The block cut along `splittable` axes until its temporary arrays are small or cannot be
        cut."""
        used = max(self._footprints(block.shape), key=lambda axes: _elements(block.shape, axes))
        lengths = {d: block.shape[d] for d in used if d in splittable}
        longest = max(lengths, key=lambda d: lengths[d], default=None)
        small = _elements(block.shape, used) <= BLOCK_ELEMENTS
        if small or longest is None or lengths[longest] <= 1:
            yield block
            return
        for half in block.halves(longest):
            yield from self._blocks(half, splittable)

    def _footprints(self, shape: tuple[int, ...]) -> list[list[int]]:
        """For each array that a block makes: the axes it extends over."""
        every = list(range(len(shape)))
        factors = self._factors()
        if not factors:
            return [every]
        positions = {a.symbol: d for d, a in enumerate(self.all_axes)}
        found = [[positions[s] for s in index_symbols(f)] for f in factors]
        return [*found, every[: self.n_spatial]]

    def _factors(self) -> tuple[Expr, ...]:
        """The factors of a sum of a product; nothing for any other stage."""
        combiner = self.stage.combiner
        if combiner is None or simple_operation(combiner, self._value_dtypes) != "add":
            return ()
        found = tuple(_factors(self.stage.values[0]))
        return found if len(found) > 1 else ()

    @property
    def _value_dtypes(self) -> tuple[str, ...]:
        return tuple(v.dtype for v in self.stage.values)

    def _reduced(self, block: Block) -> Values:
        """The stage's values on a spatial block."""
        combiner = self.stage.combiner
        if combiner is None:
            return self._values(block)
        identity = combiner.identity(self._value_dtypes)
        total: Values = tuple(self.precision.constant(c) for c in identity)
        for part in self._blocks(block, range(self.n_spatial, len(block.bounds))):
            if 0 not in part.shape[self.n_spatial :]:
                total = self._combine(total, self._partial(part, combiner))
        return total

    def _partial(self, block: Block, combiner: Combiner) -> Values:
        factors = self._factors()
        if factors:
            grid = self._grid(block)
            aligned = [self._aligned(grid.value(f), block) for f in factors]
            return (sum_of_product(aligned, block.shape, self.n_spatial),)
        values = tuple(np.broadcast_to(v, block.shape) for v in self._values(block))
        operation = simple_operation(combiner, self._value_dtypes)
        if operation:
            over = tuple(range(self.n_spatial, len(block.bounds)))
            reduce = getattr(BINARY[operation].numpy, "reduce")  # noqa: B009
            return (reduce(values[0], axis=over, dtype=values[0].dtype),)
        spatial = block.shape[: self.n_spatial]
        return self._halving(tuple(v.reshape(*spatial, -1) for v in values))

    def _halving(self, values: Values) -> Values:
        """Any combiner along the last axis, in log2 of its length steps."""
        while (length := values[0].shape[-1]) > 1:
            half = length // 2
            joined = self._combine(
                tuple(v[..., :half] for v in values), tuple(v[..., half : 2 * half] for v in values)
            )
            rest = tuple(v[..., 2 * half :] for v in values)
            values = tuple(np.concatenate(p, axis=-1) for p in zip(joined, rest, strict=True))
        return tuple(v[..., 0] for v in values)

    def _combine(self, left: Values, right: Values) -> Values:
        assert self.stage.combiner is not None
        a, b = operands(self._value_dtypes)
        named = {v.name: x for v, x in zip((*a, *b), (*left, *right), strict=True)}
        grid = Grid(self.precision, {}, self._read, named)
        return tuple(grid.value(e) for e in self.stage.combiner.combine(a, b))

    def _values(self, block: Block) -> Values:
        grid = self._grid(block)
        return tuple(grid.value(v) for v in self.stage.values)

    def _grid(self, block: Block) -> Grid:
        indices = {
            axis.symbol: np.arange(*bounds).reshape(
                [-1 if d == e else 1 for e in range(len(block.bounds))]
            )
            for d, (axis, bounds) in enumerate(zip(self.all_axes, block.bounds, strict=True))
        }
        return Grid(self.precision, indices, self._read)

    def _read(self, source: Source) -> Array:
        assert isinstance(source, Tensor)
        return self.arrays[tensor_key(source)]

    @staticmethod
    def _aligned(value: Array, block: Block) -> Array:
        """The value with all dimensions of the grid, length 1 where it does not vary."""
        return value.reshape((1,) * (len(block.bounds) - value.ndim) + value.shape)


def _elements(shape: tuple[int, ...], axes: Sequence[int]) -> int:
    return prod(shape[d] for d in axes)


def _factors(expression: Expr) -> Iterator[Expr]:
    if isinstance(expression, Binary) and expression.op == "mul":
        yield from _factors(expression.a)
        yield from _factors(expression.b)
    else:
        yield expression


def simple_operation(combiner: Combiner, dtypes: tuple[str, ...]) -> str:
    """The binary operation that a combiner of width 1 is; empty for any other."""
    a, b = operands(dtypes)
    match combiner.combine(a, b):
        case (Binary(op, left, right),) if left == a[0] and right == b[0]:
            return op
    return ""
