"""Buffers that live at one time never overlap, and those that do not share memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosched.measure.buffers import LINE
from autosched.runtime.memory import Fresh, Slab, address, block, room
from autosched.runtime.memory_plan import Lifetime, plan_memory

LIFETIMES = st.builds(
    lambda lines, first, steps: Lifetime(lines * LINE, first, first + steps),
    st.integers(0, 40),
    st.integers(0, 9),
    st.integers(0, 9),
)


@given(st.lists(LIFETIMES, max_size=25))
def test_what_lives_together_stands_apart(buffers: list[Lifetime]) -> None:
    plan = plan_memory(buffers)
    spans = [(o, o + b.n_bytes) for o, b in zip(plan.offsets, buffers, strict=True)]
    for i, (first, end) in enumerate(spans):
        assert first % LINE == 0
        assert end <= plan.n_bytes
        for j in range(i):
            if buffers[i].meets(buffers[j]):
                assert end <= spans[j][0] or spans[j][1] <= first
    most = max(sum(b.n_bytes for b in buffers if b.first <= t <= b.last) for t in range(19))
    assert most <= plan.n_bytes <= sum(b.n_bytes for b in buffers)


def test_a_chain_needs_no_more_than_its_two_largest_neighbours() -> None:
    sizes = [64, 640, 128, 320, 64, 64]
    plan = plan_memory([Lifetime(n, i, i + 1) for i, n in enumerate(sizes)])
    assert plan.n_bytes == 640 + 128


@pytest.mark.parametrize("n_bytes", [0, 1, 63, 64, 4095, 4096, 3 << 20])
def test_buffers_are_aligned_and_apart(n_bytes: int) -> None:
    slab = Slab([n_bytes, n_bytes])
    assert all(place % LINE == 0 for place in slab.addresses)
    assert slab.addresses[1] - slab.addresses[0] == room(n_bytes) >= n_bytes
    for i in range(2):
        assert slab.data(i).size == n_bytes
        slab.data(i)[:] = i + 1
    assert (slab.data(0) == 1).all()
    assert not block(n_bytes).any()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7, 5)])
def test_fresh_arrays_have_shape_dtype_and_alignment(shape: tuple[int, ...]) -> None:
    array = Fresh(shape, "float32").array()
    assert array.shape == shape
    assert array.dtype == np.float32
    assert not array.size or address(array) % LINE == 0
