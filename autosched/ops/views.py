"""The same memory under another shape, as a copy that the canonical form reads through."""

from __future__ import annotations

from collections.abc import Sequence

from autosched.te.integer import Int, as_int
from autosched.te.workload import Tensor, compute


def viewed(tensor: Tensor, shape: Sequence[int], name: str = "view") -> Tensor:
    """`tensor` with `shape`, row-major; itself if it has that shape already."""
    if tensor.static_shape == tuple(shape):
        return tensor
    axes = {f"v{d}": extent for d, extent in enumerate(shape)}
    (y,) = compute(
        name, dict(axes), lambda *at: tensor[split_position(at, shape, tensor.static_shape)]
    )
    return y


def split_position(
    at: Sequence[Int], shape: Sequence[int], target: Sequence[int]
) -> tuple[Int, ...]:
    """The indices in `target` of the element that stands at `at` in `shape`, row by row.

    Runs of dimensions with equal products are matched, so that only what is really split or joined
    gets quotients and remainders: (2, 12) -> (2, 3, 4) gives (a, b / 4, b % 4).
    """
    if 0 in shape:
        return tuple(as_int(0) for _ in target)
    indices: list[Int] = []
    for source, wanted in matched_runs(shape, target):
        position = as_int(0)
        for d in source:
            position = position * shape[d] + at[d]
        indices += _digits(position, [target[d] for d in wanted])
    return tuple(indices)


def matched_runs(shape: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Shortest runs of dimensions of both shapes that have the same product, in order."""
    runs: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        source: list[int] = []
        wanted: list[int] = []
        left = right = 1
        while not (source or wanted) or left != right:
            if (left <= right and i < len(shape)) or j >= len(target):
                left *= shape[i]
                source.append(i)
                i += 1
            else:
                right *= target[j]
                wanted.append(j)
                j += 1
        runs.append((source, wanted))
    return runs


def _digits(position: Int, extents: Sequence[int]) -> list[Int]:
    """The mixed-radix digits of a position below the product of the extents."""
    digits: list[Int] = []
    for d in range(len(extents) - 1, -1, -1):
        digits.append(position % extents[d] if d else position)
        position = position // extents[d]
    return digits[::-1]
