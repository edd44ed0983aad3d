"""The CPU features that change generated code: archspec's name, the compiler's flag, the vector unit each brings.

Only what stands in these tables enters a target; the many other features of a CPU change no text of ours.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

X86_64 = "x86-64"
AARCH64 = "aarch64"


@dataclass(frozen=True)
class Feature:
    """`flag` switches it on: a whole option on x86-64, a `-march` suffix on aarch64 ("" if the base has it)."""

    name: str
    flag: str


@dataclass(frozen=True)
class VectorUnit:
    """A vector register file: bytes of one register, and how many there are."""

    feature: str
    vector_bytes: int
    vector_registers: int


FEATURES: dict[str, tuple[Feature, ...]] = {
    X86_64: (
        Feature("sse3", "-msse3"),
        Feature("ssse3", "-mssse3"),
        Feature("sse4_1", "-msse4.1"),
        Feature("sse4_2", "-msse4.2"),
        Feature("popcnt", "-mpopcnt"),
        Feature("bmi1", "-mbmi"),
        Feature("bmi2", "-mbmi2"),
        Feature("abm", "-mlzcnt"),
        Feature("avx", "-mavx"),
        Feature("avx2", "-mavx2"),
        Feature("fma", "-mfma"),
        Feature("f16c", "-mf16c"),
        Feature("avx512f", "-mavx512f"),
        Feature("avx512cd", "-mavx512cd"),
        Feature("avx512dq", "-mavx512dq"),
        Feature("avx512bw", "-mavx512bw"),
        Feature("avx512vl", "-mavx512vl"),
        Feature("avx512_vnni", "-mavx512vnni"),
        Feature("avx512_bf16", "-mavx512bf16"),
        Feature("avx512_fp16", "-mavx512fp16"),
        Feature("avx_vnni", "-mavxvnni"),
    ),
    AARCH64: (
        Feature("neon", ""),
        Feature("fp16", "fp16"),
        Feature("dotprod", "dotprod"),
        Feature("bf16", "bf16"),
        Feature("i8mm", "i8mm"),
    ),
}

VECTOR_UNITS: dict[str, tuple[VectorUnit, ...]] = {
    X86_64: (
        VectorUnit("avx512f", 64, 32),
        VectorUnit("avx2", 32, 16),
        VectorUnit("sse2", 16, 16),
    ),
    AARCH64: (VectorUnit("neon", 16, 32),),
}
"""Widest first; the last one belongs to the base instruction set."""

LINUX_NAMES = {
    AARCH64: {"asimd": "neon", "asimdhp": "fp16", "asimddp": "dotprod"},
    X86_64: {},
}
"""Names in /proc/cpuinfo where they differ from ours."""

BASE_ARCH = {X86_64: "-march=x86-64", AARCH64: "-march=armv8.2-a"}


def known_features(isa: str, names: Collection[str]) -> tuple[str, ...]:
    """Those of `names` (archspec's or Linux's) that change code, in our names, sorted."""
    ours = {LINUX_NAMES[isa].get(name, name) for name in names}
    return tuple(sorted(ours & {f.name for f in FEATURES[isa]}))


def vector_unit(isa: str, features: Collection[str]) -> VectorUnit:
    """The widest vector unit that `features` give."""
    units = VECTOR_UNITS[isa]
    return next((u for u in units if u.feature in features), units[-1])


def feature_flags(isa: str, features: Collection[str]) -> tuple[str, ...]:
    """Compiler options that switch on exactly `features` over the base instruction set."""
    flags = [f.flag for f in FEATURES[isa] if f.name in features and f.flag]
    if isa == AARCH64:
        return ("+".join([BASE_ARCH[isa], *flags]),)
    return (BASE_ARCH[isa], *flags)
