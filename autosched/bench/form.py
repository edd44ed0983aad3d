"""A case in the form that libraries have operators for: channel-first convolutions, matrix products, softmax.

The capsule convolution is a plain one over (capsule row, channel):
    out[n,h,w,i,j,f] = sum x[n,h',w',i,k,c] w[r,s,k,j,c,f]   ->   conv(x[n*i, (k,c), h', w'], w[(j,f), (k,c), r, s])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Arguments = Mapping[str, int]


@dataclass(frozen=True)
class Convolution:
    """`data` is (N, C, spatial), `weight` (Co, C / groups, kernel), or (C, Co, kernel) if transposed."""

    data: tuple[int, ...]
    weight: tuple[int, ...]
    stride: int
    padding: int
    dilation: int = 1
    groups: int = 1
    transposed: bool = False
    bias_and_relu: bool = False


@dataclass(frozen=True)
class MatrixProduct:
    """Neither operand is constant."""

    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class Norm:
    """The 2-norm over all but the first dimension."""

    data: tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """softmax(query key^T) a head; both operands are (N, seq, heads, dim)."""

    operand: tuple[int, ...]


@dataclass(frozen=True)
class Softmax:
    """Over the last axis."""

    data: tuple[int, ...]


Form = Convolution | MatrixProduct | Norm | Scores | Softmax


def _spatial(args: Arguments) -> tuple[int, ...]:
    return tuple(args[n] for n in ("depth", "length", "height", "width") if n in args)


def _convolution(batch: int, args: Arguments) -> Convolution:
    space = _spatial(args)
    groups = args.get("groups", 1)
    return Convolution(
        data=(batch, args["in_channels"], *space),
        weight=(
            args["out_channels"],
            args["in_channels"] // groups,
            *(args["kernel"],) * len(space),
        ),
        stride=args.get("stride", 1),
        padding=args.get("padding", 0),
        dilation=args.get("dilation", 1),
        groups=groups,
    )


def _convolution_bias_relu(batch: int, args: Arguments) -> Convolution:
    """Batch-norm is constant and folds into weight and bias, for every library as for us."""
    plain = _convolution(batch, args)
    return Convolution(plain.data, plain.weight, plain.stride, plain.padding, bias_and_relu=True)


def _depthwise(batch: int, args: Arguments) -> Convolution:
    channels, space = args["channels"], _spatial(args)
    kernel = (args["kernel"],) * len(space)
    return Convolution(
        (batch, channels, *space),
        (channels, 1, *kernel),
        args.get("stride", 1),
        args.get("padding", 0),
        groups=channels,
    )


def _transposed(batch: int, args: Arguments) -> Convolution:
    space = _spatial(args)
    weight = (args["in_channels"], args["out_channels"], *(args["kernel"],) * len(space))
    data = (batch, args["in_channels"], *space)
    return Convolution(data, weight, args["stride"], args["padding"], transposed=True)


def _capsule(batch: int, args: Arguments) -> Convolution:
    side, space = args["capsule"], _spatial(args)
    n_in, n_out = side * args["in_channels"], side * args["out_channels"]
    kernel = (args["kernel"],) * len(space)
    return Convolution(
        (batch * side, n_in, *space),
        (n_out, n_in, *kernel),
        args.get("stride", 1),
        args.get("padding", 0),
    )


def _product(batch: int, args: Arguments) -> MatrixProduct:
    left, right = (args["n"], args["k"]), (args["k"], args["m"])
    return (
        MatrixProduct(left, right) if batch == 1 else MatrixProduct((batch, *left), (batch, *right))
    )


FORMS: Mapping[str, Callable[[int, Arguments], Form]] = {
    "C1D": _convolution,
    "C2D": _convolution,
    "C3D": _convolution,
    "GRP": _convolution,
    "DIL": _convolution,
    "DEP": _depthwise,
    "T2D": _transposed,
    "CAP": _capsule,
    "CBR": _convolution_bias_relu,
    "GMM": _product,
    "NRM": lambda batch, args: Norm((batch, args["m"], args["n"])),
    "TBS": lambda batch, args: Scores((batch, args["seq"], args["heads"], args["dim"])),
    "SFM": lambda batch, args: Softmax((batch * args["m"], args["n"])),
}
"""Kind of the suite -> its form at a batch size."""


def form_of(kind: str, batch: int, args: Arguments) -> Form:
    return FORMS[kind](batch, args)


def random_array(shape: tuple[int, ...], seed: int) -> Array:
    """Normal, small enough that long sums stay near 1."""
    rng = np.random.default_rng(seed)
    scale = 1.0 / math.sqrt(math.prod(shape[1:]) or 1) if len(shape) > 3 else 0.1
    return (rng.standard_normal(shape) * scale).astype(np.float32)
