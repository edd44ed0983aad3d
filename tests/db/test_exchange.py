"""Export and import: whole or not at all, twice as good as once, nothing believed beyond its form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from autosched.db.exporting import export_file
from autosched.db.importing import import_file
from autosched.db.prune import prune
from autosched.db.store import SqlTuningStore, connect
from autosched.errors import InvalidInput
from autosched.records.outcome import Outcome
from autosched.records.record import trial_id
from autosched.records.store import MeasurementRow
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN_KEY,
    confirmation,
    failed,
    job_spec,
    measured_task,
    ok,
    open_job,
    task_spec,
    trial,
)
from autosched.testing.submissions import claim, submit

Object = dict[str, Any]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlTuningStore]:
    store = connect(str(tmp_path / "here.db"))
    yield store
    store.close_connections()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqlTuningStore]:
    store = connect(str(tmp_path / "there.db"))
    yield store
    store.close_connections()


def fill(store: SqlTuningStore) -> str:
    """A store with every kind of row; the id of its first job's task."""
    task_id = measured_task(store, [100.0, 50.0, 25.0])
    store.propose(
        task_id,
        1,
        [
            replace(trial(task_id, 3, round=1), measurement=failed(Outcome.PRUNED)),
            replace(trial(task_id, 4, round=1), features=(math.inf, 0.1)),
            trial(task_id, 5, round=1),
        ],
    )
    store.close(task_id, 4, failed(Outcome.CRASHED, error="signal 11 \N{SNOWMAN}"))
    store.confirm(confirmation(task_id, {0: 90.0, 2: 26.0}))
    store.add_measurement(MeasurementRow(trial_id(task_id, 2), "replay", ok(27.0), {"load": 1.5}))
    store.calibrate(TARGET.key, {"peak": 1e11})
    store.end_job(open_job(store).id, "succeeded", "trials")
    used = (trial_id(task_id, 2), trial_id(task_id, 0))
    second = open_job(store, job_spec(seed=1), history=used).tasks[0][0]
    store.propose(second, 0, [trial(second, n) for n in range(2)])
    return task_id


