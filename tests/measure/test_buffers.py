"""Guarded and staggered memory."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.measure.buffers import LINE, PAGE, Arena, GuardedBuffer, Placement, poison

SIZES = (0, 1, 4, 60, 64, PAGE - 4, PAGE, PAGE + 4, 3 * PAGE)


@pytest.mark.parametrize("n_bytes", SIZES)
@pytest.mark.parametrize("align", [4, 64])
def test_a_buffer_is_flush_with_its_guard(n_bytes: int, align: int) -> None:
    at_end = GuardedBuffer(n_bytes, align, Placement("end"))
    assert at_end.address % align == 0
    assert 0 <= -(at_end.address + n_bytes) % PAGE < align
    at_start = GuardedBuffer(n_bytes, align, Placement("start"))
    assert at_start.address % PAGE == 0
    shifted = GuardedBuffer(n_bytes, 4, Placement("start", 4))
    assert shifted.address % PAGE == 4
    for buffer in (at_end, at_start, shifted):
        assert buffer.data.size == n_bytes
        buffer.free()


def test_writes_around_a_buffer_on_its_own_pages_are_seen() -> None:
    for placement, offset in ((Placement("end"), -1), (Placement("start"), 100)):
        buffer = GuardedBuffer(100, 4, placement)
        buffer.data[:] = 1
        assert buffer.is_intact()
        (np.ctypeslib.ctypes.c_uint8).from_address(buffer.address + offset).value = 0
        assert not buffer.is_intact()
        buffer.free()


def test_an_arena_aligns_and_staggers() -> None:
    arena = Arena([100, PAGE, 0, 5000, 64])
    assert all(a % LINE == 0 for a in arena.addresses)
    assert len({a % PAGE for a in arena.addresses}) == 5
    for number in range(5):
        arena.data(number)[:] = number + 1
    assert [int(arena.data(n).sum()) for n in range(5)] == [100, 2 * PAGE, 0, 20000, 320]
    arena.free()


def test_poison_is_nan_for_floats_and_no_likely_integer() -> None:
    for dtype in (np.float64, np.float32, np.float16):
        data = np.zeros(8, dtype)
        poison(data.view(np.uint8), data.dtype)
        assert np.isnan(data).all()
    integers = np.zeros(8, np.int32)
    poison(integers.view(np.uint8), integers.dtype)
    assert not set(integers.tolist()) & {0, 1, -1}
