"""Softmax in stages: the maximum, exponentials of the difference, their sum, the quotient."""

from __future__ import annotations

from autosched.te.expr import Expr, call
from autosched.te.integer import Int
from autosched.te.workload import Reduction, Tensor, compute, reduce_over


def axis_names(rank: int) -> list[str]:
    return [f"a{d}" for d in range(rank)]


def reduced(x: Tensor, axis: int, combiner: str, name: str) -> Tensor:
    """`x` combined over one axis, which is dropped."""
    shape = x.static_shape
    kept = [d for d in range(len(shape)) if d != axis]
    axes = {f"a{d}": shape[d] for d in kept}

    def body(*at: Int) -> Reduction:
        def term(k: Int) -> Expr:
            return x[(*at[:axis], k, *at[axis:])]

        return reduce_over(combiner, {"k": shape[axis]}, term)

    (y,) = compute(name, dict(axes), body)
    return y


def _without(at: tuple[Int, ...], axis: int) -> tuple[Int, ...]:
    return (*at[:axis], *at[axis + 1 :])


def softmax(x: Tensor, axis: int) -> Tensor:
    """exp(x - max) * (1 / sum(exp(x - max))) along `axis`: one division a row, and the sum is at least 1."""
    top = reduced(x, axis, "max", "top")
    axes = dict(zip(axis_names(len(x.shape)), x.shape, strict=True))
    (powers,) = compute(
        "powers", dict(axes), lambda *at: call("exp", x[at] - top[_without(at, axis)])
    )
    total = reduced(powers, axis, "sum", "total")
    (y,) = compute(
        "softmax", dict(axes), lambda *at: powers[at] * (1.0 / total[_without(at, axis)])
    )
    return y


def log_softmax(x: Tensor, axis: int) -> Tensor:
    """(x - max) - log(sum(exp(x - max))) along `axis`."""
    top = reduced(x, axis, "max", "top")
    axes = dict(zip(axis_names(len(x.shape)), x.shape, strict=True))
    (shifted,) = compute("shifted", dict(axes), lambda *at: x[at] - top[_without(at, axis)])
    (powers,) = compute("powers", dict(axes), lambda *at: call("exp", shifted[at]))
    total = reduced(powers, axis, "sum", "total")
    (y,) = compute(
        "log_softmax", dict(axes), lambda *at: shifted[at] - call("log", total[_without(at, axis)])
    )
    return y