def content(path: Path) -> list[Object]:
    """The lines of a file, but for when it was written."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[0]["exported_at"]
    return lines


def test_round_trip(store: SqlTuningStore, other: SqlTuningStore, tmp_path: Path) -> None:
    task_id = fill(store)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    counts = export_file(store, first)
    assert counts == {
        "target": 1,
        "toolchain": 1,
        "workload": 1,
        "calibration": 1,
        "job": 2,
        "task": 2,
        "trial": 7,
        "measurement": 8,
        "best": 1,
    }
    new = import_file(other, first)
    assert {k: n for k, n in counts.items() if k != "calibration"} == dict(new)
    closed = [t for t in store.trials(task_id) if not t.is_open]
    closed[4] = replace(closed[4], features=(math.nan, 0.1))
    imported = list(other.trials(task_id))
    assert repr(imported) == repr(closed), "infinite features come back as unknown ones"
    assert other.best(task_spec().workload_key) == store.best(task_spec().workload_key)
    assert other.calibration(TARGET.key) == {"peak": 1e11}
    for number in range(5):
        text = trial_id(task_id, number)
        assert other.measurements(text) == store.measurements(text)
    export_file(other, second)
    unfinished = next(line for line in content(first) if line.get("ended_at", 0) is None)
    changed = [line for line in content(second) if line not in content(first)]
    assert [line["id"] for line in changed] == [unfinished["id"]]
    assert (changed[0]["state"], changed[0]["history"]) == ("cancelled", unfinished["history"])


def test_accounts_and_errors_come_along(
    store: SqlTuningStore, other: SqlTuningStore, tmp_path: Path
) -> None:
    job = submit(store)
    task_id = job.job.tasks[0][0]
    claim(store, job.id)
    store.propose(task_id, 0, [trial(task_id, n) for n in range(3)])
    for number in range(3):
        store.close(task_id, number, ok())
    store.end_claimed(job.id, 1, "failed", "error", "a fault")
    account = store.standings([job.id])
    assert prune(store, datetime.now(UTC) + timedelta(days=1)).trials == 2
    export_file(store, tmp_path / "file.jsonl")
    import_file(other, tmp_path / "file.jsonl")
    assert other.standings([job.id]) == account
    found = other.submitted(job.id)
    assert found is not None
    assert found.error == "a fault"
    assert other.events(job.id, after=0)[-1].data["error"] == "a fault"


def test_importing_twice_changes_nothing(
    store: SqlTuningStore, other: SqlTuningStore, tmp_path: Path
) -> None:
    fill(store)
    export_file(store, tmp_path / "file.jsonl")
    import_file(other, tmp_path / "file.jsonl")
    export_file(other, tmp_path / "once.jsonl")
    assert not any(import_file(other, tmp_path / "file.jsonl").values())
    assert not any(import_file(store, tmp_path / "file.jsonl").values())
    export_file(other, tmp_path / "twice.jsonl")
    assert content(tmp_path / "once.jsonl") == content(tmp_path / "twice.jsonl")


def test_import_joins_what_both_sides_measured(
    store: SqlTuningStore, other: SqlTuningStore, tmp_path: Path
) -> None:
    here = measured_task(store, [100.0, 50.0])
    there = measured_task(other, [101.0, 51.0, 41.0])
    export_file(store, tmp_path / "file.jsonl")
    import_file(other, tmp_path / "file.jsonl")
    imported = other.trials(here)
    assert imported[0].measurement == ok(100.0), "each default has its own time"
    assert imported[1].measurement == ok(51.0)
    assert imported[1].reused_from == trial_id(there, 1)
    export_file(other, tmp_path / "joined.jsonl")
    import_file(store, tmp_path / "joined.jsonl")
    assert [t.measurement for t in store.trials(there)] == [ok(101.0), ok(50.0), ok(41.0)]


@pytest.mark.parametrize(("here", "there", "best"), [(50.0, 40.0, 40.0), (40.0, 50.0, 40.0)])
def test_faster_winner_stands(
    store: SqlTuningStore,
    other: SqlTuningStore,
    tmp_path: Path,
    here: float,
    there: float,
    best: float,
) -> None:
    for each, median in ((store, here), (other, there)):
        task_id = measured_task(each, [100.0, median])
        each.confirm(confirmation(task_id, {0: 100.0, 1: median}))
    export_file(store, tmp_path / "file.jsonl")
    import_file(other, tmp_path / "file.jsonl")
    (stands,) = other.best(task_spec().workload_key)
    assert stands.timing.median_seconds == pytest.approx(best * 1e-6)


def test_search_goes_on_from_imported_records(
    store: SqlTuningStore, other: SqlTuningStore, tmp_path: Path
) -> None:
    fill(store)
    export_file(store, tmp_path / "file.jsonl")
    import_file(other, tmp_path / "file.jsonl")
    assert [r.trial_id for r in other.history(TARGET.isa)] == [
        r.trial_id for r in store.history(TARGET.isa)
    ]
    task_id = open_job(other).tasks[0][0]
    assert not other.propose(task_id, 0, [trial(task_id, 1)])[0].is_open


def test_failed_export_leaves_the_old_file(store: SqlTuningStore, tmp_path: Path) -> None:
    fill(store)
    path = tmp_path / "file.jsonl"
    export_file(store, path)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="cannot be written"):
        export_file(store, path / "below")
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir() if "jsonl" in p.name} == {"file.jsonl"}


def edit(kind: str, **changes: object) -> Callable[[list[Object]], None]:
    """Change fields of the first line of a kind."""

    def apply(lines: list[Object]) -> None:
        next(line for line in lines if line["kind"] == kind).update(changes)

    return apply


def drop(kind: str) -> Callable[[list[Object]], None]:
    def apply(lines: list[Object]) -> None:
        lines[:] = [line for line in lines if line["kind"] != kind]
        if lines and lines[-1]["kind"] == "end":
            lines[-1]["lines"] = len(lines)

    return apply


def repeat(kind: str) -> Callable[[list[Object]], None]:
    def apply(lines: list[Object]) -> None:
        lines.insert(-1, next(line for line in lines if line["kind"] == kind))
        lines[-1]["lines"] = len(lines)

    return apply


NOT_FINITE = {"rule": "tile", "version": 1, "stage": "s0", "arguments": {"x": math.inf}}
DAMAGE = [
    (edit("header", autosched_export=3), "version 3"),
    (drop("header"), "header"),
    (repeat("header"), "header must be line 1"),
    (drop("end"), "cut short"),
    (edit("end", lines=3), "3 when it was written"),
    (edit("trial", number=-1), "number"),
    (edit("trial", number="0"), "number"),
    (edit("trial", number=True), "number"),
    (edit("trial", candidate_key="a b"), "candidate_key"),
    (edit("trial", values={"x": 2**64}), r"values\.x"),
    (edit("trial", values={"x": 0.5}), r"values\.x"),
    (edit("trial", derivation=[{"rule": "tile"}]), "derivation"),
    (edit("trial", derivation=[NOT_FINITE]), "Infinity"),
    (edit("trial", colour="red"), "colour"),
    (edit("trial", task_id="none"), "not in the file"),
    (edit("trial", reused_from="none"), "none"),
    (edit("measurement", outcome="great"), "outcome"),
    (edit("measurement", outcome="crashed"), "timing"),
    (edit("measurement", timing=None), "timing"),
    (edit("measurement", purpose="guess"), "purpose"),
    (edit("measurement", max_error=math.nan), "NaN"),
    (edit("measurement", build_seconds=-1.0), "build_seconds"),
    (repeat("measurement"), "two search measurements"),
    (drop("measurement"), "result"),
    (edit("target", key="t1-0"), "have the key"),
    (edit("workload", text="a = 1"), "has the key"),
    (drop("target"), "target"),
    (drop("toolchain"), "toolchain"),
    (drop("workload"), "workload"),
    (drop("job"), "job"),
    (drop("task"), "task"),
    (repeat("job"), "twice"),
    (edit("job", state="paused"), "state"),
    (edit("job", created_at="yesterday"), "created_at"),
    (edit("job", created_at="2026-01-01T00:00:00"), "created_at"),
    (edit("best", trial_id="none"), "not in the file"),
    (edit("best", side_by_side="i1-none"), "never confirmed"),
    (edit("best", toolchain_key=f"{TOOLCHAIN_KEY}-x"), "not valid for it"),
    (edit("best", default_seconds=0.0), "default_seconds"),
    (edit("calibration", values={"peak": -1.0}), "peak"),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of an export file."""
    folder = tmp_path_factory.mktemp("exported")
    store = connect(str(folder / "runs.db"))
    fill(store)
    export_file(store, folder / "file.jsonl")
    store.close_connections()
    return (folder / "file.jsonl").read_text()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlTuningStore]:
    """A store that every refused import must leave empty."""
    store = connect(str(tmp_path_factory.mktemp("empty") / "runs.db"))
    yield store
    store.close_connections()


