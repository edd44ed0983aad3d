"""Seconds and microseconds, there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autosched.wire.number import microseconds, seconds


@given(st.floats(1e-9, 1e6))
def test_microseconds_come_back_as_they_were(value: float) -> None:
    us = microseconds(value)
    assert microseconds(seconds(us)) == us
