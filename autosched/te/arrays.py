"""Meaning of a scalar expression on a grid of index values, by NumPy broadcasting.

Every index symbol has an array of values along its own dimension of the grid, so a part of an
expression is computed once for the indices it names and never for the whole grid. The side of a
select that is not taken is read at an index clipped into range and then dropped; any other load out
of range is an IndexError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.expr import (
    BINARY,
    UNARY,
    Binary,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Select,
    Source,
    Unary,
    Variable,
)
from autosched.te.integer import Int
from autosched.te.integer import evaluate as evaluate_int

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Precision:
    """The NumPy dtype that values of a dtype are computed and kept in: `floats` for every float
    dtype, or the declared one where `floats` is None."""

    floats: str | None

    def of(self, dtype: str) -> Any:
        if self.floats is not None and is_float(dtype):
            return np.dtype(self.floats)
        return numpy_dtype(dtype)

    def constant(self, value: Const) -> Array:
        """The constant as the declared dtype holds it."""
        return np.asarray(value.value, numpy_dtype(value.type)).astype(self.of(value.type))


@dataclass(frozen=True)
class Grid:
    """Values of index symbols (broadcastable int64 arrays), arrays to load from, values of named
    scalars."""

    precision: Precision
    indices: Mapping[Int, Any]
    read: Callable[[Source], Array]
    variables: Mapping[str, Array] = field(default_factory=dict)
    memo: dict[tuple[int, bool], Array] = field(default_factory=dict)
    index_memo: dict[Int, Any] = field(default_factory=dict)

    def value(self, expression: Expr, guarded: bool = False) -> Array:
        """The expression on the grid; `guarded` inside a select, where loads are clipped into
        range."""
        key = id(expression), guarded
        if key not in self.memo:
            result = self._compute(expression, guarded)
            self.memo[key] = np.asarray(result, self.precision.of(expression.dtype))
        return self.memo[key]

    def _compute(self, expression: Expr, guarded: bool) -> Any:
        match expression:
            case Const():
                return self.precision.constant(expression)
            case Variable(name, _):
                return self.variables[name]
            case Index(index, dtype):
                found = np.asarray(self.index(index))
                return found != 0 if dtype == "bool" else found
            case Load():
                return self._load(expression, guarded)
            case Select(condition, a, b):
                test = self.value(condition, guarded)
                return np.where(test, self.value(a, True), self.value(b, True))
            case Unary(op, a):
                return UNARY[op].numpy(self.value(a, guarded))
            case Binary(op, a, b):
                return BINARY[op].numpy(self.value(a, guarded), self.value(b, guarded))
            case Cast(dtype, a):
                return self.value(a, guarded).astype(self.precision.of(dtype))
        raise TypeError(f"no meaning for {type(expression).__name__}")

    def index(self, index: Int) -> Any:
        return evaluate_int(index, self.indices, self.index_memo)

    def _load(self, load: Load, guarded: bool) -> Array:
        """The elements read; one flat gather where the positions of two dimensions vary together."""
        array = self.read(load.source)
        positions = [
            self._in_range(load, np.asarray(self.index(index)), dimension, size, guarded)
            for dimension, (index, size) in enumerate(zip(load.indices, array.shape, strict=True))
        ]
        if array.size and _vary_apart(positions):
            return _taken(array, positions)
        flat: Any = np.zeros((), np.int64)
        stride = array.size
        for position, size in zip(positions, array.shape, strict=True):
            stride = stride // size if size else 0
            flat = flat + position * stride
        if not array.size:
            return np.zeros(flat.shape, array.dtype)
        gathered: Array = np.take(array.reshape(-1), flat)
        return gathered

    @staticmethod
    def _in_range(load: Load, position: Array, dimension: int, size: int, guarded: bool) -> Array:
        if guarded:
            clipped: Array = np.clip(position, 0, max(size - 1, 0))
            return clipped
        if position.size and (position.min() < 0 or position.max() >= size):
            raise IndexError(
                f"{load.source.name} is read at {load.indices[dimension]!r} from {position.min()}"
                f" to {position.max()} in dimension {dimension} of size {size}"
            )
        return position


def _varying(position: Array) -> list[int]:
    """Dimensions of the grid, counted from the end, along which a position varies."""
    return [d - position.ndim for d, length in enumerate(position.shape) if length != 1]


def _vary_apart(positions: list[Array]) -> bool:
    """Whether no two positions vary along one dimension of the grid."""
    every = [d for position in positions for d in _varying(position)]
    return len(every) == len(set(every))


def _taken(array: Array, positions: list[Array]) -> Array:
    """One gather a dimension, the inner ones first, which moves whole rows instead of elements."""
    for d in range(array.ndim - 1, -1, -1):
        array = np.take(array, positions[d].reshape(-1), axis=d)
    places = [(d, p.shape[d]) for p in positions for d in _varying(p)]
    array = array.reshape([length for _, length in places])
    array = array.transpose(np.argsort([d for d, _ in places]))
    lengths = dict(places)
    rank = max((p.ndim for p in positions), default=0)
    return array.reshape([lengths.get(d, 1) for d in range(-rank, 0)])
