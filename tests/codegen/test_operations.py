"""Every scalar operation in C against its NumPy meaning, scalar and vector, whole vectors and tails."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from autosched.codegen.c import generate_c
from autosched.codegen.c.integers import INTEGER_C
from autosched.codegen.c.operations import BINARY_C, UNARY_C
from autosched.te.expr import BINARY, UNARY, Binary, Expr, Select, Unary, call, cast
from autosched.te.integer import OPERATIONS, Int
from tests.codegen.elementwise import Body, elementwise
from tests.codegen.running import AVX2, Array, run_kernel

NAN, INF = float("nan"), float("inf")
SPECIAL = [
    0.0,
    -0.0,
    NAN,
    INF,
    -INF,
    1.0,
    -1.0,
    1e-40,
    -1e-40,
    3e38,
    -3e38,
    88.0,
    89.0,
    -87.5,
    -104.0,
]
FLOATS = ["float32", "float64"]
INTS = ["int8", "int32", "int64", "uint8"]
ULPS = {"exp": 3, "log": 3, "tanh": 4, "erf": 4, "sigmoid": 4, "rsqrt": 2, "sin": 2, "cos": 2}


def test_tables_name_the_same_operations() -> None:
    assert set(UNARY_C) == set(UNARY)
    assert set(BINARY_C) == set(BINARY)
    assert set(INTEGER_C) == set(OPERATIONS)


def samples(dtype: str, rng: np.random.Generator) -> Array:
    """Special values, then values of every size the exponential can tell apart."""
    wide = rng.uniform(-110, 110, 150)
    near = rng.standard_normal(150)
    tiny = rng.standard_normal(40) * 10.0 ** rng.uniform(-38, 38, 40)
    return np.concatenate([SPECIAL, wide, near, tiny]).astype(dtype)


def run(size: int, inputs: list[Array], bodies: list[Body], *, vector: bool) -> list[Array]:
    nest = elementwise(size, [str(a.dtype) for a in inputs], bodies, vector=vector)
    return run_kernel(generate_c(nest, {}, AVX2, "operations"), inputs)


def ulps(got: Array, want: Array) -> Array:
    """Distance in units of the last place of the wanted value; 0 where both are NaN, equal, or below the least
    normal number (flushed)."""
    with np.errstate(all="ignore"):
        wanted = want.astype(got.dtype)
        flushed = (got == 0) & (np.abs(wanted) < np.finfo(got.dtype).tiny)
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | flushed
        unit = np.spacing(np.maximum(np.abs(wanted), np.finfo(got.dtype).tiny))
        return np.where(same, 0, np.abs(got.astype(np.float64) - want) / unit)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_unary_on_floats(dtype: str, vector: bool) -> None:
    x = samples(dtype, np.random.default_rng(1))
    names = [n for n in UNARY if n != "not"]
    found = run(len(x), [x], [lambda v, _, n=n: Unary(n, v[0]) for n in names], vector=vector)
    for name, got in zip(names, found, strict=True):
        with np.errstate(all="ignore"):
            want = UNARY[name].numpy(x.astype(np.float64))
        if got.dtype == np.bool_:
            assert (got == want).all(), name
        else:
            off = ulps(got, want)
            at = int(np.nanargmax(off))
            assert off[at] <= ULPS.get(name, 0.5), (name, x[at], got[at], want[at])
            assert not np.isnan(off).any(), name


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_binary_on_floats(dtype: str, vector: bool) -> None:
    rng = np.random.default_rng(2)
    x, y = samples(dtype, rng), rng.permutation(samples(dtype, rng))
    y[: len(SPECIAL)] = SPECIAL[::-1]
    x[20], y[20] = NAN, 1.0
    x[21], y[21] = 1.0, NAN
    names = [n for n in BINARY if n not in ("and", "or", "pow")]
    found = run(
        len(x), [x, y], [lambda v, _, n=n: Binary(n, v[0], v[1]) for n in names], vector=vector
    )
    for name, got in zip(names, found, strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, BINARY[name].numpy(x, y), err_msg=name)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap_as_numpy_does(dtype: str, vector: bool) -> None:
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 53, dtype, endpoint=True) for _ in range(2))
    names = ["add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne"]
    bodies: list[Body] = [lambda v, _, n=n: Binary(n, v[0], v[1]) for n in names]
    bodies += [lambda v, _: Unary("abs", v[0]), lambda v, _: Unary("sign", v[0])]
    found = run(len(x), [x, y], bodies, vector=vector)
    for name, got in zip(names, found, strict=False):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got, BINARY[name].numpy(x, y), err_msg=name)
    np.testing.assert_array_equal(found[-2], np.abs(x))
    np.testing.assert_array_equal(found[-1], np.sign(x))


@pytest.mark.parametrize("vector", [False, True])
def test_conditions_and_selects(vector: bool) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 61)).astype(np.float32)
    x[5] = NAN
    wide = rng.standard_normal(61)
    small = rng.integers(-5, 5, 61, np.int8)

    def chosen(v: Sequence[Expr], _: Int) -> Expr:
        less = Binary("lt", v[0], v[1])
        return Select(
            Binary("and", less, Unary("not", Unary("isnan", v[0]))), v[2], Binary("mul", v[2], v[2])
        )

    bodies: list[Body] = [
        chosen,
        lambda v, _: Select(
            Binary("or", Binary("gt", v[3], v[3] - 1), Unary("isnan", v[0])), v[3], -v[3]
        ),
        lambda v, _: cast("float32", Binary("lt", v[2], cast("float64", v[3]))),
        lambda v, _: cast("bool", v[3]),
    ]
    found = run(61, [x, y, wide, small], bodies, vector=vector)
    np.testing.assert_array_equal(found[0], np.where((x < y) & ~np.isnan(x), wide, wide * wide))
    np.testing.assert_array_equal(
        found[1], np.where((small > small - 1) | np.isnan(x), small, -small)
    )
    np.testing.assert_array_equal(found[2], (wide < small).astype(np.float32))
    np.testing.assert_array_equal(found[3], small != 0)


@pytest.mark.parametrize("vector", [False, True])
def test_casts(vector: bool) -> None:
    rng = np.random.default_rng(5)
    sources = {
        "float64": rng.uniform(-100, 100, 45),
        "float32": rng.uniform(-100, 100, 45).astype(np.float32),
        "int64": rng.integers(-100, 100, 45),
        "int32": rng.integers(-100, 100, 45, np.int32),
        "int8": rng.integers(-100, 100, 45, np.int8),
        "bool": rng.integers(0, 2, 45).astype(np.bool_),
    }
    pairs = [(n, t) for n in range(len(sources)) for t in sources]
    bodies: list[Body] = [lambda v, _, n=n, t=t: cast(t, v[n]) for n, t in pairs]
    found = run(45, list(sources.values()), bodies, vector=vector)
    arrays = list(sources.values())
    for (n, target), got in zip(pairs, found, strict=True):
        np.testing.assert_array_equal(got, arrays[n].astype(target), err_msg=f"{n} -> {target}")


@pytest.mark.parametrize("vector", [False, True])
def test_half_precision_rounds_to_nearest_even(vector: bool) -> None:
    bits = np.concatenate([np.arange(0, 65536, 97), [0x7C00, 0xFC00, 1, 0x8001, 0x3FF, 0x7BFF]])
    half = bits.astype(np.uint16).view(np.float16)
    brain = bits.astype(np.uint16).view(ml_dtypes.bfloat16)
    rng = np.random.default_rng(6)
    with np.errstate(all="ignore"):
        f32 = (rng.standard_normal(len(bits)) * 10.0 ** rng.uniform(-9, 6, len(bits))).astype("f4")
    f32[:4] = [65519.0, 65520.0, 2**-24, 2**-25]
    bodies: list[Body] = [
        lambda v, _: cast("float32", v[0]),
        lambda v, _: cast("float32", v[1]),
        lambda v, _: cast("float16", v[2]),
        lambda v, _: cast("bfloat16", v[2]),
    ]
    found = run(len(bits), [half, brain, f32], bodies, vector=vector)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found[0], half.astype(np.float32))
        np.testing.assert_array_equal(found[1], brain.astype(np.float32))
        np.testing.assert_array_equal(found[2], f32.astype(np.float16))
        np.testing.assert_array_equal(
            found[3].astype(np.float32), f32.astype(ml_dtypes.bfloat16).astype(np.float32)
        )


def test_exp_is_accurate_everywhere() -> None:
    x = np.linspace(-87, 88.7, 200_001).astype(np.float32)
    (got,) = run(len(x), [x], [lambda v, _: call("exp", v[0])], vector=True)
    assert ulps(got, np.exp(x.astype(np.float64))).max() <= 2
