"""Loops, guards, blocks, registers, copies and folds in C against the interpreter, the same nest read twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.nest.interpret import interpret
from autosched.nest.nodes import (
    Alloc,
    Block,
    Body,
    Bound,
    Buffer,
    Copy,
    Fold,
    Guard,
    Intrinsic,
    Invoke,
    Nest,
    Reduce,
    Region,
    Store,
    Tile,
)
from autosched.te.combiner import COMBINERS
from autosched.te.dtype import numpy_dtype
from autosched.te.expr import Binary, Const, Expr, Index, Load, Select, call, cast, condition
from autosched.te.integer import all_of, as_int, ceil_div, less, less_equal, minimum, symbol
from autosched.testing.nests import (
    axis,
    decision,
    flat_input,
    flat_output,
    index,
    ints,
    lane,
    loop,
    split_loop,
    whole,
)
from tests.codegen.running import AVX2, Array, Loaded, compiled, run_kernel


def nest_of(inputs: Sequence[Buffer], outputs: Sequence[Buffer], *bodies: Body) -> Nest:
    regions = tuple(Region(f"r{i}", (), body) for i, body in enumerate(bodies))
    return Nest("test", tuple(inputs), tuple(outputs), (), (), (), regions)


def agrees(nest: Nest, *inputs: Array, tolerance: float = 1e-6) -> list[Array]:
    """Runs both readers; the outputs of the C text."""
    kernel = generate_c(nest, {}, AVX2, "test")
    found = run_kernel(kernel, inputs)
    for got, want in zip(found, interpret(nest, {}, inputs), strict=True):
        np.testing.assert_allclose(got, want.reshape(-1), rtol=tolerance, atol=tolerance)
    return found


def random(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 9, 15, 16, 20])
def test_tails_touch_nothing_past_the_end(size: int) -> None:
    x, y = flat_input("x", size), flat_output("y", size)
    b, i = index("b"), index("i")
    block = Block(
        (lane(i, b * 8, size, as_int(8)),),
        (Store(y, (b * 8 + i,), Load(x, (b * 8 + i,)) * 2.0),),
        i,
    )
    kernel = generate_c(nest_of([x], [y], (split_loop(b, size, 8, (block,)),)), {}, AVX2, "tails")
    values = random(size)
    loaded = Loaded(kernel, [values], compiled(kernel))
    room = np.full(size + 16, 5.0, np.float32)
    loaded.outputs[0] = room
    loaded.run()
    np.testing.assert_array_equal(room[:size], values * 2)
    assert (room[size:] == 5.0).all()


def test_peeled_loop_runs_every_iteration_once() -> None:
    x, y = flat_input("x", 9), flat_output("y", 9)
    i = index("i")
    first = Guard(less(i, 2), (Store(y, (i,), Load(x, (i,)) * 3.0),))
    rest = Guard(less_equal(2, i), (Store(y, (i,), Load(x, (i,)) + 1.0),))
    nest = nest_of([x], [y], (loop(i, 9, (first, rest), peel=as_int(2)),))
    text = generate_c(nest, {}, AVX2, "peel").source
    agrees(nest, random(9))
    assert "if (" not in text.split("void peel")[1]


def test_guard_on_lanes() -> None:
    x, y = flat_input("x", 3, 16), flat_output("y", 3, 16)
    i, j = index("i"), index("j")
    body = (
        Store(y, (i, j), Const(-1.0, "float32")),
        Guard(less(j, i * 4 + 3), (Store(y, (i, j), Load(x, (i, j))),)),
    )
    agrees(nest_of([x], [y], (Block((whole(i, 3), whole(j, 16)), body, j),)), random(3, 16))


def test_strided_and_reversed_vectors() -> None:
    x, y, z = flat_input("x", 40), flat_output("y", 11), flat_output("z", 33)
    i = index("i")
    body = (
        Store(y, (i,), Load(x, (i * 3 + 2,)) + Load(x, (39 - i,))),
        Store(z, (i * 3,), Load(x, (i // 2,)) * Load(x, (i % 4,))),
        Store(z, (i * 3 + 1,), Const(1.0, "float32")),
        Store(z, (i * 3 + 2,), Const(2.0, "float32")),
    )
    agrees(nest_of([x], [y, z], (Block((whole(i, 11),), body, i),)), random(40))


@pytest.mark.parametrize("vector", [True, False])
def test_padding_by_select(vector: bool) -> None:
    x, y = flat_input("x", 5, 12), flat_output("y", 7, 16)
    i, j = index("i"), index("j")
    inside = all_of([less_equal(1, i), less(i, 6), less_equal(2, j), less(j, 14)])
    value = Select(condition(inside), Load(x, (i - 1, j - 2)), Const(0.0, "float32"))
    block = Block((whole(j, 16),), (Store(y, (i, j), value),), j if vector else None)
    agrees(nest_of([x], [y], (loop(i, 7, (block,)),)), random(5, 12))


def test_joined_sources() -> None:
    """Concatenation: one inequality along the vector, each side outside its buffer beyond it."""
    x, z, y = flat_input("x", 3, 13), flat_input("z", 3, 22), flat_output("y", 3, 35)
    i, j = index("i"), index("j")
    value = Select(condition(less(j, 13)), Load(x, (i, j)), Load(z, (i, j - 13)))
    body = (Block((whole(j, 35),), (Store(y, (i, j), value * 2.0),), j),)
    agrees(nest_of([x, z], [y], (loop(i, 3, body),)), random(3, 13), random(3, 22))


def test_rows_outside_are_never_read() -> None:
    x, y = flat_input("x", 2, 8), flat_output("y", 4, 8)
    i, j = index("i"), index("j")
    value = Select(
        condition(all_of([less_equal(1, i), less(i, 3)])),
        Load(x, (i - 1, j)),
        Const(7.0, "float32"),
    )
    block = Block((whole(j, 8),), (Store(y, (i, j), value),), j)
    agrees(nest_of([x], [y], (loop(i, 4, (block,)),)), random(2, 8))


def test_index_values_along_a_vector() -> None:
    y = Buffer("y", ints(3, 11), "int64", "global", "output")
    z = flat_output("z", 3, 11)
    i, j = index("i"), index("j")
    body = (
        Store(y, (i, j), Index(i * 11 + j * 2)),
        Store(z, (i, j), cast("float32", Binary("mul", Index(j // 3), Index(i)))),
    )
    agrees(nest_of([], [y, z], (loop(i, 3, (Block((whole(j, 11),), body, j),)),)))


@pytest.mark.parametrize("name", ["sum", "max", "min", "product"])
@pytest.mark.parametrize(("rows", "width"), [(1, 8), (2, 32), (3, 20), (2, 5), (1, 1)])
def test_fold_of_registers(name: str, rows: int, width: int) -> None:
    columns, combiner = 45, COMBINERS[name]
    x, y = flat_input("x", rows, columns), flat_output("y", rows)
    part = Buffer("part", ints(rows, width), "float32", "register")
    i, ko, k, l_ = index("i"), index("ko"), index("k"), index("l")
    at = ko * width + k
    step = Reduce(combiner, (part,), (i, k), (Load(x, (i, at)),))
    inner = Block((lane(k, ko * width, columns, as_int(width)),), (step,), k)
    body = (
        Alloc(part),
        Block((whole(k, width),), (Store(part, (i, k), combiner.identity(("float32",))[0]),), k),
        split_loop(ko, columns, width, (inner,)),
        Fold(combiner, (y,), (i,), (part,), (i, l_), l_, as_int(width)),
    )
    values = random(rows, columns)
    agrees(nest_of([x], [y], (Block((whole(i, rows),), body),)), values, tolerance=1e-5)


def test_registers_indexed_by_a_loop_become_an_array() -> None:
    x, y = flat_input("x", 6, 8), flat_output("y", 6, 8)
    kept = Buffer("kept", ints(6, 8), "float32", "register")
    i, j = index("i"), index("j")
    fill = Block((whole(j, 8),), (Store(kept, (i, j), Load(x, (i, j))),), j)
    use = Block((whole(j, 8),), (Store(y, (5 - i, j), Load(kept, (i, j))),), j)
    agrees(nest_of([x], [y], (Alloc(kept), loop(i, 6, (fill,)), loop(i, 6, (use,)))), random(6, 8))


def test_reduction_of_a_vector_into_one_element() -> None:
    x, y = flat_input("x", 19), flat_output("y", 1)
    k = index("k")
    body = (
        Store(y, ints(0), Const(0.0, "float32")),
        Block((whole(k, 19),), (Reduce(COMBINERS["sum"], (y,), ints(0), (Load(x, (k,)),)),), k),
    )
    agrees(nest_of([x], [y], body), random(19))


def test_scratch_is_reused_between_bodies() -> None:
    x, y = flat_input("x", 64), flat_output("y", 64)
    i = index("i")

    def through(name: str, factor: float, offset: int) -> Body:
        buffer = Buffer(name, ints(32), "float32")
        fill = loop(i, 32, (Store(buffer, (i,), Load(x, (i + offset,)) * factor),))
        use = loop(i, 32, (Store(y, (i + offset,), Load(buffer, (i,))),))
        once = index(f"{name}.once")
        return (loop(once, 1, ()), Alloc(buffer), fill, use)

    block = tuple(Block((), through(n, f, o)) for n, f, o in (("a", 2.0, 0), ("b", 3.0, 32)))
    nest = nest_of([x], [y], block)
    agrees(nest, random(64))
    (region,) = generate_c(nest, {}, AVX2, "scratch").regions
    assert region.scratch_bytes < 2 * 32 * 4 + 64


COPIES = {
    "patch": (4, 6, (2, 3)),
    "wide patch": (3, 40, (1, 5)),
    "nothing inside": (2, 9, (30, 30)),
}


@pytest.mark.parametrize("case", sorted(COPIES))
def test_copy_pads_with_its_fill(case: str) -> None:
    rows, columns, (top, left) = COPIES[case]
    x = flat_input("x", rows, columns)
    y = flat_output("y", rows + 5, columns + 9)
    i, j = index("i"), index("j")
    copy = Copy(
        y,
        (axis(i, rows + 5), axis(j, columns + 9)),
        (i, j),
        call("exp", Load(x, (i - top, j - left))),
        (
            Bound(as_int(0), i - top, as_int(rows)),
            Bound(as_int(0), j - left, as_int(columns)),
        ),
        fill=-2.5,
    )
    agrees(nest_of([x], [y], (copy,)), random(rows, columns), tolerance=1e-5)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_copy_into_panels(step: int) -> None:
    """A transposed panel with a ragged end; the source moves by `step` rows a lane."""
    x, y = flat_input("x", 7 * step, 10), flat_output("y", 3, 10, 3)
    u, k, r = index("u"), index("k"), index("r")
    row = (u * 3 + r) * step
    copy = Copy(
        y,
        (axis(u, 3), axis(k, 10), axis(r, 3)),
        (u, k, r),
        Load(x, (row, k)),
        (Bound(as_int(0), row, as_int(7 * step)),),
    )
    agrees(nest_of([x], [y], (copy,)), random(7 * step, 10))


def test_copy_under_a_bound_that_is_no_interval() -> None:
    x, y = flat_input("x", 12), flat_output("y", 12)
    i = index("i")
    copy = Copy(y, (axis(i, 12),), (i,), Load(x, (11 - i,)), (Bound(as_int(3), 11 - i, as_int(9)),))
    agrees(nest_of([x], [y], (copy,)), random(12))


def test_late_bound_tile() -> None:
    tile = decision("tile")
    x, y = flat_input("x", 50), flat_output("y", 50)
    b, i = index("b"), index("i")
    inner = loop(i, tile, (Store(y, (b * tile + i,), Load(x, (b * tile + i,)) + 1.0),))
    inner = loop(i, tile, inner.body, limit=minimum(tile, as_int(50) - b * tile))
    nest = nest_of([x], [y], (loop(b, ceil_div(50, tile), (inner,)),))
    kernel = generate_c(nest, {}, AVX2, "late")
    assert kernel.symbols == ("tile",)
    loaded = Loaded(kernel, [random(50)], compiled(kernel))
    for value in (1, 7, 50, 64):
        loaded.outputs[0][:] = np.nan
        loaded.run(np.array([value], np.int64))
        np.testing.assert_array_equal(loaded.outputs[0], random(50) + 1)


def test_an_open_symbol_where_text_needs_a_number_is_named() -> None:
    x, y = flat_input("x", 8), flat_output("y", 8)
    i = index("i")
    wide = Block((whole(i, symbol("i.r", "decision")),), (Store(y, (i,), Load(x, (i,))),), i)
    with pytest.raises(ValueError, match=r"i\.r"):
        generate_c(nest_of([x], [y], (wide,)), {}, AVX2, "open")


def test_intrinsic_text() -> None:
    x, y = flat_input("x", 2, 8), flat_output("y", 2, 8)
    i, j = index("i"), index("j")

    def meaning(source: Buffer, target: Buffer) -> Body:
        return (loop(j, 8, (Store(target, (j,), Load(source, (j,)) * 2.0),)),)

    double = Intrinsic(
        "double8",
        ((8,), (8,)),
        meaning,
        {"c": "for (int n = 0; n < 8; ++n) ({1})[n] = 2 * ({0})[n];"},
    )
    call_ = Invoke(double, (Tile(x, (i, as_int(0))), Tile(y, (i, as_int(0)))))
    (got,) = run_kernel(
        generate_c(nest_of([x], [y], (loop(i, 2, (call_,)),)), {}, AVX2, "f"), [random(2, 8)]
    )
    np.testing.assert_array_equal(got, random(2, 8).reshape(-1) * 2)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64"])
def test_matmul_in_other_dtypes(dtype: str) -> None:
    m, n, k = 3, 11, 6
    a, b = (
        Buffer(name, ints(*shape), dtype, "global", "input")
        for name, shape in (("a", (m, k)), ("b", (k, n)))
    )
    c = Buffer("c", ints(m, n), dtype, "global", "output")
    total = "float32" if "16" in dtype else dtype
    acc = Buffer("acc", ints(m, n), total, "register")
    i, j, kk = index("i"), index("j"), index("k")

    def widened(load: Load) -> Expr:
        return cast(total, load)

    product = Binary("mul", widened(Load(a, (i, kk))), widened(Load(b, (kk, j))))
    body = (
        Alloc(acc),
        Block(
            (whole(i, m), whole(j, n)),
            (
                Store(acc, (i, j), Const(0, total)),
                loop(kk, k, (Reduce(COMBINERS["sum"], (acc,), (i, j), (product,)),)),
                Store(c, (i, j), cast(dtype, Load(acc, (i, j)))),
            ),
            j,
        ),
    )
    nest = nest_of([a, b], [c], body)
    rng = np.random.default_rng(8)
    x, y = (rng.integers(-4, 5, s).astype(numpy_dtype(dtype)) for s in ((m, k), (k, n)))
    (got,) = run_kernel(generate_c(nest, {}, AVX2, "m"), [x, y])
    want = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_array_equal(got.astype(np.float64).reshape(m, n), want)
