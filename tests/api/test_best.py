"""Lookups over REST: the answers of `records.lookup`, at most a second old, however many ask at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from autosched_api.cache import FreshCache
from autosched_api.lookups import Asked, Lookups
from autosched_api.renewing import Found
from autosched_api.shortcut import plain_query
from autosched_api.threads import StoreThreads
from sqlalchemy import delete

from autosched.db.schema import BestRow
from autosched.db.store import SqlTuningStore
from autosched.entry.space_version import SPACE_VERSION
from autosched.records.lookup import Query, lookup
from autosched.records.record import trial_id
from autosched.records.store import Confirmation
from autosched.target.target import Target
from autosched.te.workload import text_key
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN_KEY,
    job_spec,
    ok,
    open_job,
    task_spec,
    timing,
    trial,
    workload_text,
)
from tests.api.conftest import Api, Caller

Result = TypeVar("Result")

AWAY = replace(TARGET, isa="aarch64", features=("neon",), core_kind="neoverse-n1")
SMALLER = replace(TARGET, l2_bytes=256 << 10)


def add_winner(
    store: SqlTuningStore, rows: int, target: Target = TARGET, *, space: str = SPACE_VERSION
) -> str:
    """A confirmed winner of the workload with so many rows; its trial's id."""
    job = open_job(
        store, job_spec(target=target, seed=rows), target=target, tasks=[task_spec(rows)]
    )
    task = job.tasks[0][0]
    name = f"{target.key}-{rows}"
    store.propose(task, 0, [trial(task, 0, name=name)])
    store.close(task, 0, ok())
    found = trial_id(task, 0)
    store.confirm(Confirmation(task, {found: timing(100.0)}, found, "k1-text", space))
    store.end_job(job.id, "succeeded", "trials")
    return found


@pytest.fixture(scope="module")
def winners(api: Api) -> dict[str, str]:
    return {
        "exact": add_winner(api.store, 64),
        "older": add_winner(api.store, 96, space="0"),
        "smaller": add_winner(api.store, 128, SMALLER),
        "away": add_winner(api.store, 200, AWAY),
    }


@pytest.mark.parametrize(
    ("rows", "match"),
    [(64, "exact"), (96, "compatible"), (128, "compatible"), (200, "nearest"), (77, "default")],
)
def test_answers_are_those_of_the_lookup(
    api: Api, caller: Caller, winners: dict[str, str], rows: int, match: str
) -> None:
    key = text_key(workload_text(rows))
    answer = caller.get("/v1/best", params={"workload": key, "target": TARGET.key}).json()
    assert answer["match"] == match
    direct = lookup(api.store, Query(key, TARGET, space_version=SPACE_VERSION))
    assert (answer["match"], answer["reason"]) == (direct.match, direct.reason)
    best = direct.best
    assert answer["trial"] == (None if best is None else best.trial_id)
    assert answer["values"] == ({} if best is None else best.candidate.values)
    if best is not None:
        assert answer["median_us"] == pytest.approx(best.timing.median_seconds * 1e6)
        assert answer["measured_at"].endswith("Z")


def test_the_long_way_gives_the_same_bytes(caller: Caller, winners: dict[str, str]) -> None:
    key = text_key(workload_text(64))
    plain = caller.get(f"/v1/best?workload={key}&target={TARGET.key}")
    escaped = caller.get(f"/v1/best?workload={key.replace('w', '%77')}&target={TARGET.key}")
    assert plain_query(escaped.request.url.query) is None
    assert escaped.content == plain.content


def test_a_toolchain_and_threads_can_be_asked_for(caller: Caller, winners: dict[str, str]) -> None:
    asked = {"workload": text_key(workload_text(64)), "target": TARGET.key}
    same = caller.get("/v1/best", params={**asked, "toolchain": TOOLCHAIN_KEY}).json()
    other = caller.get("/v1/best", params={**asked, "toolchain": "c1-other"}).json()
    fewer = caller.get("/v1/best", params={**asked, "threads": 1}).json()
    assert [a["match"] for a in (same, other, fewer)] == ["exact", "compatible", "compatible"]
    assert "toolchain" in other["reason"]
    assert "threads" in fewer["reason"]