SINCE_VERSION_1 = {
    "job": ["owner", "priority", "labels", "seconds", "policy", "started_at", "spent_seconds"],
    "task": ["reference", "operations", "bound_seconds", "standing"],
}


def test_file_of_version_1_is_read(exported: str, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in exported.splitlines()]
    edit("header", autosched_export=1, schema_version="0001")(lines)
    for line in lines:
        for name in SINCE_VERSION_1.get(str(line["kind"]), []):
            del line[name]
    path = tmp_path / "file.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store = connect(str(tmp_path / "fresh.db"))
    assert import_file(store, path)["best"] > 0
    assert store.best(task_spec().workload_key)
    store.close_connections()


@pytest.mark.parametrize(("damage", "named"), DAMAGE)
def test_damage_is_named_and_nothing_stored(
    exported: str,
    empty: SqlTuningStore,
    tmp_path: Path,
    damage: Callable[[list[Object]], None],
    named: str,
) -> None:
    path = tmp_path / "file.jsonl"
    lines = [json.loads(line) for line in exported.splitlines()]
    damage(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InvalidInput, match=named) as error:
        import_file(empty, path)
    assert str(path) in str(error.value)
    assert empty.jobs() == ()


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{}", "[]", "null", "{" * 100_000, '{"kind": "trial"}', "\0", "SQLite format 3"],
)
def test_what_is_no_export_file(empty: SqlTuningStore, tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="export file"):
        import_file(empty, path)


def test_unreadable_files(store: SqlTuningStore, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            import_file(store, path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InvalidInput, match="UTF-8"):
        import_file(store, tmp_path / "bytes")


def test_every_cut_is_seen(exported: str, empty: SqlTuningStore, tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    for n_characters in range(0, len(exported) - 1, 701):
        path.write_text(exported[:n_characters])
        with pytest.raises(InvalidInput):
            import_file(empty, path)
    assert empty.jobs() == ()


def test_trial_that_is_something_else_here_is_refused(
    store: SqlTuningStore, tmp_path: Path
) -> None:
    measured_task(store, [100.0])
    path = tmp_path / "file.jsonl"
    export_file(store, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    edit("trial", candidate_key="n1-other")(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InvalidInput, match="not the same"):
        import_file(store, path)
