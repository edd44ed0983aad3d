"""Lookup: exact, compatible, nearest or default, with a reason; a pure function of request and store."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autosched.records.lookup import Query, lookup
from autosched.records.memory import MemoryStore
from autosched.records.record import Timing
from autosched.records.store import BestRecord
from autosched.target.target import Target
from autosched.te.workload import text_key
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN_KEY,
    confirmation,
    job_spec,
    ok,
    open_job,
    task_spec,
    trial,
    workload_text,
)

WIDER = replace(
    TARGET,
    features=tuple(sorted({*TARGET.features, "avx512f"})),
    vector_bytes=64,
    core_kind="znver4",
)


def store_winner(
    store: MemoryStore,
    *,
    rows: int = 64,
    target: Target = TARGET,
    toolchain_key: str = TOOLCHAIN_KEY,
    microseconds: float = 50.0,
) -> BestRecord:
    spec = job_spec(target=target, toolchain_key=toolchain_key, seed=rows)
    task_id = open_job(store, spec, target=target, tasks=[task_spec(rows)]).tasks[0][0]
    store.propose(task_id, 0, [trial(task_id, 0)])
    store.close(task_id, 0, ok(microseconds))
    best = store.confirm(confirmation(task_id, {0: microseconds}))
    assert best is not None
    return best


def query(
    rows: int = 64, *, target: Target = TARGET, toolchain_key: str | None = TOOLCHAIN_KEY
) -> Query:
    text = workload_text(rows)
    return Query(text_key(text), target, toolchain_key, text, space_version="1")


def test_own_query_is_exact() -> None:
    store = MemoryStore()
    best = store_winner(store)
    answer = lookup(store, query(), lambda b: b.source_digest)
    assert (answer.match, answer.distance, answer.best) == ("exact", 0.0, best)


def test_any_toolchain_takes_the_fastest() -> None:
    store = MemoryStore()
    store_winner(store, microseconds=50.0)
    faster = store_winner(store, toolchain_key="c1-clang", microseconds=40.0)
    answer = lookup(store, query(toolchain_key=None))
    assert (answer.match, answer.best) == ("exact", faster)


COMPATIBLE = [
    (query(toolchain_key="c1-clang"), "toolchain: have c1-clang"),
    (query(target=WIDER), "avx512f"),
    (query(target=replace(TARGET, threads=8)), "threads: need 2, have 8"),
    (query(target=replace(TARGET, l2_bytes=1 << 20)), "l2_bytes"),
    (replace(query(), space_version="2"), "space version '1'"),
]


@pytest.mark.parametrize(("asked", "reason"), COMPATIBLE)
def test_what_still_runs_is_compatible(asked: Query, reason: str) -> None:
    store = MemoryStore()
    best = store_winner(store)
    answer = lookup(store, asked)
    assert (answer.match, answer.best) == ("compatible", best)
    assert reason in answer.reason
    assert answer.distance > 0


def test_other_text_is_compatible_even_within_a_space_version() -> None:
    store = MemoryStore()
    store_winner(store)
    answer = lookup(store, query(), lambda _: "k1-other")
    assert answer.match == "compatible"
    assert "another text" in answer.reason


def test_newer_space_version_with_the_same_text_is_exact() -> None:
    store = MemoryStore()
    store_winner(store)
    asked = replace(query(), space_version="2")
    assert lookup(store, asked, lambda b: b.source_digest).match == "exact"


def test_winner_that_gives_no_text_is_passed_over() -> None:
    store = MemoryStore()
    store_winner(store)
    other = store_winner(store, toolchain_key="c1-clang")
    replay = {TOOLCHAIN_KEY: None, "c1-clang": other.source_digest}
    answer = lookup(store, query(), lambda b: replay[b.toolchain_key])
    assert (answer.match, answer.best) == ("compatible", other)
    nothing = lookup(store, query(), lambda _: None)
    assert (nothing.match, nothing.best) == ("default", None)


def test_code_for_a_wider_machine_is_only_near() -> None:
    store = MemoryStore()
    best = store_winner(store, target=WIDER)
    answer = lookup(store, query())
    assert (answer.match, answer.best) == ("nearest", best)
    assert "need avx512f" in answer.reason


def test_nearest_shape() -> None:
    store = MemoryStore()
    store_winner(store, rows=1024)
    near = store_winner(store, rows=128)
    answer = lookup(store, query(rows=64))
    assert (answer.match, answer.best) == ("nearest", near)
    assert "(128, 64, 128, 64)" in answer.reason


def test_default_when_nothing_is_stored() -> None:
    answer = lookup(MemoryStore(), query())
    assert (answer.match, answer.best, answer.distance) == ("default", None, math.inf)


def test_gpu_and_cpu_are_never_near() -> None:
    store = MemoryStore()
    store_winner(store, target=replace(TARGET, kind="cuda", isa="sm_90a", features=()))
    assert lookup(store, query()).match == "default"


targets = st.builds(
    lambda threads, features, l2: replace(TARGET, threads=threads, features=features, l2_bytes=l2),
    st.integers(1, 4),
    st.sampled_from([TARGET.features, WIDER.features, ()]),
    st.sampled_from([256 << 10, 1 << 20]),
)
winners = st.lists(
    st.tuples(st.integers(1, 5), targets, st.sampled_from([TOOLCHAIN_KEY, "c1-clang"])),
    min_size=1,
    max_size=12,
    unique=True,
)


@given(winners)
def test_every_stored_winner_is_found_by_its_own_query(
    settings: list[tuple[int, Target, str]],
) -> None:
    store = MemoryStore()
    stored = {
        (rows, target, toolchain): store_winner(
            store, rows=rows, target=target, toolchain_key=toolchain
        )
        for rows, target, toolchain in settings
    }
    for (rows, target, toolchain), best in stored.items():
        answer = lookup(store, query(rows, target=target, toolchain_key=toolchain))
        assert (answer.match, answer.best) == ("exact", best)


@given(winners, st.integers(1, 5), targets)
def test_unrelated_inserts_change_no_answer(
    settings: list[tuple[int, Target, str]], rows: int, target: Target
) -> None:
    """An answer that is exact stays what it is, whatever else is stored before or after it."""
    alone, among = MemoryStore(), MemoryStore()
    store_winner(alone, rows=rows, target=target)
    for other_rows, other_target, toolchain in settings:
        if (other_rows, other_target, toolchain) != (rows, target, TOOLCHAIN_KEY):
            store_winner(among, rows=other_rows, target=other_target, toolchain_key=toolchain)
    store_winner(among, rows=rows, target=target)
    first = lookup(alone, query(rows, target=target))
    second = lookup(among, query(rows, target=target))
    assert (first.match, first.reason, first.distance) == (
        second.match,
        second.reason,
        second.distance,
    )


def test_timing_of_the_answer_is_the_confirmed_one() -> None:
    store = MemoryStore()
    store_winner(store, microseconds=33.0)
    best = lookup(store, query()).best
    assert best is not None
    assert best.timing == Timing(33.0 * 1e-6, 33.0 * 1e-8, 50, 0.02, 2)
