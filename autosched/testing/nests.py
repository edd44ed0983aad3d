"""Nests written by hand for the CPU: one for each thing a reader must get right, with what it should compute.

`NESTS` is the table; every reader has one test that runs over it. Sizes are small and awkward: no tile divides its
extent, so every nest has tails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autosched.nest.nodes import (
    Alloc,
    Block,
    Bound,
    Buffer,
    Copy,
    CopyAxis,
    Count,
    Fold,
    Lane,
    Loop,
    LoopKind,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.te.combiner import COMBINERS, Combiner
from autosched.te.expr import Binary, Const, Expr, Index, Load, cast, maximum_of
from autosched.te.integer import Int, as_int, ceil_div, less_equal, minimum, symbol

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Example:
    """A nest, decisions for it, inputs and the outputs it must have (`tolerance` relative to the largest)."""

    nest: Nest
    values: Mapping[str, int]
    inputs: Callable[[np.random.Generator], tuple[Array, ...]]
    expected: Callable[..., tuple[Array, ...]]
    tolerance: float = 1e-5

    @property
    def environment(self) -> dict[Int, int]:
        return {symbol(name, "decision"): value for name, value in self.values.items()}


def index(name: str) -> Int:
    return symbol(name, "index")


def decision(name: str) -> Int:
    return symbol(name, "decision")


def loop(
    var: Int, extent: Int | int, body: tuple[Node, ...], *, kind: LoopKind = "serial", **more: Any
) -> Loop:
    """A loop; `limit` and `count` default to the extent."""
    most = as_int(extent)
    count = more.pop("count", Count(most))
    return Loop(var, most, more.pop("limit", most), count, body, kind=kind, **more)


def split_loop(var: Int, size: int, tile: Int, body: tuple[Node, ...] = ()) -> Loop:
    """Tiles of an axis."""
    return loop(var, ceil_div(size, tile), body)


def lane(var: Int, base: Int, size: int, tile: Int) -> Lane:
    """Lanes of a tile that starts at `base` of an axis of this size."""
    full = less_equal(base + tile, size)
    return Lane(var, tile, as_int(size) % tile, full, Count(as_int(size), ceil_div(size, tile)))


def whole(var: Int, size: Int | int) -> Lane:
    """Lanes that are always full."""
    extent = as_int(size)
    return Lane(var, extent, as_int(0), as_int(1), Count(extent))


def matmul() -> Example:
    """relu(a b + bias) of (13, 17) and (17, 11): b packed offline in panels, tasks over rows, a register tile."""
    m, n, k = 13, 11, 17
    mr, nr = decision("i.r"), decision("j.r")
    a, b = Buffer("a", ints(m, k), "float32", "global", "input"), flat_input("b", k, n)
    bias, c = flat_input("bias", n), flat_output("c", m, n)
    panels = Buffer("panels", (ceil_div(n, nr), as_int(k), nr), "float32", "global", "packed")
    acc = Buffer("acc", (mr, nr), "float32", "register")
    p, q, r = index("p"), index("q"), index("r")
    pack = Copy(
        panels,
        (axis(q, k), axis(r, nr)),
        (p, q, r),
        Load(b, (q, p * nr + r)),
        (Bound(as_int(0), p * nr + r, as_int(n)),),
    )
    io, jo, i, j, kk = index("io"), index("jo"), index("i"), index("j"), index("k")
    row, column = io * mr + i, jo * nr + j
    total = Load(acc, (i, j)) + Load(bias, (column,))
    block = Block(
        (lane(i, io * mr, m, mr), lane(j, jo * nr, n, nr)),
        (
            Store(acc, (i, j), Const(0.0, "float32")),
            loop(
                kk, k, (multiply_add(acc, (i, j), Load(a, (row, kk)), Load(panels, (jo, kk, j))),)
            ),
            Store(c, (row, column), maximum_of(total, 0.0)),
        ),
        vector=j,
    )
    nest = Nest(
        "matmul",
        (a, b, bias),
        (c,),
        (panels,),
        (),
        (Region("pack", (split_loop(p, n, nr),), (pack,)),),
        (
            Region(
                "tiles",
                (split_loop(io, m, mr),),
                (Alloc(acc), split_loop(jo, n, nr, (block,))),
            ),
        ),
    )
    return Example(
        nest,
        {"i.r": 4, "j.r": 8},
        lambda rng: (normal(rng, m, k), normal(rng, k, n), normal(rng, n)),
        lambda x, y, z: (np.maximum(x @ y + z, 0),),
    )


def int8_matmul() -> Example:
    """int8 x int8 -> int32."""
    m, n, k = 5, 7, 19
    mr = decision("i.r")
    a = Buffer("a", ints(m, k), "int8", "global", "input")
    b = Buffer("b", ints(k, n), "int8", "global", "input")
    c = Buffer("c", ints(m, n), "int32", "global", "output")
    acc = Buffer("acc", (mr, as_int(n)), "int32", "register")
    io, i, j, kk = index("io"), index("i"), index("j"), index("k")
    x = cast("int32", Load(a, (io * mr + i, kk)))
    y = cast("int32", Load(b, (kk, j)))
    block = Block(
        (lane(i, io * mr, m, mr), whole(j, n)),
        (
            Store(acc, (i, j), Const(0, "int32")),
            loop(kk, k, (multiply_add(acc, (i, j), x, y),)),
            Store(c, (io * mr + i, j), Load(acc, (i, j))),
        ),
        vector=j,
    )
    region = Region("tiles", (split_loop(io, m, mr),), (Alloc(acc), block))
    return Example(
        Nest("int8_matmul", (a, b), (c,), (), (), (), (region,)),
        {"i.r": 2},
        lambda rng: (
            rng.integers(-128, 128, (m, k), dtype=np.int8),
            rng.integers(-128, 128, (k, n), dtype=np.int8),
        ),
        lambda x, y: (x.astype(np.int32) @ y.astype(np.int32),),
        tolerance=0.0,
    )


def row_reduction(
    name: str,
    combiner: Combiner,
    dtypes: tuple[str, ...],
    values: Callable[[Buffer, Int, Int], Any],
) -> Nest:
    """A reduction of the rows of x (6, 21), `k.r` partial results at a time, folded at the end."""
    rows, columns = 6, 21
    kr = decision("k.r")
    x = flat_input("x", rows, columns)
    outputs = tuple(
        Buffer(f"y{n}", ints(rows), dtype, "global", "output") for n, dtype in enumerate(dtypes)
    )
    parts = tuple(Buffer(f"part{n}", (kr,), d, "register") for n, d in enumerate(dtypes))
    i, ko, k, any_lane = index("i"), index("ko"), index("k"), index("l")
    identity = tuple(
        Store(part, (k,), neutral)
        for part, neutral in zip(parts, combiner.identity(dtypes), strict=True)
    )
    step = Reduce(combiner, parts, (k,), values(x, i, ko * kr + k))
    body: tuple[Node, ...] = (
        *(Alloc(part) for part in parts),
        Block((whole(k, kr),), identity, vector=k),
        split_loop(ko, columns, kr, (Block((lane(k, ko * kr, columns, kr),), (step,), vector=k),)),
        Fold(combiner, outputs, (i,), parts, (any_lane,), any_lane, kr),
    )
    return Nest(name, (x,), outputs, (), (), (), (Region("rows", (loop(i, rows, ()),), body),))


def argmax() -> Example:
    """Largest value and its first index of each row, with ties and a NaN."""

    def inputs(rng: np.random.Generator) -> tuple[Array, ...]:
        x = rng.integers(-3, 4, (6, 21)).astype(np.float32)
        x[2, 5] = x[2, 9] = np.nan
        return (x,)

    nest = row_reduction(
        "argmax",
        COMBINERS["argmax"],
        ("float32", "int64"),
        lambda x, i, k: (Load(x, (i, k)), Index(k)),
    )
    return Example(nest, {"k.r": 8}, inputs, lambda x: (x.max(1), np.argmax(x, 1)), tolerance=0.0)


def maxsum() -> Example:
    """The largest value of each row and the sum of exp(x - largest)."""
    nest = row_reduction(
        "maxsum",
        COMBINERS["maxsum"],
        ("float32", "float32"),
        lambda x, i, k: (Load(x, (i, k)), Const(1.0, "float32")),
    )
    return Example(
        nest,
        {"k.r": 8},
        lambda rng: (normal(rng, 6, 21) * 20,),
        lambda x: (x.max(1), np.exp(x - x.max(1, keepdims=True)).sum(1)),
    )


def two_outputs() -> Example:
    """Mean and mean square of the rows of (5, 9) in one pass."""
    rows, columns = 5, 9
    x = flat_input("x", rows, columns)
    mean, square = flat_output("mean", rows), flat_output("square", rows)
    sums = Buffer("sums", ints(2), "float32", "scratch")
    i, k = index("i"), index("k")
    value = Load(x, (i, k))

    def scaled(n: int) -> Expr:
        return Load(sums, ints(n)) * (1 / columns)

    body: tuple[Node, ...] = (
        Alloc(sums),
        Store(sums, ints(0), Const(0.0, "float32")),
        Store(sums, ints(1), Const(0.0, "float32")),
        loop(
            k,
            columns,
            (
                Reduce(COMBINERS["sum"], (sums,), ints(0), (value,)),
                Reduce(COMBINERS["sum"], (sums,), ints(1), (value * value,)),
            ),
        ),
        Store(mean, (i,), scaled(0)),
        Store(square, (i,), scaled(1)),
    )
    region = Region("rows", (loop(i, rows, ()),), body)
    return Example(
        Nest("two_outputs", (x,), (mean, square), (), (), (), (region,)),
        {},
        lambda rng: (normal(rng, rows, columns),),
        lambda x: (x.mean(1), (x * x).mean(1)),
    )


def split_reduction() -> Example:
    """The sum of 23 values in `k.p` parallel parts, then over the parts."""
    size, parts = 23, decision("k.p")
    x, y = flat_input("x", size), flat_output("y", 1)
    partial = Buffer("partial", (parts,), "float32", "global", "workspace")
    p, k, q = index("p"), index("k"), index("q")
    chunk = ceil_div(size, parts)
    left = as_int(size) - p * chunk
    add = COMBINERS["sum"]
    first: tuple[Node, ...] = (
        Store(partial, (p,), Const(0.0, "float32")),
        Loop(
            k,
            chunk,
            minimum(chunk, left),
            Count(as_int(size), parts),
            (Reduce(add, (partial,), (p,), (Load(x, (p * chunk + k,)),)),),
        ),
    )
    second: tuple[Node, ...] = (
        Store(y, ints(0), Const(0.0, "float32")),
        loop(q, parts, (Reduce(add, (y,), ints(0), (Load(partial, (q,)),)),)),
    )
    nest = Nest(
        "split_reduction",
        (x,),
        (y,),
        (),
        (partial,),
        (),
        (Region("parts", (loop(p, parts, ()),), first), Region("total", (), second)),
    )
    return Example(
        nest, {"k.p": 4}, lambda rng: (normal(rng, size),), lambda x: (x.sum(keepdims=True),)
    )


def ints(*values: int) -> tuple[Int, ...]:
    return tuple(as_int(v) for v in values)


def axis(var: Int, extent: Int | int) -> CopyAxis:
    most = as_int(extent)
    return CopyAxis(var, most, most, Count(most))


def flat_input(name: str, *shape: int) -> Buffer:
    return Buffer(name, ints(*shape), "float32", "global", "input")


def flat_output(name: str, *shape: int) -> Buffer:
    return Buffer(name, ints(*shape), "float32", "global", "output")


def multiply_add(acc: Buffer, at: tuple[Int, ...], a: Expr, b: Expr) -> Reduce:
    return Reduce(COMBINERS["sum"], (acc,), at, (Binary("mul", a, b),))


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


NESTS: dict[str, Callable[[], Example]] = {
    f.__name__: f for f in (matmul, int8_matmul, argmax, maxsum, two_outputs, split_reduction)
}