def test_many_are_asked_at_once_and_answered_in_order(
    caller: Caller, winners: dict[str, str]
) -> None:
    keys = [text_key(workload_text(rows)) for rows in (200, 64, 77, 64)]
    answer = caller.post("/v1/best", json={"workloads": keys, "target": TARGET.key}).json()
    assert [t["workload_key"] for t in answer["tasks"]] == keys
    assert [t["match"] for t in answer["tasks"]] == ["nearest", "exact", "default", "exact"]


def test_a_source_is_asked_for_task_by_task(caller: Caller) -> None:
    answer = caller.post("/v1/best", json={"source": "suite:GMM/*@1", "target": TARGET.key})
    assert [t["name"][:3] for t in answer.json()["tasks"]][:2] == ["GMM", "GMM"]
    assert {t["match"] for t in answer.json()["tasks"]} == {"default"}


def test_a_target_is_known_by_key_by_name_or_by_being_stored(
    caller: Caller, winners: dict[str, str]
) -> None:
    key = text_key(workload_text(200))
    for target, match in (
        (AWAY.key, "exact"),
        ("graviton2", "compatible"),
        (TARGET.key, "nearest"),
    ):
        answer = caller.get("/v1/best", params={"workload": key, "target": target}).json()
        assert answer["match"] in {match, "nearest"}, answer


def test_a_word_of_the_command_line_is_explained(caller: Caller) -> None:
    detail = caller.ask("GET", "/v1/best?workload=w1-0&target=host").json()["detail"]
    assert "command line alone" in detail
    assert "/v1/targets" in detail
    detail = caller.ask("GET", "/v1/best?workload=w1-0&target=nowhere").json()["detail"]
    assert "haswell" in detail


def test_a_winner_shows_after_a_second_at_most(api: Api, caller: Caller) -> None:
    key = text_key(workload_text(1234))
    params = {"workload": key, "target": TARGET.key}
    assert caller.get("/v1/best", params=params).json()["match"] in {"default", "nearest"}
    add_winner(api.store, 1234)
    kept = api.app.state.service.lookups._kept
    kept._clock = lambda real=kept._clock: real() + 1.01
    assert caller.get("/v1/best", params=params).json()["match"] == "exact"


def test_requests_at_once_share_reads(api: Api, caller: Caller) -> None:
    keys = [text_key(workload_text(5_000 + n)) for n in range(40)]
    asked = [
        ("GET", f"/v1/best?workload={k}&target={TARGET.key}", {"headers": caller.headers})
        for k in keys
    ]
    reads = []
    real = api.app.state.service.store.bests

    def counting(wanted: list[str]) -> object:
        reads.append(len(wanted))
        return real(wanted)

    service_store = api.app.state.service.store
    service_store.bests = counting
    try:
        answers = api.client.together(*asked)
    finally:
        del service_store.bests
    assert [a.json()["workload_key"] for a in answers] == keys
    assert sum(reads) == len(keys)
    assert len(reads) < len(keys)


def test_an_answer_is_never_older_than_it_may_be() -> None:
    now = [0.0]
    cache: FreshCache[str, int] = FreshCache(1.0, 2, lambda: now[0])
    cache.put("a", 1, cache.now())
    now[0] = 1.0
    assert cache.get("a") == 1
    now[0] = 1.001
    assert cache.get("a") is None
    for n, name in enumerate("bcd"):
        cache.put(name, n, now[0])
    assert [cache.get(x) for x in "bcd"] == [None, 1, 2]
    assert len(cache) == 2


def test_a_failed_read_fails_those_who_waited_for_it_and_no_one_else(api: Api) -> None:
    class Failing:
        is_broken = True

        def __getattr__(self, name: str) -> object:
            return getattr(api.store, name)

        def bests(self, keys: list[str]) -> object:
            if self.is_broken:
                raise RuntimeError("broken")
            return api.store.bests(keys)

    async def ask() -> Found:
        store, threads = Failing(), StoreThreads(2, 10)
        kept: FreshCache[tuple[str, ...], Found] = FreshCache(1.0, 10)
        lookups = Lookups(store, threads, kept, 1.0)  # type: ignore[arg-type]
        questions = [Asked(f"w1-{n}", TARGET) for n in range(3)]
        failed = await asyncio.gather(*map(lookups.find, questions), return_exceptions=True)
        assert [type(f) for f in failed] == [RuntimeError] * 3
        store.is_broken = False
        try:
            return await lookups.find(questions[0])
        finally:
            threads.close()

    assert asyncio.run(ask()).match == "default"


