"""Nests written by hand for a GPU: blocks, sibling thread loops with barriers, shared memory, cross-thread folds.

`GPU_NESTS` is the table; sizes are small and awkward, so every level has a tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from autosched.nest.nodes import (
    Alloc,
    Barrier,
    Block,
    Bound,
    Buffer,
    Copy,
    Fold,
    Guard,
    Loop,
    Nest,
    Node,
    Reduce,
    Region,
    Store,
)
from autosched.te.combiner import COMBINERS
from autosched.te.expr import Const, Expr, Load, call
from autosched.te.integer import Int, as_int, both, ceil_div, less
from autosched.testing.nests import (
    Array,
    Example,
    axis,
    decision,
    flat_input,
    flat_output,
    index,
    lane,
    loop,
    multiply_add,
    normal,
    whole,
)


def shared_matmul() -> Example:
    """a b of (50, 37) and (37, 70): tiles of both operands copied to shared memory by all threads of a block, a
    register tile a thread.

    for k tile: copy both | barrier | threads: multiply | barrier
    """
    m, n, k = 50, 70, 37
    rows, columns, tile = decision("i.r"), decision("j.r"), decision("k.t")
    ty, tx = decision("i.threads"), decision("j.threads")
    a, b, c = flat_input("a", m, k), flat_input("b", k, n), flat_output("c", m, n)
    bm, bn = ty * rows, tx * columns
    a_tile = Buffer("a_tile", (tile, bm), "float32", "shared", pad=as_int(1))
    b_tile = Buffer("b_tile", (tile, bn), "float32", "shared")
    acc = Buffer("acc", (ty, tx, rows, columns), "float32", "register", thread_axes=2)
    by, bx, y, x, ko, kk = (index(v) for v in ("by", "bx", "y", "x", "ko", "kk"))
    i, j = index("i"), index("j")
    row, column = by * bm + y * rows, bx * bn + x * columns
    at = (y, x, i, j)

    def threads(*body: Node) -> Loop:
        return loop(y, ty, (loop(x, tx, body, kind="thread.x"),), kind="thread.y")

    def copied(source: Buffer, target: Buffer, size: Int, transposed: bool) -> Copy:
        p, q = index("p"), index("q")
        width = target.shape[1]
        depth, other = ko * tile + p, (by if transposed else bx) * width + q
        bounds = (Bound(as_int(0), depth, as_int(k)), Bound(as_int(0), other, size))
        value = Load(source, (other, depth) if transposed else (depth, other))
        axes = (axis(p, tile), axis(q, width))
        return Copy(
            target, axes, (p, q), value, bounds, threads=ty * tx, asynchronous=not transposed
        )

    step = multiply_add(
        acc, at, Load(a_tile, (kk, y * rows + i)), Load(b_tile, (kk, x * columns + j))
    )
    register_tile = (whole(i, rows), whole(j, columns))
    body: tuple[Node, ...] = (
        Alloc(a_tile),
        Alloc(b_tile),
        Alloc(acc),
        threads(Block(register_tile, (Store(acc, at, Const(0.0, "float32")),))),
        loop(
            ko,
            ceil_div(k, tile),
            (
                copied(a, a_tile, as_int(m), transposed=True),
                copied(b, b_tile, as_int(n), transposed=False),
                Barrier(),
                threads(loop(kk, tile, (Block(register_tile, (step,)),))),
                Barrier(),
            ),
        ),
        threads(
            Guard(
                both(less(row, m), less(column, n)),
                (
                    Block(
                        (lane(i, row, m, rows), lane(j, column, n, columns)),
                        (Store(c, (row + i, column + j), Load(acc, at)),),
                    ),
                ),
            )
        ),
    )
    blocks = (
        loop(by, ceil_div(m, bm), (), kind="block.y"),
        loop(bx, ceil_div(n, bn), (), kind="block.x"),
    )
    return Example(
        Nest("shared_matmul", (a, b), (c,), (), (), (), (Region("tiles", blocks, body),)),
        {"i.r": 4, "j.r": 4, "k.t": 8, "i.threads": 8, "j.threads": 8},
        lambda rng: (normal(rng, m, k), normal(rng, k, n)),
        lambda p, q: (p @ q,),
    )


def block_softmax() -> Example:
    """Softmax of rows of 300, a block a row, its largest value and sum over all threads of the block."""
    threads = decision("j.threads")
    example = _softmax("block_softmax", rows=5, columns=300, row_threads=None, threads=threads)
    return replace(example, values={"j.threads": 128})


def warp_softmax() -> Example:
    """Softmax of rows of 75, a warp a row, several rows a block, folds by shuffles."""
    rows, threads = decision("i.threads"), decision("j.threads")
    example = _softmax("warp_softmax", rows=10, columns=75, row_threads=rows, threads=threads)
    return replace(example, values={"j.threads": 32, "i.threads": 4})


def _softmax(
    name: str, *, rows: int, columns: int, row_threads: Int | None, threads: Int
) -> Example:
    """Thread t of a row has the columns t, t + threads, ..; without `row_threads` a block has one row."""
    x, y = flat_input("x", rows, columns), flat_output("y", rows, columns)
    b, r, t, chunk, any_thread = (index(v) for v in ("b", "r", "t", "c", "l"))
    per_block = as_int(1) if row_threads is None else row_threads
    row, column = b * per_block + r, chunk * threads + t
    shape, here, there = (per_block, threads), (r, t), (r, any_thread)
    largest, top, part, total = (
        Buffer(v, shape, "float32", "register", thread_axes=2)
        for v in ("largest", "top", "part", "total")
    )

    def each_thread(*body: Node) -> Loop:
        return loop(r, per_block, (loop(t, threads, body, kind="thread.x"),), kind="thread.y")

    def each_element(*body: Node) -> Node:
        within = both(less(row, rows), less(column, columns))
        return loop(chunk, ceil_div(columns, threads), (Guard(within, body),))

    def folded(combiner: str, target: Buffer, source: Buffer) -> Loop:
        over: Any = "block" if row_threads is None else "warp"
        fold = Fold(
            COMBINERS[combiner], (target,), here, (source,), there, any_thread, threads, over
        )
        return each_thread(fold)

    element = Load(x, (row, column))
    scaled: Expr = call("exp", element - Load(top, here))
    body: tuple[Node, ...] = (
        *(Alloc(v) for v in (largest, top, part, total)),
        each_thread(
            Store(largest, here, Const(-np.inf, "float32")),
            each_element(Reduce(COMBINERS["max"], (largest,), here, (element,))),
        ),
        folded("max", top, largest),
        each_thread(
            Store(part, here, Const(0.0, "float32")),
            each_element(Reduce(COMBINERS["sum"], (part,), here, (scaled,))),
        ),
        folded("sum", total, part),
        each_thread(each_element(Store(y, (row, column), scaled / Load(total, here)))),
    )
    blocks = (loop(b, ceil_div(rows, per_block), (), kind="block.x"),)

    def expected(v: Array) -> tuple[Array, ...]:
        e = np.exp(v - v.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True),)

    nest = Nest(name, (x,), (y,), (), (), (), (Region("rows", blocks, body),))
    return Example(nest, {}, lambda rng: (normal(rng, rows, columns) * 5,), expected)


def shared_transpose() -> Example:
    """A transposed (21, 34) by way of a padded tile in shared memory, written by threads and read by others."""
    m, n = 21, 34
    side = decision("side")
    x, y = flat_input("x", m, n), flat_output("y", n, m)
    tile = Buffer("tile", (side, side), "float32", "shared", pad=as_int(1))
    by, bx, ty, tx = (index(v) for v in ("by", "bx", "ty", "tx"))

    def threads(condition: Int, body: Node) -> Loop:
        inner = loop(tx, side, (Guard(condition, (body,)),), kind="thread.x")
        return loop(ty, side, (inner,), kind="thread.y")

    row, column = by * side + ty, bx * side + tx
    out_row, out_column = bx * side + ty, by * side + tx
    read = Store(tile, (ty, tx), Load(x, (row, column)))
    write = Store(y, (out_row, out_column), Load(tile, (tx, ty)))
    body = (
        Alloc(tile),
        threads(both(less(row, m), less(column, n)), read),
        Barrier(),
        threads(both(less(out_row, n), less(out_column, m)), write),
    )
    blocks = (
        loop(by, ceil_div(m, side), (), kind="block.y"),
        loop(bx, ceil_div(n, side), (), kind="block.x"),
    )
    return Example(
        Nest("shared_transpose", (x,), (y,), (), (), (), (Region("tiles", blocks, body),)),
        {"side": 8},
        lambda rng: (normal(rng, m, n),),
        lambda v: (v.T,),
        tolerance=0.0,
    )


def barriers_removed(nest: Nest) -> Nest:
    """The nest with a race: no barrier anywhere."""

    def strip(body: tuple[Node, ...]) -> tuple[Node, ...]:
        kept = [node for node in body if not isinstance(node, Barrier)]
        return tuple(
            replace(node, body=strip(node.body)) if isinstance(node, (Loop, Guard, Block)) else node
            for node in kept
        )

    regions = tuple(replace(region, body=strip(region.body)) for region in nest.regions)
    return replace(nest, regions=regions)


GPU_NESTS: dict[str, Callable[[], Example]] = {
    f.__name__: f for f in (shared_matmul, block_softmax, warp_softmax, shared_transpose)
}
