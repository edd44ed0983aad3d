"""Where the tensors of a plan live: most in memory of their own, the parts of a joined tensor inside of it.

    k = join(a, b)   ->   a at k + 0, b at k + bytes of a; the join itself is no longer run

A join stays a call if one of its parts is not a call's result alone: handed in or out, a constant, joined elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from autosched.graph.graph import TensorType
from autosched.graph.partition.plan import Call, Plan
from autosched.te.dtype import numpy_dtype


@dataclass(frozen=True)
class Home:
    """`offset_bytes` into the memory of `tensor`, which has its own."""

    tensor: str
    offset_bytes: int = 0


@dataclass(frozen=True)
class Homes:
    """The parts of joined tensors with their homes, and the calls that are left to run."""

    parts: Mapping[str, Home]
    calls: tuple[Call, ...]

    def of(self, tensor: str) -> Home:
        return self.parts.get(tensor, Home(tensor))


def find_homes(plan: Plan, calls: Sequence[Call], outside: Set[str]) -> Homes:
    """Last call first, so that a joined tensor that is itself a part has its home before its own parts."""
    made = {n for call in calls for n in call.outputs} - outside
    parts: dict[str, Home] = {}
    left: list[Call] = []
    for call in reversed(calls):
        members = [plan.root(n) for n in call.joins]
        if not members or len({*members}) < len(members) or not {*members} <= made - parts.keys():
            left.append(call)
            continue
        home = parts.get(call.outputs[0], Home(call.outputs[0]))
        at = home.offset_bytes
        for name in members:
            parts[name] = Home(home.tensor, at)
            at += tensor_bytes(plan.types[name])
    return Homes(parts, tuple(reversed(left)))


def tensor_bytes(kind: TensorType) -> int:
    n_bytes: int = kind.elements * numpy_dtype(kind.dtype).itemsize
    return n_bytes
