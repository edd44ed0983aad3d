"""What a call costs in a large database against one of 10,000 trials. Takes the machine for itself, and 30 GB of disk:

    pytest tests/service/test_scale.py -m campaign -s [--scale-trials 10000000 | --scale-url URL]

`tests.service.large` serves a database for the second form.

Calls on the two databases take turns, so that a disturbance meets both; ratios are of medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from sqlalchemy import event

from autosched.db.store import SqlTuningStore, connect, open_store
from autosched.jobs.record import Page
from autosched.records.family import family_key, log2_size
from autosched.testing.records import TARGET, TOOLCHAIN_KEY, ok, open_task, trial, workload_text
from tests.service.filling import Filled, fill, load_filled
from tests.service.large import TRIALS_A_WORKLOAD, fill_new, large_server

pytestmark = pytest.mark.campaign

SMALL_TRIALS = 10_000
MOST_IN_A_FILE = 1_000_000
MOST = 1.5
"""Times what the same costs in the small database."""


class Side(NamedTuple):
    """One of the two databases."""

    store: SqlTuningStore
    filled: Filled
    task_id: str
    """Of our own, for what is written."""


def make_side(url: str, filled: Filled) -> Side:
    store = connect(url)
    return Side(store, filled, open_task(store, seed=time.time_ns()))


@pytest.fixture(scope="module")
def large_trials(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--scale-trials"))


@pytest.fixture(scope="module")
def large_url(request: pytest.FixtureRequest) -> str | None:
    """Of a database that is filled already."""
    url: str | None = request.config.getoption("--scale-url")
    return url


@pytest.fixture(scope="module")
def postgres_sides(large_trials: int, large_url: str | None) -> Iterator[tuple[Side, Side]]:
    """The small database and the large one, on servers with the same settings."""
    with large_server() as server:
        small = make_side(*fill_new(server, SMALL_TRIALS))
        if large_url is None:
            large = make_side(*fill_new(server, large_trials))
        else:
            with open_store(large_url) as store:
                filled = load_filled(store)
            large = make_side(large_url, filled)
        yield small, large
        for side in (small, large):
            side.store.close_connections()


@pytest.fixture(scope="module")
def sqlite_sides(
    large_trials: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """Files, the large one of a million at most."""
    folder = tmp_path_factory.mktemp("scale")
    found: list[Side] = []
    for trials in (SMALL_TRIALS, min(large_trials, MOST_IN_A_FILE)):
        url = str(folder / f"{trials}.db")
        with open_store(url) as store:
            filled = fill(store, trials=trials, workloads=trials // TRIALS_A_WORKLOAD)
        found.append(make_side(url, filled))
    yield found[0], found[1]
    for side in found:
        side.store.close_connections()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def sides(request: pytest.FixtureRequest) -> tuple[Side, Side]:
    name = "sqlite_sides" if request.param == "sqlite" else "postgres_sides"
    print(f"\n{request.param}")
    found: tuple[Side, Side] = request.getfixturevalue(name)
    return found


def ratio(name: str, sides: tuple[Side, Side], call: Callable[[Side, int], Any], n: int) -> float:
    """Median cost on the large database over that on the small one, of `n` calls each."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for i in range(n + 3):
        for side, taken in zip(sides, seconds, strict=True):
            start = time.perf_counter()
            call(side, i)
            if i >= 3:
                taken.append(time.perf_counter() - start)
    small, large = (statistics.median(taken) for taken in seconds)
    print(f"{name:<40}{large / small:6.2f}   ({small * 1e3:.2f} -> {large * 1e3:.2f} ms)")
    return large / small


def test_trial_commits(sides: tuple[Side, Side]) -> None:
    for side in sides:
        proposed = [trial(side.task_id, n, name=f"new{n}") for n in range(600)]
        for start in range(0, 600, 60):
            store, part = side.store, proposed[start : start + 60]
            store.propose(side.task_id, 0, part)
    assert (
        ratio("commit of a trial", sides, lambda s, i: s.store.close(s.task_id, i, ok()), 500)
        < MOST
    )


