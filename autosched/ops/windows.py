"""Sliding windows in te: convolutions and their transposes over one to three dimensions, in either layout.

A convolution reads the unpadded tensor: padding is a select on the padded position, directly in the
reduction's body, so that a schedule may keep it, hoist it or pack it. Groups are an axis of their own.
A transposed convolution is written in phases where it can be: output axis h is stride*q + p, and only
the taps that meet phase p are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autosched.ops.views import viewed
from autosched.te.dtype import is_float
from autosched.te.expr import Const, Expr, Select, condition
from autosched.te.integer import Int, all_of, as_int, ceil_div, equal, less, less_equal
from autosched.te.workload import Reduction, Tensor, compute, reduce_over

SPATIAL_NAMES = ("d", "h", "w")


@dataclass(frozen=True)
class Windows:
    """Geometry of a window, one entry a spatial dimension; `before` and `after` are the padding."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def names(self) -> tuple[str, ...]:
        return SPATIAL_NAMES[-self.rank :]

    def output(self, extents: Sequence[int], ceil_mode: bool = False) -> tuple[int, ...]:
        """Positions of the window in each dimension, at least 0."""
        return tuple(
            max(self._positions(d, extent, ceil_mode), 0) for d, extent in enumerate(extents)
        )

    def _positions(self, d: int, extent: int, ceil_mode: bool) -> int:
        span = self.dilation[d] * (self.kernel[d] - 1) + 1
        free = extent + self.before[d] + self.after[d] - span
        positions = (-(-free // self.stride[d]) if ceil_mode else free // self.stride[d]) + 1
        starts_in_padding = (positions - 1) * self.stride[d] >= extent + self.before[d]
        return positions - 1 if ceil_mode and starts_in_padding else positions

    def transposed_output(self, extents: Sequence[int], extra: Sequence[int]) -> tuple[int, ...]:
        """Extents of the transposed convolution's output; `extra` is added at the end."""
        return tuple(
            self.stride[d] * (extent - 1)
            + extra[d]
            + self.dilation[d] * (self.kernel[d] - 1)
            + 1
            - self.before[d]
            - self.after[d]
            for d, extent in enumerate(extents)
        )

    def position(self, d: int, at: Int, tap: Int) -> Int:
        """Where tap `tap` of window `at` reads the unpadded tensor."""
        return at * self.stride[d] + tap * self.dilation[d] - self.before[d]


@dataclass(frozen=True)
class Layout:
    """Where the channel stands: `channel_last` (N, spatial, C) with weights (taps, Ci, Co), or (N, C,
    spatial) with weights (Co, Ci, taps)."""

    channel_last: bool

    def data(self, n: Int, spatial: Sequence[Int], *channel: Int) -> tuple[Int, ...]:
        return (n, *spatial, *channel) if self.channel_last else (n, *channel, *spatial)

    def weight(self, taps: Sequence[Int], c: Int, f: Int) -> tuple[Int, ...]:
        return (*taps, c, f) if self.channel_last else (f, c, *taps)

    def transposed_weight(self, taps: Sequence[Int], c: Int, f: Int) -> tuple[Int, ...]:
        """ONNX keeps (Ci, Co, taps) here."""
        return (*taps, c, f) if self.channel_last else (c, f, *taps)

    def spatial(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(shape[1:-1]) if self.channel_last else tuple(shape[2:])

    def channels(self, shape: Sequence[int]) -> int:
        return shape[-1] if self.channel_last else shape[1]

    def axes(self, batch: int, spatial: dict[str, int], channel: dict[str, int]) -> dict[str, int]:
        """Axes of an output in memory order, batch first."""
        parts = (spatial, channel) if self.channel_last else (channel, spatial)
        return {"n": batch} | parts[0] | parts[1]


CHANNEL_LAST = Layout(True)
CHANNEL_FIRST = Layout(False)


def inside(positions: Sequence[Int], extents: Sequence[int], padded: Sequence[bool]) -> Int:
    """1 where every position of a padded dimension lies in the tensor."""
    tests = [
        test
        for position, extent, is_padded in zip(positions, extents, padded, strict=True)
        if is_padded
        for test in (less_equal(0, position), less(position, extent))
    ]
    return all_of(tests)


def guarded(test: Int, value: Expr, otherwise: float = 0.0) -> Expr:
    """The value where the test holds; no select where it always does."""
    if test.is_constant and test.value:
        return value
    fill = otherwise if is_float(value.dtype) else int(otherwise)
    return Select(condition(test), value, Const(fill, value.dtype))


def convolution(x: Tensor, w: Tensor, windows: Windows, layout: Layout, groups: int = 1) -> Tensor:
    """Convolution of `x` with `w`; shape (N, spatial, Co) or (N, Co, spatial)."""
    extents = layout.spatial(x.static_shape)
    padded = [b > 0 or a > 0 for b, a in zip(windows.before, windows.after, strict=True)]
    n_in = layout.channels(x.static_shape) // groups
    n_out = (w.static_shape[-1] if layout.channel_last else w.static_shape[0]) // groups
    outputs = dict(zip(windows.names, windows.output(extents), strict=True))
    channel = {"f": n_out} if groups == 1 else {"g": groups, "f": n_out}
    axes = layout.axes(x.static_shape[0], outputs, channel)
    order = list(axes)

    def body(*symbols: Int) -> Reduction:
        at = dict(zip(order, symbols, strict=True))
        group = at.get("g", as_int(0))

        def term(*reduced: Int) -> Expr:
            taps, c = _taps_and_channel(reduced, layout)
            where = [windows.position(d, at[n], taps[d]) for d, n in enumerate(windows.names)]
            value = x[layout.data(at["n"], where, group * n_in + c)]
            test = inside(where, extents, padded)
            return guarded(test, value) * w[layout.weight(taps, c, group * n_out + at["f"])]

        return reduce_over("sum", _reduced_axes(windows.names, windows.kernel, n_in, layout), term)

    (y,) = compute("conv", dict(axes), body)
    return viewed(y, tuple(layout.axes(axes["n"], outputs, {"f": groups * n_out}).values()))


def _reduced_axes(
    names: Sequence[str], kernel: Sequence[int], n_in: int, layout: Layout
) -> dict[str, Int | int]:
    taps: dict[str, Int | int] = {f"r{n}": k for n, k in zip(names, kernel, strict=True)}
    channel: dict[str, Int | int] = {"rc": n_in}
    return taps | channel if layout.channel_last else channel | taps


def _taps_and_channel(reduced: Sequence[Int], layout: Layout) -> tuple[tuple[Int, ...], Int]:
    if layout.channel_last:
        return tuple(reduced[:-1]), reduced[-1]
    return tuple(reduced[1:]), reduced[0]


def transposed_convolution(
    x: Tensor,
    w: Tensor,
    windows: Windows,
    layout: Layout,
    output: tuple[int, ...],
    *,
    groups: int = 1,
) -> Tensor:
    """Transposed convolution to spatial extents `output`."""
    phased = tuple(
        extent % stride == 0 and stride > 1 and dilation == 1
        for extent, stride, dilation in zip(output, windows.stride, windows.dilation, strict=True)
    )
    return _TransposedConvolution(x, w, windows, layout, output, phased, groups).tensor()


@dataclass(frozen=True)
class _Taps:
    """What a dimension sums over at one output position: how many taps, which tap of the kernel, where it
    reads, and when it counts."""

    at: Int
    phase: Int | None

    def tap(self, windows: Windows, d: int, tap: Int) -> Int:
        if self.phase is None:
            return tap
        return tap * windows.stride[d] + (self.phase + windows.before[d]) % windows.stride[d]

    def numerator(self, windows: Windows, d: int, tap: Int) -> Int:
        return self.at + windows.before[d] - tap * windows.dilation[d]

    def position(self, windows: Windows, d: int, tap: Int) -> Int:
        if self.phase is None:
            return self.numerator(windows, d, tap) // windows.stride[d]
        return self.at + (self.phase + windows.before[d]) // windows.stride[d] - tap

    def tests(self, windows: Windows, d: int, tap: Int, extent: int) -> list[Int]:
        position = self.position(windows, d, tap)
        tests = [less_equal(0, position), less(position, extent)]
        if self.phase is None and windows.stride[d] > 1:
            tests.append(equal(self.numerator(windows, d, tap) % windows.stride[d], 0))
        return tests

    def weight_tests(self, windows: Windows, d: int, tap: Int) -> list[Int]:
        """A kernel that is no multiple of the stride has fewer taps in some phases."""
        if self.phase is None or windows.kernel[d] % windows.stride[d] == 0:
            return []
        return [less(self.tap(windows, d, tap), windows.kernel[d])]


@dataclass(frozen=True)
class _TransposedConvolution:
    x: Tensor
    w: Tensor
    windows: Windows
    layout: Layout
    output: tuple[int, ...]
    phased: tuple[bool, ...]
    groups: int

    def tensor(self) -> Tensor:
        spatial: dict[str, int] = {}
        for d, name in enumerate(self.windows.names):
            stride = self.windows.stride[d]
            if self.phased[d]:
                spatial |= {f"{name}q": self.output[d] // stride, f"{name}p": stride}
            else:
                spatial[name] = self.output[d]
        n_out = self.w.static_shape[-1 if self.layout.channel_last else 1]
        n_out //= self.groups if self.layout.channel_last else 1
        channel = {"f": n_out} if self.groups == 1 else {"g": self.groups, "f": n_out}
        axes = self.layout.axes(self.x.static_shape[0], spatial, channel)
        (y,) = compute("conv", dict(axes), lambda *s: self._body(dict(zip(axes, s, strict=True))))
        natural = dict(zip(self.windows.names, self.output, strict=True))
        shape = self.layout.axes(axes["n"], natural, {"f": self.groups * n_out})
        return viewed(y, tuple(shape.values()))

    def _body(self, at: dict[str, Int]) -> Reduction:
        windows, layout = self.windows, self.layout
        n_in = layout.channels(self.x.static_shape) // self.groups
        extents = layout.spatial(self.x.static_shape)
        group = at.get("g", as_int(0))
        dims = [
            _Taps(at[f"{n}q"], at[f"{n}p"]) if self.phased[d] else _Taps(at[n], None)
            for d, n in enumerate(windows.names)
        ]

        def term(*reduced: Int) -> Expr:
            taps, c = _taps_and_channel(reduced, layout)
            pairs = list(enumerate(zip(dims, taps, strict=True)))
            where = [t.position(windows, d, tap) for d, (t, tap) in pairs]
            tests = [x for d, (t, tap) in pairs for x in t.tests(windows, d, tap, extents[d])]
            used = [t.tap(windows, d, tap) for d, (t, tap) in pairs]
            value = self.x[layout.data(at["n"], where, group * n_in + c)]
            weight = self._weight(used, c, group * n_in, at)
            real = [x for d, (t, tap) in pairs for x in t.weight_tests(windows, d, tap)]
            return guarded(all_of(tests), value) * guarded(all_of(real), weight)

        n_taps = [
            ceil_div(k, s).value if p else k
            for k, s, p in zip(windows.kernel, windows.stride, self.phased, strict=True)
        ]
        return reduce_over("sum", _reduced_axes(windows.names, n_taps, n_in, layout), term)

    def _weight(self, taps: list[Int], c: Int, first: Int, at: dict[str, Int]) -> Expr:
        """Channel-last weights hold (taps, Ci / groups, Co); ONNX's hold (Ci, Co / groups, taps)."""
        if not self.layout.channel_last:
            return self.w[self.layout.transposed_weight(taps, first + c, at["f"])]
        group, n_out = at.get("g", as_int(0)), self.w.static_shape[-1] // self.groups
        return self.w[self.layout.transposed_weight(taps, c, group * n_out + at["f"])]
