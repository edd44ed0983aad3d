"""Where the tensors of a plan live: most in memory of their own, the parts of a joined tensor inside of it.

    k = join(a, b)                       ->   a at k + 0, b at k + bytes of a; the join itself is no longer run
    k = join(a, b), l = join(a, b, c)    ->   a, b, c in l; k at l + 0

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
        found = _joined(call.outputs[0], members, plan, parts) if made.issuperset(members) else {}
        if found and made.issuperset(found):
            parts.update(found)
        else:
            left.append(call)
    return Homes(parts, tuple(reversed(left)))


def _joined(
    output: str, members: Sequence[str], plan: Plan, parts: Mapping[str, Home]
) -> dict[str, Home]:
    """The homes with which a join need not run: of its parts; of its result, where a later join holds the parts side by
    side; none otherwise."""
    sizes = [tensor_bytes(plan.types[n]) for n in members]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    if not parts.keys() & {*members}:
        base = parts.get(output, Home(output))
        return _side_by_side(members, starts, base) if len({*members}) == len(members) else {}
    base = parts.get(members[0], Home(output))
    held = _side_by_side(members, starts, base).items() <= parts.items()
    return {output: base} if held and output not in parts else {}


def _side_by_side(members: Sequence[str], starts: Sequence[int], base: Home) -> dict[str, Home]:
    return {
        name: Home(base.tensor, base.offset_bytes + start)
        for name, start in zip(members, starts, strict=True)
    }


def tensor_bytes(kind: TensorType) -> int:
    n_bytes: int = kind.elements * numpy_dtype(kind.dtype).itemsize
    return n_bytes
