"""Sums of products as matrix products.

A sum over some axes of a product of factors, each an array over the same grid with length 1 along
axes it does not depend on. Two factors become one (batched) matrix product: axes of both that stay
are its batch, axes of both that are summed are its depth, and the others are its rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EXACT_IN_FLOAT64 = float(2**53)


def sum_of_product(factors: Sequence[Array], shape: tuple[int, ...], n_spatial: int) -> Array:
    """The product of `factors` summed over all but the first `n_spatial` axes of the grid `shape`;
    spatial axes that no factor depends on have length 1 in the result."""
    sums = range(n_spatial, len(shape))
    covered = [max(f.shape[d] for f in factors) for d in range(len(shape))]
    repeats = int(np.prod([shape[d] for d in sums if covered[d] != shape[d]], dtype=np.int64))
    left: Array = factors[0]
    for position, right in enumerate(factors[1:], start=2):
        later = factors[position:]
        summed = [d for d in sums if all(f.shape[d] == 1 for f in later)]
        left = _pair(left, right, summed)
    if len(factors) == 1:
        left = left.sum(axis=tuple(sums), keepdims=True, dtype=left.dtype)
    result: Array = left.reshape(left.shape[:n_spatial])
    return result if repeats == 1 else np.multiply(result, np.asarray(repeats, result.dtype))


def _pair(left: Array, right: Array, summed: Sequence[int]) -> Array:
    """The product of two factors summed over the axes `summed`, which stay with length 1."""
    left, right = _own_sum(left, right, summed), _own_sum(right, left, summed)
    axes = range(left.ndim)
    depth = [d for d in summed if left.shape[d] != 1]
    both = [d for d in axes if left.shape[d] == right.shape[d] != 1 and d not in depth]
    rows = [d for d in axes if left.shape[d] != 1 and right.shape[d] == 1]
    columns = [d for d in axes if right.shape[d] != 1 and left.shape[d] == 1]
    if not depth or not (rows or columns):
        product: Array = np.multiply(left, right)
        total: Array = product.sum(axis=tuple(depth), keepdims=True, dtype=left.dtype)
        return total
    matrix = _product(_matrices(left, both, rows, depth), _matrices(right, both, depth, columns))
    kept = [*both, *rows, *columns]
    lengths = [left.shape[d] if left.shape[d] != 1 else right.shape[d] for d in kept]
    spread: Array = matrix.reshape(*lengths, *(1 for d in axes if d not in kept))
    order = [*kept, *(d for d in axes if d not in kept)]
    return np.transpose(spread, np.argsort(order))


def _own_sum(array: Array, other: Array, summed: Sequence[int]) -> Array:
    """Axes that only this factor depends on are summed before the product."""
    own = tuple(d for d in summed if array.shape[d] != 1 and other.shape[d] == 1)
    return array.sum(axis=own, keepdims=True, dtype=array.dtype) if own else array


def _matrices(
    array: Array, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]
) -> Array:
    order = [*batch, *rows, *columns]
    unit = tuple(d for d in range(array.ndim) if d not in order)
    moved = np.transpose(array, (*order, *unit))
    sizes = [
        int(np.prod([array.shape[d] for d in part], dtype=np.int64))
        for part in (batch, rows, columns)
    ]
    return moved.reshape(sizes)


def _product(a: Array, b: Array) -> Array:
    """Matrix product; integers go through float64 where every sum is exact in it."""
    integers = np.issubdtype(a.dtype, np.integer)
    if integers and a.shape[-1] * _largest(a) * _largest(b) < EXACT_IN_FLOAT64:
        exact: Array = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return exact.astype(np.int64).astype(a.dtype)
    result: Array = np.matmul(a, b)
    return result


def _largest(array: Array) -> float:
    return float(np.abs(array.astype(np.float64)).max()) if array.size else 0.0
