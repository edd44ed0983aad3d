"""Constructive seeds: hardware-aligned values for every decision of a sketch, so that the first trials are good.

    lanes            the cheapest register blocks by `register_block`
    reduction tile   panels of the operands that fill half of L1, or no cut
    units            tiles that grow axis by axis until an operand's tile fills half of L2 or tasks get few

Several orders of growing give several seeds; a search ranks them. Each is repaired until every constraint holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from autosched.sketch.analysis import has_reuse, operand_axes
from autosched.sketch.lower.lower import Lowered
from autosched.sketch.lower.space import Role, largest
from autosched.sketch.lower.split import LOCAL, PART
from autosched.sketch.plan import Plan
from autosched.sketch.register_block import register_blocks
from autosched.sketch.sketch import Decision, Values
from autosched.target.target import Target
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, evaluate, symbols
from autosched.te.workload import Stage

MOST_BLOCKS = 3
SHORT = 4
TASKS_PER_THREAD = (4, 2, 16)
MOST_SEEDS = 24
MOST_LOWERED = 48
MOST_REPAIRS = 56


def seeds(lowered: Lowered, plan: Plan, target: Target) -> tuple[Values, ...]:
    """Distinct legal values, best guesses first; at least one where any legal candidate is found."""
    found: dict[tuple[int, ...], Values] = {}
    for draft in _drafts(lowered, plan, target):
        values = repaired(draft, lowered.decisions, lowered.constraints)
        if values is not None:
            found.setdefault(tuple(values[d.name] for d in lowered.decisions), values)
        if len(found) == MOST_SEEDS:
            break
    return tuple(found.values())


def nearest(domain: Sequence[int], wanted: int) -> int:
    """The largest allowed value not above what is wanted, else the smallest."""
    return max((v for v in domain if v <= wanted), default=domain[0])


@dataclass(frozen=True)
class _Drafting:
    """One sketch being seeded: its decisions by name, with their roles."""

    domains: Mapping[str, tuple[int, ...]]
    roles: Mapping[str, Role]
    plan: Plan
    target: Target

    def of(self, stage: Stage, kind: str) -> dict[str, str]:
        """Decision names of one kind of a stage, by axis."""
        return {r.axis: n for n, r in self.roles.items() if r.stage is stage and r.kind == kind}


def _drafts(lowered: Lowered, plan: Plan, target: Target) -> Iterator[dict[str, int]]:
    domains = {d.name: d.domain for d in lowered.decisions}
    drafting = _Drafting(domains, lowered.roles, plan, target)
    stages = list({id(r.stage): r.stage for r in lowered.roles.values()}.values())
    options = [list(_stage_drafts(drafting, s)) for s in stages]
    most = max((len(o) for o in options), default=1)
    for i in range(most):
        draft: dict[str, int] = {}
        for option in options:
            draft |= option[min(i, len(option) - 1)]
        yield draft


def _stage_drafts(drafting: _Drafting, stage: Stage) -> Iterator[dict[str, int]]:
    if has_reuse(stage):
        yield from _reuse_drafts(drafting, stage)
    else:
        yield from _plain_drafts(drafting, stage)


def _plain_drafts(drafting: _Drafting, stage: Stage) -> Iterator[dict[str, int]]:
    """Four vectors of lanes, or fewer for short axes; tasks in moderate number."""
    width = drafting.target.lanes(n_bytes(stage.values[0].dtype))
    extents = {a.name: largest(a.extent) for a in (*stage.axes, *stage.reduce_axes)}
    for vectors, per_thread in product((4, 2, 1, 8), TASKS_PER_THREAD):
        draft = {}
        for axis, name in drafting.of(stage, "r").items():
            draft[name] = nearest(drafting.domains[name], min(vectors * width, extents[axis]))
        for axis, name in drafting.of(stage, "o").items():
            lanes = draft.get(f"{stage.name}.{axis}.r", 1)
            units = -(-extents[axis] // lanes)
            wanted = max(1, units // (per_thread * drafting.target.threads))
            room = _rows_in_cache(drafting, stage, axis) // lanes
            draft[name] = nearest(drafting.domains[name], max(1, min(wanted, room)))
        for kind, wanted in (("u", 2), ("t", 1 << 30), ("m", 1)):
            for name in drafting.of(stage, kind).values():
                draft[name] = nearest(drafting.domains[name], wanted)
        for axis, name in drafting.of(stage, "c").items():
            chunks = extents[axis] // (width * 8 * per_thread * drafting.target.threads)
            draft[name] = nearest(drafting.domains[name], max(1, chunks))
        yield draft


def _rows_in_cache(drafting: _Drafting, stage: Stage, axis: str) -> int:
    """Steps along an axis whose elements, those of the axes inside it included, fill half of L1: what one member of a
    row group leaves there, the next finds there."""
    names = [a.name for a in stage.axes]
    inside = stage.axes[names.index(axis) + 1 :]
    row_bytes = n_bytes(stage.values[0].dtype) * prod(largest(a.extent) for a in inside)
    return drafting.target.l1_bytes // 2 // row_bytes


def _reuse_drafts(drafting: _Drafting, stage: Stage) -> Iterator[dict[str, int]]:
    lanes_of = drafting.of(stage, "r")
    vector = drafting.plan[stage.name.removesuffix(PART).removesuffix(LOCAL)].vector
    domains = tuple((a, drafting.domains[n]) for a, n in lanes_of.items())
    extents = tuple(largest(a.extent) for a in stage.axes)
    blocks = register_blocks(stage, vector, domains, drafting.target, extents)[:MOST_BLOCKS]
    growth = _growth_orders(drafting, stage)
    for per_thread, order, cut, block in product(TASKS_PER_THREAD, growth, (False, True), blocks):
        lanes = dict(block.lanes)
        tile = _reduction_tile(drafting, stage, lanes, vector) if cut else {}
        units = _grown(drafting, stage, lanes, tile, (order, per_thread))
        draft = {lanes_of[a]: n for a, n in lanes.items()} | units
        reduce_extents = {a.name: largest(a.extent) for a in stage.reduce_axes}
        for axis, name in drafting.of(stage, "t").items():
            draft[name] = nearest(drafting.domains[name], tile.get(axis, reduce_extents[axis]))
        yield draft | _unrolls(drafting, stage)


def _unrolls(drafting: _Drafting, stage: Stage) -> dict[str, int]:
    """Four steps of the innermost reduction axis; an axis outside it only where that one is very short."""
    reduce = {a.name: largest(a.extent) for a in stage.reduce_axes}
    innermost = stage.reduce_axes[-1].name
    outside = SHORT if reduce[innermost] < SHORT else 1
    return {
        name: nearest(drafting.domains[name], SHORT if axis == innermost else outside)
        for axis, name in drafting.of(stage, "u").items()
    }


def _growth_orders(drafting: _Drafting, stage: Stage) -> list[tuple[str, ...]]:
    """Axes in the order in which their tiles grow: last first, first first, and the last alone to its end."""
    names = tuple(a.name for a in stage.axes if a.name in drafting.of(stage, "m"))
    orders = [tuple(reversed(names)), names]
    return list(dict.fromkeys(orders)) or [()]


def _reduction_tile(
    drafting: _Drafting, stage: Stage, lanes: Mapping[str, int], vector: str
) -> dict[str, int]:
    """The longest cut axis is cut so that the vector panel of a block fills half of L1."""
    extents = {a.name: largest(a.extent) for a in stage.reduce_axes}
    cut = list(drafting.of(stage, "t"))
    if not cut:
        return {}
    longest = max(cut, key=lambda a: extents[a])
    others = prod(n for a, n in extents.items() if a != longest)
    size = n_bytes(stage.values[0].dtype)
    room = drafting.target.l1_bytes // 2 // (size * max(lanes.get(vector, 1), 1) * others)
    return {longest: max(16, min(room, extents[longest]))}


def _grown(
    drafting: _Drafting,
    stage: Stage,
    lanes: Mapping[str, int],
    tile: Mapping[str, int],
    policy: tuple[tuple[str, ...], int],
) -> dict[str, int]:
    """Double the inner units of the axes in turn while tasks stay plenty and each operand's tile fits half of L2."""
    order, per_thread = policy
    extents = {a.name: largest(a.extent) for a in (*stage.axes, *stage.reduce_axes)}
    sizes = {a.name: lanes.get(a.name, 1) for a in stage.axes}
    least = per_thread * drafting.target.threads
    for axis in order * 6:
        grown = (
            {**sizes, axis: min(sizes[axis] * 2, -(-extents[axis] // lanes[axis]) * lanes[axis])}
            if axis in lanes
            else sizes
        )
        tasks = prod(-(-extents[a] // n) for a, n in grown.items())
        if tasks >= least and _fits(drafting, stage, grown, tile):
            sizes = grown
    return _as_units(drafting, stage, lanes, sizes)


def _fits(
    drafting: _Drafting, stage: Stage, sizes: Mapping[str, int], tile: Mapping[str, int]
) -> bool:
    extents = {a.name: largest(a.extent) for a in stage.reduce_axes}
    spans = {**extents, **tile, **sizes}
    size = n_bytes(stage.values[0].dtype)
    tiles = [size * prod(spans[a] for a in used) for used in operand_axes(stage)]
    return min(tiles, default=0) <= drafting.target.l2_bytes // 2


def _as_units(
    drafting: _Drafting, stage: Stage, lanes: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Tile sizes as units inside the reduction tile, what is over as units outside it."""
    draft: dict[str, int] = {}
    outer = drafting.of(stage, "o")
    for axis, name in drafting.of(stage, "m").items():
        units = -(-sizes[axis] // lanes.get(axis, 1))
        draft[name] = nearest(drafting.domains[name], units)
        if axis in outer:
            draft[outer[axis]] = nearest(drafting.domains[outer[axis]], units // draft[name])
    for axis, name in outer.items():
        draft.setdefault(name, nearest(drafting.domains[name], sizes[axis]))
    return draft


def repaired(
    values: dict[str, int], decisions: tuple[Decision, ...], constraints: tuple[Int, ...]
) -> Values | None:
    """Legal values near a draft: the largest decisions of a broken constraint are lowered step by step; where that
    leads nowhere, single decisions are set to what breaks fewest constraints."""
    values = {d.name: values.get(d.name, d.domain[0]) for d in decisions}
    by_symbol = {d.symbol: d for d in decisions}
    for step in range(MOST_REPAIRS):
        broken = _broken(values, decisions, constraints)
        if not broken:
            return values
        inside = [by_symbol[s] for s in sorted(symbols(broken[0]), key=lambda s: s.name)]
        lower = [d for d in inside if values[d.name] > d.domain[0]]
        if lower and step < MOST_LOWERED:
            largest_one = max(lower, key=lambda d: values[d.name])
            below = [v for v in largest_one.domain if v < values[largest_one.name]]
            values[largest_one.name] = below[-1]
        else:
            changed = [{**values, d.name: v} for d in inside for v in d.domain]
            values = min(changed, key=lambda c: len(_broken(c, decisions, constraints)))
    return None


def _broken(
    values: Mapping[str, int], decisions: tuple[Decision, ...], constraints: tuple[Int, ...]
) -> list[Int]:
    environment = {d.symbol: values[d.name] for d in decisions}
    return [c for c in constraints if not evaluate(c, environment)]
