"""A kernel: generated text and everything a caller must know to run it.

Calling convention of every region function, in C:

    void SYMBOL(const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last, int32_t thread);

It runs tasks [first, last). For `regions`, `in` holds the inputs in order and then the packed buffers, `out` the
outputs and then the workspaces. For `prepare` regions, `in` holds the inputs and `out` the packed buffers.
Regions run one after another, each on all threads. `scratch` is one thread's, 64-byte aligned. External buffers are
aligned to their element only, workspaces and packed buffers to 64 bytes. Outputs never alias inputs.
Symbols left open (late-bound decisions, sizes) come as one more input, an int64 array in the order of `symbols`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class BufferSpec:
    """A flat external array."""

    name: str
    dtype: str
    elements: int


@dataclass(frozen=True)
class RegionSpec:
    """One region function: how many tasks it has and the scratch each thread needs."""

    symbol: str
    tasks: int
    scratch_bytes: int


@dataclass(frozen=True)
class Kernel:
    """Generated text with its calling data; `operations` are those the nest executes, padding included.

    `definitions` are the types and functions that the source begins with, one after another, where it is known."""

    name: str
    language: Literal["c", "cuda"]
    source: str
    inputs: tuple[BufferSpec, ...]
    outputs: tuple[BufferSpec, ...]
    packed: tuple[BufferSpec, ...]
    workspaces: tuple[BufferSpec, ...]
    prepare: tuple[RegionSpec, ...]
    regions: tuple[RegionSpec, ...]
    operations: int
    symbols: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Content key of the text: equal digests are the same code."""
        return f"k1-{hashlib.sha256(self.source.encode()).hexdigest()[:32]}"