def test_who_asks_as_the_last_batch_ends_is_answered(api: Api) -> None:
    """However many turns of the event loop lie between the two questions."""

    class OnTheLoop(StoreThreads):
        """Work takes no thread, so that turns can be counted."""

        async def run(self, work: Callable[[], Result]) -> Result:
            return work()

    async def ask(turns: int) -> list[Found]:
        kept: FreshCache[tuple[str, ...], Found] = FreshCache(1.0, 10)
        lookups = Lookups(api.store, OnTheLoop(1, 1), kept, 1.0)

        async def later() -> Found:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await lookups.find(Asked("w1-second", TARGET))

        first = lookups.find(Asked("w1-first", TARGET))
        return await asyncio.wait_for(asyncio.gather(first, later()), 10.0)

    for turns in range(8):
        assert len(asyncio.run(ask(turns))) == 2


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (b"workload=w1-0", {b"workload": "w1-0"}),
        (b"target=t&workload=w&threads=2", {b"target": "t", b"workload": "w", b"threads": "2"}),
        (b"target=t", None),
        (b"workload=w&workload=w", None),
        (b"workload=w&wish=1", None),
        (b"workload=%77", None),
        (b"workload=w&threads=0", None),
        (b"workload=", None),
        (b"", None),
    ],
)
def test_only_plain_questions_take_the_short_way(
    text: bytes, query: dict[bytes, str] | None
) -> None:
    assert plain_query(text) == query


async def renewed(lookups: Lookups) -> None:
    """Returns when the answers that were used lately have been read again."""
    task = lookups._renewal._task
    assert task is not None
    await task


def test_answers_in_use_are_renewed_and_changed_ones_found_anew(api: Api) -> None:
    now = [0.0]
    kept: FreshCache[tuple[str, ...], Found] = FreshCache(1.0, 100, lambda: now[0])
    key = text_key(workload_text(4321))
    add_winner(api.store, 4321)

    async def ask() -> list[str]:
        threads = StoreThreads(2, 10)
        lookups = Lookups(api.store, threads, kept, 0.01)
        asked, seen = Asked(key, TARGET), []
        seen.append((await lookups.find(asked)).match)
        for _ in range(3):
            now[0] += 0.7
            assert lookups.kept(asked) is not None
            await renewed(lookups)
        add_winner(api.store, 4321, SMALLER)
        with api.store.engine.begin() as connection:
            connection.execute(delete(BestRow).where(BestRow.target_key == TARGET.key))
        now[0] += 0.7
        assert lookups.kept(asked) is not None
        await renewed(lookups)
        seen.append((await lookups.find(asked)).match)
        lookups.close()
        threads.close()
        return seen

    assert asyncio.run(ask()) == ["exact", "compatible"]


def test_an_answer_that_is_used_once_in_a_while_is_still_at_hand(api: Api) -> None:
    now = [0.0]
    kept: FreshCache[tuple[str, ...], Found] = FreshCache(1.0, 100, lambda: now[0])
    key = text_key(workload_text(8765))
    add_winner(api.store, 8765)

    async def ask() -> list[bool]:
        threads = StoreThreads(2, 10)
        lookups = Lookups(api.store, threads, kept, 0.01)
        asked, at_hand = Asked(key, TARGET), []
        await lookups.find(asked)
        for rounds in (1, 6, 10):
            at_hand.append(lookups.kept(asked) is not None)
            for _ in range(rounds):
                now[0] += 0.7
                if lookups._renewal._task is not None:
                    await renewed(lookups)
        at_hand.append(lookups.kept(asked) is not None)
        lookups.close()
        threads.close()
        return at_hand

    assert asyncio.run(ask()) == [True, True, True, False], "after 0, 0.7, 4.2 and 7 s"
