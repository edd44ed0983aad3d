"""Attributes that convolutions and pools share, and the window geometry they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from autosched.errors import InvalidInput
from autosched.ops.operator import Attribute, Attributes, TensorType
from autosched.ops.windows import Windows

AUTO_PAD = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")

WINDOW_ATTRIBUTES = (
    Attribute("kernel_shape", "ints"),
    Attribute("strides", "ints"),
    Attribute("dilations", "ints"),
    Attribute("pads", "ints"),
    Attribute("auto_pad", "string", "NOTSET", AUTO_PAD),
)


def spatial_rank(x: TensorType) -> int:
    """Spatial dimensions of (N, C, spatial): one to three."""
    if not 3 <= x.rank <= 5:
        raise InvalidInput(f"input {x} has {x.rank - 2} spatial dimensions; supported: 1 to 3")
    return x.rank - 2


def windows_of(
    extents: Sequence[int], kernel: Sequence[int], given: Attributes, ceil_mode: bool = False
) -> Windows:
    """The windows over a tensor of these spatial extents, automatic padding worked out."""
    rank = len(extents)
    sizes = _entries("kernel", kernel, rank, 1)
    stride = _entries("strides", given["strides"] or (1,) * rank, rank, 1)
    dilation = _entries("dilations", given["dilations"] or (1,) * rank, rank, 1)
    auto_pad = given["auto_pad"]
    if auto_pad == "NOTSET":
        pads = _entries("pads", given["pads"] or (0,) * (2 * rank), 2 * rank, 0)
        return Windows(sizes, stride, dilation, pads[:rank], pads[rank:])
    if auto_pad == "VALID":
        return Windows(sizes, stride, dilation, (0,) * rank, (0,) * rank)
    total = [
        max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        for n, s, d, k in zip(extents, stride, dilation, sizes, strict=True)
    ]
    less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    before, after = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
    return Windows(sizes, stride, dilation, before, after)


def _entries(name: str, values: Sequence[int], length: int, least: int) -> tuple[int, ...]:
    found = tuple(values)
    if len(found) != length or any(v < least for v in found):
        raise InvalidInput(f"{name} is {found}; {length} integers of at least {least} are wanted")
    return found
