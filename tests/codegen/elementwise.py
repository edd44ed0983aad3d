"""Nests that apply one scalar expression to every element of flat arrays: one region an expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autosched.nest.nodes import Block, Buffer, Count, Lane, Loop, Nest, Region, Store
from autosched.te.expr import Expr, Load
from autosched.te.integer import Int, as_int, ceil_div, less_equal, symbol

Body = Callable[[Sequence[Expr], Int], Expr]


def elementwise(
    size: int, dtypes: Sequence[str], bodies: Sequence[Body], *, tile: int = 16, vector: bool = True
) -> Nest:
    """out[n][i] = bodies[n]([in0[i], in1[i], ..], i) for i < size, in blocks of `tile` lanes."""
    n = as_int(size)
    inputs = tuple(Buffer(f"in{p}", (n,), d, "global", "input") for p, d in enumerate(dtypes))
    outputs, regions = [], []
    for number, body in enumerate(bodies):
        block, lane = symbol("block", "index"), symbol("lane", "index")
        at = block * tile + lane
        value = body([Load(b, (at,)) for b in inputs], at)
        out = Buffer(f"out{number}", (n,), value.dtype, "global", "output")
        steps = ceil_div(n, tile)
        lanes = Lane(
            lane, as_int(tile), n % tile, less_equal(block * tile + tile, n), Count(n, steps)
        )
        inner = Block((lanes,), (Store(out, (at,), value),), lane if vector else None)
        loop = Loop(block, steps, steps, Count(steps), ())
        outputs.append(out)
        regions.append(Region(f"r{number}", (loop,), (inner,)))
    return Nest("elementwise", inputs, tuple(outputs), (), (), (), tuple(regions))
