"""The 13 operator kinds of the shipped suite, channel-last: shapes, meaning in te and NumPy reference.

Their constants are weights, bias, scale and offset; GMM and TBS have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autosched.ops.softmax_stages import softmax
from autosched.ops.window_references import (
    convolution_reference,
    padded,
    tap_view,
    transposed_convolution_reference,
)
from autosched.ops.windows import (
    CHANNEL_LAST,
    Windows,
    convolution,
    guarded,
    inside,
    transposed_convolution,
)
from autosched.te.expr import Expr, call, maximum_of
from autosched.te.integer import Int
from autosched.te.workload import Reduction, Tensor, compute, placeholder, reduce_over

Array = np.ndarray[Any, Any]
Arguments = Mapping[str, int]


@dataclass(frozen=True)
class Operand:
    """An input of a case."""

    name: str
    shape: tuple[int, ...]
    constant: bool = False


@dataclass(frozen=True)
class SuiteKind:
    """`operands(batch, args)`; `te` and `reference` take the operands in that order, then the args."""

    name: str
    operands: Callable[[int, Arguments], tuple[Operand, ...]]
    te: Callable[[Sequence[Tensor], Arguments], Tensor]
    reference: Callable[[Sequence[Array], Arguments], Array]

    def inputs(self, batch: int, args: Arguments) -> tuple[Tensor, ...]:
        return tuple(
            placeholder(o.name, o.shape, constant=o.constant) for o in self.operands(batch, args)
        )


def case_windows(args: Arguments) -> Windows:
    """The same kernel, stride, dilation and padding in every spatial dimension of the case."""
    rank = len(_spatial(args))

    def every(name: str, default: int = 1) -> tuple[int, ...]:
        return (args.get(name, default),) * rank

    padding = every("padding", 0)
    return Windows(every("kernel"), every("stride"), every("dilation"), padding, padding)


def _spatial(args: Arguments) -> tuple[int, ...]:
    return tuple(args[n] for n in ("depth", "length", "height", "width") if n in args)


def _conv_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    kernel = case_windows(args).kernel
    n_in, n_out = args["in_channels"], args["out_channels"]
    data = Operand("data", (batch, *_spatial(args), n_in))
    return data, Operand("weight", (*kernel, n_in // args.get("groups", 1), n_out), True)


def _conv(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    windows = case_windows(args)
    return convolution(inputs[0], inputs[1], windows, CHANNEL_LAST, args.get("groups", 1))


def _conv_reference(inputs: Sequence[Array], args: Arguments) -> Array:
    windows = case_windows(args)
    return convolution_reference(inputs[0], inputs[1], windows, args.get("groups", 1))


def _depthwise_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    kernel, channels = case_windows(args).kernel, args["channels"]
    data = Operand("data", (batch, *_spatial(args), channels))
    return data, Operand("weight", (*kernel, channels), True)


def _depthwise(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    x, w = inputs
    windows, extents = case_windows(args), x.static_shape[1:3]
    height, width = windows.output(extents)
    axes = {"n": x.static_shape[0], "h": height, "w": width, "c": x.static_shape[-1]}

    def body(n: Int, h: Int, v: Int, c: Int) -> Reduction:
        def term(r: Int, s: Int) -> Expr:
            where = windows.position(0, h, r), windows.position(1, v, s)
            test = inside(where, extents, [args["padding"] > 0] * 2)
            return guarded(test, x[(n, *where, c)]) * w[r, s, c]

        return reduce_over("sum", {"rh": args["kernel"], "rw": args["kernel"]}, term)

    (y,) = compute("conv", dict(axes), body)
    return y


def _depthwise_reference(inputs: Sequence[Array], args: Arguments) -> Array:
    x, w = inputs
    diagonal = w[..., None, :]
    return convolution_reference(x, diagonal, case_windows(args), x.shape[-1])


def _transposed_output(args: Arguments) -> tuple[int, ...]:
    return case_windows(args).transposed_output(_spatial(args), (0, 0))


def _transposed(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    windows, output = case_windows(args), _transposed_output(args)
    return transposed_convolution(inputs[0], inputs[1], windows, CHANNEL_LAST, output)


def _transposed_reference(inputs: Sequence[Array], args: Arguments) -> Array:
    output = _transposed_output(args)
    return transposed_convolution_reference(inputs[0], inputs[1], case_windows(args), output)


def _capsule_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    kernel, side = case_windows(args).kernel, args["capsule"]
    data = Operand("data", (batch, *_spatial(args), side, side, args["in_channels"]))
    weight = (*kernel, side, side, args["in_channels"], args["out_channels"])
    return data, Operand("weight", weight, True)


def _capsule(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    """A product of two small matrices at each tap and channel."""
    x, w = inputs
    windows, extents, side = case_windows(args), x.static_shape[1:3], args["capsule"]
    height, width = windows.output(extents)
    outer = {"n": x.static_shape[0], "h": height, "w": width}
    axes = outer | {"i": side, "j": side, "f": args["out_channels"]}
    reduce = {"rh": args["kernel"], "rw": args["kernel"], "rk": side, "rc": args["in_channels"]}

    def body(*at: Int) -> Reduction:
        n, h, v, i, j, f = at

        def term(r: Int, s: Int, k: Int, c: Int) -> Expr:
            where = windows.position(0, h, r), windows.position(1, v, s)
            test = inside(where, extents, [args["padding"] > 0] * 2)
            return guarded(test, x[(n, *where, i, k, c)]) * w[r, s, k, j, c, f]

        return reduce_over("sum", dict(reduce), term)

    (y,) = compute("capsule", dict(axes), body)
    return y


def _capsule_reference(inputs: Sequence[Array], args: Arguments) -> Array:
    x, w = inputs
    windows, side = case_windows(args), args["capsule"]
    output = windows.output(x.shape[1:3])
    extended = padded(x.reshape(*x.shape[:3], -1), windows)
    result = np.zeros((x.shape[0], *output, side, side, w.shape[-1]), np.result_type(x, w))
    for r in range(args["kernel"]):
        for s in range(args["kernel"]):
            part = tap_view(extended, windows, (r, s), output)
            matrices = part.reshape(x.shape[0], *output, side, side, x.shape[-1])
            result += np.einsum("nhwikc,kjcf->nhwijf", matrices, w[r, s], optimize=True)
    return result


def _fused_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    rows = tuple(Operand(n, (args["out_channels"],), True) for n in ("bias", "scale", "offset"))
    return (*_conv_operands(batch, args), *rows)


def _fused(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    """Convolution, then bias, scale and offset, and relu, a stage each."""
    _, _, bias, scale, offset = inputs
    y = _conv(inputs[:2], args)
    axes = dict(zip(("n", "h", "w", "f"), y.shape, strict=True))
    (b,) = compute("bias_add", dict(axes), lambda n, h, w, f: y[n, h, w, f] + bias[f])
    (s,) = compute("scaled", dict(axes), lambda n, h, w, f: b[n, h, w, f] * scale[f] + offset[f])
    (r,) = compute("relu", dict(axes), lambda n, h, w, f: maximum_of(s[n, h, w, f], 0.0))
    return r


def _fused_reference(inputs: Sequence[Array], args: Arguments) -> Array:
    _, _, bias, scale, offset = inputs
    result: Array = np.maximum((_conv_reference(inputs[:2], args) + bias) * scale + offset, 0)
    return result


def _matmul_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    left = Operand("left", (batch, args["n"], args["k"]))
    return left, Operand("right", (batch, args["k"], args["m"]))


def _matmul(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    a, b = inputs
    axes = {"b": a.static_shape[0], "i": args["n"], "j": args["m"]}
    (y,) = compute(
        "matmul",
        dict(axes),
        lambda n, i, j: reduce_over("sum", {"k": args["k"]}, lambda k: a[n, i, k] * b[n, k, j]),
    )
    return y


def _norm_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    return (Operand("data", (batch, args["m"], args["n"])),)


def _norm(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    (x,) = inputs
    reduce = {"i": args["m"], "j": args["n"]}
    (s,) = compute(
        "squares",
        {"b": x.shape[0]},
        lambda b: reduce_over("sum", dict(reduce), lambda i, j: x[b, i, j] * x[b, i, j]),
    )
    (y,) = compute("norm", {"b": x.shape[0]}, lambda b: call("sqrt", s[b]))
    return y


def _scores_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    shape = (batch, args["seq"], args["heads"], args["dim"])
    return Operand("query", shape), Operand("key", shape)


def _scores(inputs: Sequence[Tensor], args: Arguments) -> Tensor:
    """Two transposes, a batched matrix product, softmax over the keys."""
    query, key = inputs
    seq, heads, dim = args["seq"], args["heads"], args["dim"]
    outer: dict[str, Int | int] = {"n": query.shape[0], "h": heads}
    (q,) = compute("query_t", {**outer, "s": seq, "d": dim}, lambda n, h, s, d: query[n, s, h, d])
    (k,) = compute("key_t", {**outer, "d": dim, "s": seq}, lambda n, h, d, s: key[n, s, h, d])
    (scores,) = compute(
        "scores",
        {**outer, "i": seq, "j": seq},
        lambda n, h, i, j: reduce_over("sum", {"d": dim}, lambda d: q[n, h, i, d] * k[n, h, d, j]),
    )
    return softmax(scores, 3)


def _softmax_reference(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True)
    return result


def _softmax_operands(batch: int, args: Arguments) -> tuple[Operand, ...]:
    return (Operand("data", (batch * args["m"], args["n"])),)


KINDS: Mapping[str, SuiteKind] = {
    kind.name: kind
    for kind in (
        *(SuiteKind(n, _conv_operands, _conv, _conv_reference) for n in ("C1D", "C2D", "C3D")),
        *(SuiteKind(n, _conv_operands, _conv, _conv_reference) for n in ("GRP", "DIL")),
        SuiteKind("DEP", _depthwise_operands, _depthwise, _depthwise_reference),
        SuiteKind("T2D", _conv_operands, _transposed, _transposed_reference),
        SuiteKind("CAP", _capsule_operands, _capsule, _capsule_reference),
        SuiteKind("CBR", _fused_operands, _fused, _fused_reference),
        SuiteKind("GMM", _matmul_operands, _matmul, lambda x, _: np.matmul(x[0], x[1])),
        SuiteKind(
            "NRM", _norm_operands, _norm, lambda x, _: np.sqrt(np.square(x[0]).sum(axis=(1, 2)))
        ),
        SuiteKind(
            "TBS",
            _scores_operands,
            _scores,
            lambda x, _: _softmax_reference(np.einsum("nihd,njhd->nhij", x[0], x[1])),
        ),
        SuiteKind(
            "SFM",
            _softmax_operands,
            lambda x, _: softmax(x[0], 1),
            lambda x, _: _softmax_reference(x[0]),
        ),
    )
}
