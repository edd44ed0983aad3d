"""How large a graph may be: the bounds that a hostile or mistaken file meets before any memory is taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import psutil

from autosched.errors import InvalidInput
from autosched.graph.graph import TensorType
from autosched.te.dtype import n_bytes

MAX_DIMENSION = (1 << 63) - 1


def machine_memory() -> int:
    """Bytes of physical memory of this machine."""
    return int(psutil.virtual_memory().total)


@dataclass(frozen=True)
class ImportLimits:
    """`file_bytes` of the file; `nodes`; dimensions (`rank`) of a tensor; `tensor_bytes` of any one tensor, and of what
    one node reads and writes together (by default the memory of this machine); `folded_bytes` of all constants computed
    by folding; `eager_bytes` of a constant computed while shapes are inferred (it may be the shape of another tensor);
    expressions evaluated for one node (`operations`), and for one that is folded (`folded_operations`)."""

    file_bytes: int = 1 << 31
    nodes: int = 100_000
    rank: int = 16
    tensor_bytes: int = field(default_factory=machine_memory)
    folded_bytes: int = 1 << 31
    eager_bytes: int = 1 << 16
    operations: int = 1 << 53
    folded_operations: int = 1 << 32


DEFAULT_LIMITS = ImportLimits()


def check_size(tensor: str, kind: TensorType, limits: ImportLimits) -> None:
    """InvalidInput unless the tensor's rank, every dimension and its bytes are within the limits."""
    if len(kind.shape) > limits.rank:
        raise InvalidInput(
            f"tensor {tensor!r} has {len(kind.shape)} dimensions: at most {limits.rank} are allowed"
        )
    for position, extent in enumerate(kind.shape):
        if extent < 0 or extent > MAX_DIMENSION:
            raise InvalidInput(
                f"tensor {tensor!r} has dimension {position} of size {extent}: sizes are 0 to 2**63 - 1"
            )
    if kind.n_bytes > limits.tensor_bytes:
        raise InvalidInput(
            f"tensor {tensor!r} is {kind}, {kind.n_bytes} bytes: "
            f"more than the {limits.tensor_bytes} bytes of memory allowed"
        )
    if prod(extent or 1 for extent in kind.shape) * n_bytes(kind.dtype) > MAX_DIMENSION:
        raise InvalidInput(
            f"tensor {tensor!r} is {kind}: the product of its sizes other than 0 is too large"
        )
