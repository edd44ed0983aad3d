"""Arrays are kept within bounds: the ones used last, of any size."""

from __future__ import annotations

import numpy as np
from autosched_workers.cluster.recent import Recent, bytes_of

from autosched.measure.protocol import Check, InputSet


def test_what_was_used_last_is_kept_within_both_bounds() -> None:
    kept = Recent[str](most=3, most_bytes=100)
    for key in "abc":
        kept.keep(key, key.upper(), 10)
    assert kept.get("a") == "A"
    kept.keep("d", "D", 10)
    assert [kept.get(k) for k in "abcd"] == ["A", None, "C", "D"], "b rested longest"
    kept.keep("e", "E", 85)
    assert [kept.get(k) for k in "acde"] == [None, None, "D", "E"], "95 bytes"
    kept.keep("f", "F", 1000)
    assert [kept.get(k) for k in "def"] == [None, None, "F"], "the last one stays"


def test_the_same_key_again_takes_its_place() -> None:
    kept = Recent[str](most=2, most_bytes=100)
    for value in ("old", "new"):
        kept.keep("a", value, 60)
    kept.keep("b", "B", 40)
    assert (kept.get("a"), kept.get("b")) == ("new", "B")


def test_all_arrays_count() -> None:
    inputs = InputSet((np.zeros(4, np.float32),), (np.zeros(2),), (0.0,))
    assert bytes_of(inputs) == 32
    assert bytes_of(Check((inputs, inputs))) == 64