def test_proposals(sides: tuple[Side, Side]) -> None:
    def propose(side: Side, i: int) -> None:
        numbers = range(1000 + 16 * i, 1016 + 16 * i)
        round = [trial(side.task_id, n, name=f"more{n}", round=i + 1) for n in numbers]
        side.store.propose(side.task_id, i + 1, round)

    assert ratio("commit of a round of 16", sides, propose, 100) < MOST


def test_page_of_trials(sides: tuple[Side, Side]) -> None:
    def read(side: Side, i: int) -> None:
        jobs = side.filled.jobs
        job_id = jobs[(i * 7919) % len(jobs)]
        after = f"{job_id}.{i % 5}.{i % TRIALS_A_WORKLOAD}"
        assert len(side.store.list_trials(job_id, Page(50, after))) == 50

    assert ratio("page of 50 trials", sides, read, 200) < MOST


def test_standing_of_a_job(sides: tuple[Side, Side]) -> None:
    def read(side: Side, i: int) -> None:
        jobs = side.filled.jobs
        side.store.standings([jobs[(i * 7919) % len(jobs)]])

    assert ratio("standing of a job of 20 tasks", sides, read, 100) < MOST


def test_warm_start(sides: tuple[Side, Side]) -> None:
    def newest(side: Side, _: int) -> None:
        assert len(side.store.history(TARGET.isa)) == 5_000

    def own(side: Side, i: int) -> None:
        keys = side.filled.workload_keys
        key = keys[(i * 7919) % len(keys)]
        assert len(side.store.history(TARGET.isa, workload_key=key)) == TRIALS_A_WORKLOAD

    assert ratio("warm start: the newest 5,000", sides, newest, 9) < MOST
    assert ratio("warm start: a workload's own", sides, own, 100) < MOST


def test_lookups(sides: tuple[Side, Side]) -> None:
    def exact(side: Side, i: int) -> None:
        keys = side.filled.workload_keys
        assert side.store.best(keys[(i * 7919) % len(keys)])

    def near(side: Side, i: int) -> None:
        asked = workload_text(7 + i, 300)
        side.store.family_best(family_key(asked), log2_size=log2_size(asked))

    assert ratio("winners of a workload", sides, exact, 500) < MOST
    assert ratio("winners of 100 near shapes", sides, near, 50) < MOST


def test_lookups_read_by_index_alone(postgres_sides: tuple[Side, Side], large_trials: int) -> None:
    if large_trials < 1_000_000:
        pytest.skip("a small table is read faster as a whole")
    store, filled, _ = postgres_sides[1]
    keys = filled.workload_keys
    asked = workload_text(7, 300)
    calls: dict[str, Callable[[], Any]] = {
        "best of a workload": lambda: store.best(keys[5]),
        "best of a setting": lambda: store.best(keys[5], TARGET.key, TOOLCHAIN_KEY),
        "best of 50 workloads": lambda: store.bests(keys[100:5100:100]),
        "near shapes": lambda: store.family_best(family_key(asked), log2_size=log2_size(asked)),
        "text of a workload": lambda: store.workload_text(keys[5]),
    }
    for name, call in calls.items():
        plans = explained(store, call)
        assert plans
        for plan in plans:
            print(f"\n{name}\n{plan}")
            assert "Seq Scan" not in plan


def explained(store: SqlTuningStore, call: Callable[[], Any]) -> list[str]:
    """The plans of the statements that a call runs."""
    ran: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        ran.append((statement, parameters))

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        call()
    finally:
        event.remove(store.engine, "before_cursor_execute", note)
    with store.engine.begin() as connection:
        plans = [connection.exec_driver_sql(f"explain {s}", given).all() for s, given in ran]
    return ["\n".join(row[0] for row in plan) for plan in plans]


def test_lookup_in_a_file_of_a_million(sqlite_sides: tuple[Side, Side]) -> None:
    """In this process, under a millisecond."""
    store, filled, _ = sqlite_sides[1]
    keys = filled.workload_keys
    seconds: list[float] = []
    for i in range(2_000):
        start = time.perf_counter()
        (best,) = store.best(keys[(i * 7919) % len(keys)], TARGET.key)
        seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    print(f"lookup in SQLite with {len(keys) * TRIALS_A_WORKLOAD} trials: {median * 1e3:.3f} ms")
    assert best.default_seconds == 1e-4
    assert median < 1e-3
