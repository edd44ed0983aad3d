"""Commands against a server that answers as it is told: same prints as for local work, one clear line for a failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from autosched.cli.app import run_command
from autosched.wire.problem import NO_SUCH_PATH
from tests.client.scripted import (
    DROP,
    JOB,
    Answer,
    Asked,
    Scripted,
    answer,
    events,
    problem,
    serving,
)

TASK = {
    "name": "GMM/1@1",
    "workload_key": "w1-aa",
    "weight": 1,
    "trials": 4,
    "outcomes": {"ok": 3, "crashed": 1},
    "default_us": 90.0,
    "best_us": 30.0,
    "spread_us": 0.5,
    "gflops": 70.0,
    "roofline": 0.5,
    "trial": "j.0.3",
}
DONE = {**JOB, "tasks": [TASK], "outcomes": {"ok": 3, "crashed": 1}}
QUEUED = {
    **DONE,
    "state": "queued",
    "terminal": False,
    "trials": 0,
    "pending_reason": "need t1-5f0c",
}
FAILURE = {
    "outcome": "crashed",
    "class": "signal 11",
    "count": 4,
    "example_trial": "j.0.2",
    "log": "at line 7",
}
FAILED = {
    **DONE,
    "state": "failed",
    "end_reason": "no_valid_candidate",
    "tasks": [{**TASK, "default_us": None, "best_us": None, "gflops": None, "roofline": None}],
    "failures": [FAILURE],
}
PHASES = {"search": 1.0, "build": 2.0, "run": 3.0, "model": 0.5, "other": 0.25}
STREAM = (
    (1, "job", {"state": "queued"}),
    (2, "job", {"state": "running", "message": "a person should know"}),
    (3, "progress", {"trials": 2, "of": 4, "outcomes": {"ok": 1, "crashed": 1, "melted": 1}}),
    (4, "job", {"state": "running", "phase_s": PHASES}),
    (5, "glimmer", {"of": "a later version"}),
    (6, "best", {"task": "GMM/1@1", "trial": "j.0.3", "default_us": 90.0, "best_us": 30.0}),
)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with serving() as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AUTOSCHED_SERVER", "AUTOSCHED_TOKEN", "AUTOSCHED_DB"):
        monkeypatch.delenv(name, raising=False)


def ending(job: dict[str, Any]) -> dict[str, Any]:
    return {"state": job["state"], "end_reason": job["end_reason"]}


def tuning(server: Scripted, ended: dict[str, Any]) -> None:
    """The service of a job that ends so."""

    def handle(asked: Asked) -> Answer:
        if asked.method == "POST":
            return answer(QUEUED, 202)
        if asked.path.endswith("/events"):
            return events(*STREAM, (7, "end", ending(ended)))
        return answer(ended)

    server.handle = handle


def run(line: str, server: Scripted) -> int:
    return run_command([*line.split(), "--server", server.url])


def test_a_tuned_job_prints_the_table_of_a_local_one(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning(server, DONE)
    assert run("tune suite:GMM/1@1 --trials 4 --seed 3 --seconds 60", server) == 0
    out, err = capsys.readouterr()
    assert "GMM/1@1" in out
    assert "90 us" in out
    assert "3.00x" in out
    assert "8.0 s: search 1.0 s, build 2.0 s, run 3.0 s, model 0.5 s, other 1.5 s" in out
    assert "a person should know" in err
    assert f"job {JOB['id']}: 1 task, 4 trials" in err
    body = json.loads(server.asked[0].body)
    assert body == {
        "source": "suite:GMM/1@1",
        "trials": 4,
        "seed": 3,
        "seconds": 60.0,
        "priority": 0,
    }


def test_labels_priority_and_the_wait_travel_with_a_job(server: Scripted) -> None:
    tuning(server, DONE)
    more = "--label team:vision --label day:2026:01 --priority -5 --queue-seconds 60"
    assert run(f"tune suite:GMM/1@1 --trials 4 --detach {more}", server) == 0
    body = json.loads(server.asked[0].body)
    assert body["labels"] == {"team": "vision", "day": "2026:01"}
    assert (body["priority"], body["queue_seconds"]) == (-5, 60.0)


def test_what_the_search_starts_from_is_said_once_it_is_known(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning(server, {**DONE, "history_used": 12})
    assert run("tune suite:GMM/1@1 --trials 4", server) == 0
    assert capsys.readouterr().err.count("12 earlier records") == 1


def test_a_tuned_job_prints_the_object_of_a_local_one(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning(server, DONE)
    assert run("tune suite:GMM/1@1 --trials 4 --json", server) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tasks"] == [TASK]
    assert document["job"] == JOB["id"]
    assert document["phase_s"] == {**PHASES, "other": 1.5}
    assert document["wall_s"] == sum(document["phase_s"].values()) == 8.0
    assert document["estimated_graph_us"] == 30.0
    assert document["interrupted"] is False


def test_phases_sum_to_the_wall_time_where_the_service_tells_none(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = [events((1, "end", {"state": "succeeded"}))]
    server.handle = lambda a: streams.pop() if a.path.endswith("/events") else answer(DONE)
    assert run(f"jobs follow {JOB['id']} --json", server) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["wall_s"] == sum(document["phase_s"].values()) == 8.0


def test_a_failed_job_is_status_1_and_says_why(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning(server, FAILED)
    assert run("tune suite:GMM/1@1 --trials 4", server) == 1
    out, err = capsys.readouterr()
    assert "no valid kernel: GMM/1@1" in out
    assert "failed (no_valid_candidate)" in err
    assert "4 trials crashed: signal 11 (one is j.0.2)" in err


def test_detached_prints_the_id_alone(server: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    tuning(server, DONE)
    assert run("tune suite:GMM/1@1 --trials 4 --detach", server) == 0
    assert capsys.readouterr().out == f"{JOB['id']}\n"
    assert [a.method for a in server.asked] == ["POST"]


def test_an_interrupt_detaches_and_says_how_to_come_back(server: Scripted) -> None:
    """The stream stays open: the job goes on while the command is interrupted."""
    tuning(server, DONE)
    settled = server.handle

    def handle(asked: Asked) -> Answer:
        if not asked.path.endswith("/events"):
            return settled(asked)
        os.kill(process.pid, signal.SIGINT)
        return events(*STREAM, cut=True, tail=b": on and on\n")

    server.handle = handle
    command = ["tune", "suite:GMM/1@1", "--trials", "4", "--server"]
    process = subprocess.Popen(
        [sys.executable, "-m", "autosched", *command, server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert out == ""
    assert f"autosched jobs follow {JOB['id']} --server {server.url}" in err
    assert f"autosched jobs cancel {JOB['id']} --server {server.url}" in err
    assert "Traceback" not in err
    assert all("cancel" not in a.path for a in server.asked)


@pytest.mark.parametrize(("status", "expected"), [(400, 2), (404, 2), (409, 1), (413, 2), (422, 2)])
def test_a_refusal_is_one_line_and_its_status(
    status: int, expected: int, server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [problem(status, "need avx512f, have avx2")]
    assert run("tune suite:GMM/1@1 --trials 4", server) == expected
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: need avx512f, have avx2\n"


def test_a_refused_token_is_bad_input_and_says_how_to_give_one(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    for status in (401, 403):
        server.script = [problem(status, "send a token: Authorization: Bearer ast_...")]
        assert run("jobs list", server) == 2
        err = capsys.readouterr().err
        assert "Bearer ast_...; " in err
        for word in ("--token", "AUTOSCHED_TOKEN", "--allow-plain-token"):
            assert word in err


def test_who_gave_a_token_is_not_told_how_to_give_one(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [problem(403, "The token has no scope 'submit'.")]
    assert run("tune suite:GMM/1@1 --trials 4 --token ast_x", server) == 2
    assert capsys.readouterr().err == "error: The token has no scope 'submit'\n"


BREACHES = [
    ("tune suite:GMM/1@1 --trials 4", "/trials", "error: --trials: too many\n"),
    ("tune suite:GMM/1@1 --trials 4", "/queue_seconds", "error: --queue-seconds: too many\n"),
    ("tune suite:GMM/1@1 --trials 4", "/labels/team", "error: --label: too many\n"),
    ("jobs list", "query/state", "error: --state: too many\n"),
    ("tune suite:GMM/1@1 --trials 4", "/graph/nodes/0", "error: SOURCE: too many\n"),
]


@pytest.mark.parametrize(("line", "pointer", "said"), BREACHES)
def test_a_broken_rule_names_the_option(
    line: str,
    pointer: str,
    said: str,
    server: Scripted,
    capsys: pytest.CaptureFixture[str],
) -> None:
    breach = {"pointer": pointer, "rule": "r", "message": "too many", "value": 1}
    document = {"type": "urn:x", "detail": f"{pointer}: too many", "errors": [breach]}
    server.script = [answer(document, 422)]
    assert run(line, server) == 2
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    "said",
    [
        answer({"type": "urn:autosched:problem:not-found", "detail": NO_SUCH_PATH}, 404),
        Answer(404, b"<html>nothing here</html>"),
        Answer(200, b"<html>welcome</html>"),
    ],
    ids=["a path of ours", "nothing", "another server"],
)
def test_what_is_no_service_is_named(
    said: Answer, server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [said]
    assert run("jobs list", server) == 2
    err = capsys.readouterr().err
    assert f"{server.url} answers, but not as an autosched service" in err
    assert "http://HOST:PORT" in err


@pytest.mark.parametrize(
    "line",
    [
        "tune suite:GMM/1@1 --trials 4 --db x.db",
        "tune suite:GMM/1@1 --trials 4 --compiler gcc",
        "best suite:GMM/1@1 --db x.db",
        "tune nowhere.onnx --trials 4",
        "tune suite:GMM/1@1 --trials 4 --label team",
        "tune suite:GMM/1@1 --trials 4 --label a:b --label a:c",
        "jobs show a/b",
        "jobs resume",
        "jobs list --limit 0",
    ],
)
def test_bad_usage_asks_nobody(
    line: str, server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line, server) == 2
    assert server.asked == []
    assert "rror" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "tune suite:GMM/1@1 --trials 4 --seconds 3",
        "tune suite:GMM/1@1 --trials 4 --detach",
        "tune suite:GMM/1@1 --trials 4 --label a:b",
        "tune suite:GMM/1@1 --trials 4 --priority 1",
        "tune suite:GMM/1@1 --trials 4 --queue-seconds 1",
        "best suite:GMM/1@1 --cache x",
        "tune suite:GMM/1@1 --trials 4 --server nowhere",
        "jobs list --server ftp://x",
        "workers --server http://10.0.0.7 --token ast_x",
    ],
)
def test_options_that_do_not_go_together_are_named(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(line.split()) == 2
    assert "rror" in capsys.readouterr().err


def test_a_database_in_the_environment_is_no_contradiction(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOSCHED_DB", "elsewhere.db")
    tuning(server, DONE)
    assert run("tune suite:GMM/1@1 --trials 4 --detach", server) == 0


def test_the_server_and_the_token_come_from_the_environment(
    server: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTOSCHED_SERVER", server.url)
    monkeypatch.setenv("AUTOSCHED_TOKEN", "ast_x")
    server.script = [answer({"items": [DONE, QUEUED], "next": "later"})]
    assert run_command(["jobs", "list", "--state", "running", "--label", "team:vision"]) == 0
    out, err = capsys.readouterr()
    assert "succeeded (trials)" in out
    assert "0/4" in out
    assert "--cursor later" in err
    assert server.asked[0].headers["authorization"] == "Bearer ast_x"
    assert server.asked[0].path == "/v1/jobs?state=running&label=team%3Avision&limit=50"


def test_a_job_is_shown_with_its_failures_and_a_log(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [answer({**FAILED, "error": "the compiler is gone"}), answer(FAILED)]
    assert run("jobs show a", server) == 0
    out = capsys.readouterr().out
    assert "error      the compiler is gone" in out
    assert "failed (no_valid_candidate)" in out
    assert "4 trials crashed: signal 11" in out
    assert "at line 7" in out
    assert run("jobs show a --json", server) == 0
    assert json.loads(capsys.readouterr().out)["failures"] == [FAILURE]


def test_jobs_are_cancelled_and_resumed(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [answer({**DONE, "state": "running", "terminal": False}, 202)]
    assert run("jobs cancel a", server) == 0
    assert "will end" in capsys.readouterr().out
    server.script = [answer(QUEUED, 202)]
    assert run("jobs resume a --trials 9", server) == 0
    assert "queued again" in capsys.readouterr().out
    assert [a.path for a in server.asked] == ["/v1/jobs/a/cancel", "/v1/jobs/a/resume"]
    assert json.loads(server.asked[1].body) == {"trials": 9}


def test_a_server_that_drops_calls_while_a_job_is_followed_is_named(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [DROP, answer({**DONE, "state": "cancelled", "end_reason": "cancelled"}, 202)]
    assert run("jobs cancel a --json", server) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "cancelled"
    assert len(server.asked) == 2


def test_lists_of_none_say_so(server: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    server.script = [answer({"items": [], "next": None})]
    for command, said in (("jobs list", "no jobs\n"), ("workers", "no workers\n")):
        assert run(command, server) == 0
        assert capsys.readouterr() == ("", said)


def test_a_state_is_not_its_own_reason(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = [answer({**DONE, "state": "cancelled", "end_reason": "cancelled"})]
    assert run("jobs show a", server) == 0
    out = capsys.readouterr().out
    assert "cancelled" in out
    assert "(cancelled)" not in out


WORKER = {
    "id": "w-1",
    "host": "mill",
    "state": "active",
    "alive": False,
    "target_key": "t1-5f0c",
    "max_threads": 8,
    "toolchain": {"key": "c1-0a1b"},
    "devices": ["mill/cpu"],
    "versions": {},
}


def test_workers_are_shown(server: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    says = {
        "target": {"isa": "x86-64", "features": ["avx2", "fma"], "l1_bytes": 32 << 10},
        "calibration": {"operations_per_second.8": 4e11, "bytes_per_second.memory.8": 3e10},
        "driver": "550.54",
        "toolchain": {"key": "c1-0a1b", "name": "gcc", "version": "13.2"},
    }
    server.script = [answer({"items": [WORKER]}), answer({"items": [WORKER | says]})]
    assert run("workers", server) == 0
    assert "active, away" in capsys.readouterr().out
    assert run("workers", server) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("avx2", "32/0/0", "550.54", "13.2", "400", "30"):
        assert word in shown
    server.script = [answer({"items": [WORKER]})]
    assert run("workers --json", server) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["host"] == "mill"


def starting(name: str, hour: int, **what: Any) -> dict[str, Any]:
    times = {"started_at": f"2026-01-31T{hour:02d}:00:00Z"}
    return {**WORKER, "id": name, "alive": False, "state": "gone", **times, **what}


def test_workers_that_later_ones_replaced_are_shown_to_who_asks(
    server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    here = [
        starting("w-now", 12, state="active", alive=True),
        starting("w-last-of-its-host", 9, host="loom"),
        starting("w-other-device", 8, state="active", devices=["mill/cuda0"]),
        starting("w-two-at-once", 7, state="draining", alive=True),
    ]
    past = [
        starting("w-gone", 10),
        starting("w-killed", 11, state="active"),
        starting("w-before-the-last", 8, host="loom"),
    ]
    server.script = [answer({"items": here + past})]
    assert run("workers", server) == 0
    out, err = capsys.readouterr()
    assert [w["id"] for w in here + past if w["id"] in out] == [w["id"] for w in here]
    assert err == "3 earlier workers of these hosts: --all\n"
    assert run("workers --all", server) == 0
    out, err = capsys.readouterr()
    assert all(w["id"] in out for w in here + past)
    assert err == ""
