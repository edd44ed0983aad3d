"""Families of workloads: same computation, other extents.

    c: float32[i<512, j<64] = mul(a[i], b[j])   ->   c: float32[i<#, j<#] = mul(a[i], b[j])   and (512, 64)

Two workloads of one family have the same stages, axes and decisions' names, so the values of a winner of one are a
good guess for the other. Numbers in names and dtypes stay; constants are forgotten (a mean's 1/n follows its extent).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

KEY_VERSION = "f1"

# Strangers send texts: a constant begins where a word does alone, or each of its characters would begin a search.
_CONSTANT = re.compile(r"(?<![^\s(\[,])[^\s(\[,]+:(?=[a-z]+\d*\b)")
_NUMBER = re.compile(r"(?<![\w.:])\d+(?![\w.:])")


def family_key(workload_text: str) -> str:
    """Content key of a workload's canonical text without its extents."""
    abstract = _NUMBER.sub("#", _CONSTANT.sub("#:", workload_text))
    return f"{KEY_VERSION}-{hashlib.sha256(abstract.encode()).hexdigest()[:32]}"


def extents(workload_text: str) -> tuple[int, ...]:
    """The numbers that `family_key` leaves out, in reading order."""
    return tuple(int(n) for n in _NUMBER.findall(_CONSTANT.sub("#:", workload_text)))


def log2_size(workload_text: str) -> float:
    """log2 of all extents multiplied. Two sizes of one family differ by at most their `shape_distance`."""
    return sum(map(_log2, extents(workload_text)))


def shape_distance(a: str, b: str) -> float:
    """Sum of |log2(x / y)| over the extents of two texts of one family; infinite for different families."""
    if family_key(a) != family_key(b):
        return math.inf
    return extents_distance(extents(a), extents(b))


def extents_distance(a: Sequence[int], b: Sequence[int]) -> float:
    """The same of the extents of one family."""
    return sum(abs(_log2(x) - _log2(y)) for x, y in zip(a, b, strict=True))


def _log2(extent: int) -> float:
    """Zero counts as one half, so that an empty workload is far from every other but not infinitely."""
    return math.log2(max(extent, 0.5))
