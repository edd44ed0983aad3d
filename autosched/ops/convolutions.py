"""Conv and ConvTranspose, channels first, in one to three spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autosched.errors import InvalidInput
from autosched.ops.binary_operators import same_dtype
from autosched.ops.broadcasting import axes_of
from autosched.ops.operator import (
    Array,
    Arrays,
    Attribute,
    Attributes,
    Operator,
    Sample,
    Tensors,
    TensorType,
    Types,
    float_type,
    given,
    type_of,
)
from autosched.ops.samples import normal
from autosched.ops.window_attributes import WINDOW_ATTRIBUTES, spatial_rank, windows_of
from autosched.ops.window_references import convolution_reference, transposed_convolution_reference
from autosched.ops.windows import CHANNEL_FIRST, Windows, convolution, transposed_convolution
from autosched.te.workload import Tensor, compute

CONV_ATTRIBUTES = (*WINDOW_ATTRIBUTES, Attribute("group", "int", 1))


def _operands(inputs: Types) -> tuple[TensorType, TensorType]:
    x, w = inputs[:2]
    assert x is not None
    assert w is not None
    spatial_rank(float_type(x))
    same_dtype(inputs)
    if w.rank != x.rank:
        raise InvalidInput(f"weight {w} has to have {x.rank} dimensions, as the data {x}")
    return x, w


def _check_kernel(w: TensorType, attributes: Attributes) -> None:
    kernel = attributes["kernel_shape"]
    if kernel is not None and kernel != w.shape[2:]:
        raise InvalidInput(f"kernel_shape is {kernel}, the weight is {w}")


def _check_groups(x: TensorType, groups: int, per_group: int) -> None:
    if groups < 1 or x.shape[1] != groups * per_group:
        raise InvalidInput(
            f"data {x} has {x.shape[1]} channels; {groups} groups of {per_group} are wanted"
        )


def _check_bias(inputs: Types, channels: int) -> None:
    bias = given(inputs, 2)
    if bias is not None and bias.shape != (channels,):
        raise InvalidInput(f"bias {bias} has to have shape ({channels},)")


def conv_windows(inputs: Types, attributes: Attributes) -> Windows:
    x, w = inputs[:2]
    assert x is not None
    assert w is not None
    return windows_of(x.shape[2:], w.shape[2:], attributes)


def _infer_conv(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x, w = _operands(inputs)
    _check_kernel(w, attributes)
    _check_groups(x, attributes["group"], w.shape[1])
    if w.shape[0] % attributes["group"]:
        raise InvalidInput(f"weight {w}: {attributes['group']} groups do not divide {w.shape[0]}")
    _check_bias(inputs, w.shape[0])
    output = conv_windows(inputs, attributes).output(x.shape[2:])
    return (TensorType((x.shape[0], w.shape[0], *output), x.dtype),)


def with_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    """One value a channel added; channels are the second dimension."""
    if bias is None:
        return y
    (z,) = compute("biased", axes_of(y.static_shape), lambda *at: y[at] + bias[at[1]])
    return z


def _te_conv(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    x, w = inputs[:2]
    assert x is not None
    assert w is not None
    windows = conv_windows([type_of(t) for t in inputs], attributes)
    y = convolution(x, w, windows, CHANNEL_FIRST, attributes["group"])
    return (with_bias(y, given(inputs, 2)),)


def _channel_last(x: Array) -> Array:
    return np.moveaxis(x, 1, -1)


def _conv_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x, w, bias = inputs[0], inputs[1], given(inputs, 2)
    assert x is not None
    assert w is not None
    windows = windows_of(x.shape[2:], w.shape[2:], attributes)
    taps_first = np.moveaxis(w, (0, 1), (-1, -2))
    y = convolution_reference(_channel_last(x), taps_first, windows, attributes["group"])
    return (np.moveaxis(y if bias is None else y + bias, -1, 1),)


def _conv_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    def case(
        label: str, x: Sequence[int], w: Sequence[int], bias: bool = False, **more: object
    ) -> Sample:
        extra = (normal(random, w[0]),) if bias else ()
        return Sample(label, (normal(random, *x), normal(random, *w), *extra), dict(more))

    special = normal(random, 1, 2, 4, 4)
    special[0, 0, 1, 1], special[0, 1, 3, 3] = np.nan, np.inf
    return (
        case("3x3 same", (2, 3, 7, 5), (4, 3, 3, 3), True, pads=[1, 1, 1, 1]),
        case("1x1", (1, 5, 3, 4), (6, 5, 1, 1), True),
        case("strided, asymmetric", (1, 3, 8, 9), (2, 3, 3, 2), strides=[2, 3], pads=[0, 2, 1, 0]),
        case("dilated", (1, 2, 9, 9), (3, 2, 3, 3), dilations=[2, 3], pads=[2, 3, 2, 3]),
        case("grouped", (2, 6, 5, 5), (9, 2, 3, 3), True, group=3, pads=[1, 1, 1, 1]),
        case("depthwise", (1, 5, 6, 6), (5, 1, 3, 3), group=5, pads=[1, 1, 1, 1]),
        case("depthwise, two each", (1, 3, 4, 4), (6, 1, 2, 2), group=3),
        case("one dimension", (2, 3, 11), (4, 3, 5), True, pads=[2, 2], strides=[2]),
        case("three dimensions", (1, 2, 4, 5, 3), (3, 2, 2, 3, 1), pads=[1, 0, 0, 0, 1, 0]),
        case("same upper", (1, 2, 6, 7), (2, 2, 3, 4), auto_pad="SAME_UPPER", strides=[2, 2]),
        case("same lower", (1, 2, 6, 7), (2, 2, 4, 3), auto_pad="SAME_LOWER", strides=[2, 2]),
        case("valid", (1, 2, 6, 7), (2, 2, 3, 3), auto_pad="VALID"),
        case("window of padding alone", (1, 1, 1, 1), (1, 1, 3, 3), pads=[3, 3, 3, 3]),
        case("no images", (0, 2, 4, 4), (3, 2, 3, 3)),
        case("no window fits", (1, 1, 2, 2), (1, 1, 3, 3)),
        Sample("special values", (special, normal(random, 1, 2, 3, 3)), {"pads": [1, 1, 1, 1]}),
    )


def _conv_length(inputs: Types, _: Attributes) -> int:
    assert inputs[1] is not None
    return int(np.prod(inputs[1].shape[1:], dtype=np.int64))


TRANSPOSE_ATTRIBUTES = (
    *CONV_ATTRIBUTES,
    Attribute("output_padding", "ints"),
    Attribute("output_shape", "ints"),
)


def transposed_geometry(
    x: TensorType, w: TensorType, attributes: Attributes
) -> tuple[Windows, tuple[int, ...]]:
    """Windows and spatial output extents; a wanted output shape decides the padding."""
    rank = x.rank - 2
    plain = {**attributes, "auto_pad": "NOTSET"}
    windows = windows_of(x.shape[2:], w.shape[2:], plain)
    extra = tuple(attributes["output_padding"] or (0,) * rank)
    if len(extra) != rank:
        raise InvalidInput(f"output_padding is {extra}; {rank} integers are wanted")
    wanted = attributes["output_shape"]
    auto_pad = attributes["auto_pad"]
    if wanted is None and auto_pad in ("NOTSET", "VALID"):
        return windows, windows.transposed_output(x.shape[2:], extra)
    if wanted is None:
        wanted = tuple(n * s for n, s in zip(x.shape[2:], windows.stride, strict=True))
    unpadded = Windows(windows.kernel, windows.stride, windows.dilation, (0,) * rank, (0,) * rank)
    full = unpadded.transposed_output(x.shape[2:], extra)
    total = [max(f - n, 0) for f, n in zip(full, wanted[-rank:], strict=True)]
    less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    before, after = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
    return Windows(windows.kernel, windows.stride, windows.dilation, before, after), tuple(
        wanted[-rank:]
    )


def _infer_transpose(inputs: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    x, w = _operands(inputs)
    _check_kernel(w, attributes)
    groups = attributes["group"]
    if groups < 1 or x.shape[1] != w.shape[0] or w.shape[0] % groups:
        raise InvalidInput(f"data {x} and weight {w} do not fit in {groups} groups")
    _check_bias(inputs, w.shape[1] * groups)
    _, output = transposed_geometry(x, w, attributes)
    return (TensorType((x.shape[0], w.shape[1] * groups, *output), x.dtype),)


def _te_transpose(inputs: Tensors, attributes: Attributes) -> tuple[Tensor, ...]:
    x, w = inputs[:2]
    assert x is not None
    assert w is not None
    windows, output = transposed_geometry(
        TensorType(x.static_shape, x.dtype), TensorType(w.static_shape, w.dtype), attributes
    )
    groups = attributes["group"]
    y = transposed_convolution(x, w, windows, CHANNEL_FIRST, output, groups=groups)
    return (with_bias(y, given(inputs, 2)),)


def _transpose_reference(inputs: Arrays, attributes: Attributes) -> tuple[Array, ...]:
    x, w, bias = inputs[0], inputs[1], given(inputs, 2)
    assert x is not None
    assert w is not None
    windows, output = transposed_geometry(
        TensorType(x.shape, "float32"), TensorType(w.shape, "float32"), attributes
    )
    groups = attributes["group"]
    taps_first = np.moveaxis(w, (0, 1), (-2, -1))
    parts = np.split(taps_first, groups, axis=-2)
    joined = np.concatenate(parts, axis=-1)
    y = transposed_convolution_reference(_channel_last(x), joined, windows, output, groups)
    return (np.moveaxis(y if bias is None else y + bias, -1, 1),)


def _transpose_samples(random: np.random.Generator) -> tuple[Sample, ...]:
    def case(
        label: str, x: Sequence[int], w: Sequence[int], bias: int = 0, **more: object
    ) -> Sample:
        extra = (normal(random, bias),) if bias else ()
        return Sample(label, (normal(random, *x), normal(random, *w), *extra), dict(more))

    return (
        case("phases", (1, 3, 4, 5), (3, 2, 4, 4), 2, strides=[2, 2], pads=[1, 1, 1, 1]),
        case("kernel no multiple", (2, 2, 4, 3), (2, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
        case("odd output", (1, 2, 4, 3), (2, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
        case("stride above kernel", (1, 2, 3, 3), (2, 2, 2, 2), strides=[3, 3], output_padding=[1, 1]),
        case("dilated", (1, 2, 5, 5), (2, 1, 3, 3), dilations=[2, 2], strides=[1, 2]),
        case("grouped", (1, 4, 3, 3), (4, 3, 2, 2), 6, group=2, strides=[2, 2]),
        case("one dimension", (2, 3, 7), (3, 4, 5), 4, strides=[1], pads=[2, 1]),
        case("three dimensions", (1, 2, 2, 3, 2), (2, 2, 2, 2, 2), strides=[2, 2, 2]),
        case("same upper", (1, 2, 5, 4), (2, 2, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]),
        case("output shape", (1, 1, 3, 3), (1, 1, 3, 3), strides=[3, 2], output_shape=[10, 8], output_padding=[1, 1]),
        case("one element", (1, 1, 1, 1), (1, 1, 1, 1), strides=[2, 2]),
    )  # fmt: skip


def _transpose_length(inputs: Types, attributes: Attributes) -> int:
    assert inputs[1] is not None
    w = inputs[1].shape
    return int(w[0] // attributes["group"] * np.prod(w[2:], dtype=np.int64))


CONVOLUTION_OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Conv",
        _infer_conv,
        _te_conv,
        _conv_reference,
        _conv_samples,
        CONV_ATTRIBUTES,
        (2, 3),
        reduction_length=_conv_length,
    ),
    Operator(
        "ConvTranspose",
        _infer_transpose,
        _te_transpose,
        _transpose_reference,
        _transpose_samples,
        TRANSPOSE_ATTRIBUTES,
        (2, 3),
        reduction_length=_transpose_length,
    ),
)
