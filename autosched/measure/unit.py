"""What one compile makes: one kernel, or several that share a compiler's start and the definitions they have in common.

    definitions that any of them needs, each once
    #define kernel_r0 kernel_r0_0     #define kernel_r0 kernel_r0_1
    body of the first                 body of the second
    #undef kernel_r0                  #undef kernel_r0

A kernel keeps its text, and so its digest; only the symbols under which the object has it are other ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autosched.codegen.kernel import Kernel, RegionSpec

MOST_KERNELS = 8
"""A compile of more gains little, and one that fails costs all of them another."""


@dataclass(frozen=True)
class Unit:
    """A source text and its kernels, with the symbols they have in it."""

    source: str
    kernels: tuple[Kernel, ...]


def unit_of(kernels: Sequence[Kernel]) -> Unit:
    """One text for these kernels; several must all say their `definitions`."""
    if len(kernels) == 1:
        return Unit(kernels[0].source, tuple(kernels))
    definitions = dict.fromkeys(d for k in kernels for d in k.definitions)
    bodies = [_renamed_body(k, number) for number, k in enumerate(kernels)]
    return Unit(
        "".join([*definitions, *bodies]), tuple(map(_renamed, kernels, range(len(kernels))))
    )


def can_share(kernels: Sequence[Kernel]) -> bool:
    """Whether it is known where the definitions of each end, so that they can stand in one text."""
    return all(k.definitions for k in kernels)


def shares(count: int, jobs: int) -> list[range]:
    """Which of `count` kernels are compiled together: at least two units a job, so that none waits long for the
    other, while that leaves several kernels a unit."""
    size = max(1, min(MOST_KERNELS, count // (2 * jobs)))
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def _renamed(kernel: Kernel, number: int) -> Kernel:
    def own(regions: tuple[RegionSpec, ...]) -> tuple[RegionSpec, ...]:
        return tuple(replace(r, symbol=f"{r.symbol}_{number}") for r in regions)

    return replace(kernel, prepare=own(kernel.prepare), regions=own(kernel.regions))


def _renamed_body(kernel: Kernel, number: int) -> str:
    symbols = [r.symbol for r in (*kernel.prepare, *kernel.regions)]
    body = kernel.source.removeprefix("".join(kernel.definitions))
    before = "".join(f"#define {s} {s}_{number}\n" for s in symbols)
    after = "".join(f"#undef {s}\n" for s in symbols)
    return f"{before}{body}{after}"
