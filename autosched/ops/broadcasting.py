"""NumPy broadcasting: shapes, and the index at which a smaller tensor is read."""

from __future__ import annotations

from collections.abc import Sequence

from autosched.errors import InvalidInput
from autosched.te.expr import Expr
from autosched.te.integer import Int, as_int
from autosched.te.workload import Tensor


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape; InvalidInput names two shapes that do not fit."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
            raise InvalidInput(f"shapes {result} and {shape} do not broadcast")
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    return result


def read_broadcast(tensor: Tensor, at: Sequence[Int]) -> Expr:
    """The element of `tensor` that stands at `at` of a shape it broadcasts to."""
    last = at[len(at) - len(tensor.shape) :]
    shape = tensor.static_shape
    return tensor[tuple(as_int(0) if n == 1 else i for n, i in zip(shape, last, strict=True))]


def axes_of(shape: Sequence[int]) -> dict[str, Int | int]:
    """Axis names by position."""
    return {f"a{d}": extent for d, extent in enumerate(shape)}
