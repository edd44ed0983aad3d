"""Jobs over REST: submitted once, listed in pages, shown to their owners, cancelled and resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import onnx
import pytest

from autosched.jobs.workers import Worker
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement
from autosched.testing.records import TARGET, TOOLCHAIN, TOOLCHAIN_KEY, ok, trial
from tests.api.conftest import UPLOAD_BYTES, Api, Caller, problem, worker_of

RELU = {
    "autosched_graph": 1,
    "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 64]}],
    "nodes": [{"name": "relu", "op": "Relu", "inputs": ["x"], "outputs": ["y"]}],
    "outputs": ["y"],
}
EMPTY = {**RELU, "inputs": [{"name": "x", "dtype": "float32", "shape": [0, 64]}]}


def small_onnx() -> bytes:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [2, 3])],
        [helper.make_tensor_value_info("y", kind, [2, 4])],
        [helper.make_tensor("w", kind, [3, 4], [0.5] * 12)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(model.SerializeToString())


def upload(
    caller: Caller, model: bytes, request: str = '{"trials": 8}', **headers: str
) -> httpx.Response:
    return caller.post(
        "/v1/jobs", files={"model": model}, data={"request": request}, headers=headers
    )


def register(api: Api, worker: Worker) -> None:
    """So that the next request knows of it."""
    api.store.register(worker)
    api.app.state.service.workers.drop("")


def test_a_job_goes_from_submission_to_its_end(api: Api, caller: Caller) -> None:
    job = caller.submit(labels={"team": "a"}, threads=1, seconds=60, priority=3, seed=7)
    assert job["state"] == "queued"
    assert not job["terminal"]
    assert job["owner"] == caller.owner
    assert job["budget"] == {"trials": 8, "seconds": 60.0}
    assert [t["name"] for t in job["tasks"]] == ["GMM/1@1"]
    claim = api.store.claim("d1", job["id"], lease_seconds=60)
    assert claim is not None
    fenced = api.store.fenced(job["id"], claim.fence)
    fenced.begin((), {f"{job['id']}.0": (1e6, 1e-6)})
    task = f"{job['id']}.0"
    fenced.propose(task, 0, [trial(task, 0)])
    fenced.propose(task, 1, [trial(task, 1, round=1), trial(task, 2, round=1)])
    for number in (0, 1):
        assert api.store.close(task, number, ok())
    crash = Measurement(
        Outcome.CRASHED, error="ended by SIGSEGV\nmore", log="the log", device="here/cpu"
    )
    assert api.store.close(task, 2, crash)
    api.store.end_claimed(job["id"], claim.fence, "succeeded", "trials")
    shown = caller.get(f"/v1/jobs/{job['id']}").json()
    assert (shown["state"], shown["end_reason"], shown["terminal"]) == ("succeeded", "trials", True)
    assert shown["trials"] == 2
    assert shown["outcomes"] == {"ok": 1, "crashed": 1}
    (failure,) = shown["failures"]
    assert (failure["class"], failure["count"]) == ("ended by SIGSEGV", 1)
    assert failure["log"] == "the log"
    assert failure["example_trial"] == f"{task}.2"
    one = caller.get(f"/v1/trials/{task}.2").json()
    assert (one["outcome"], one["open"], one["target_key"]) == (
        "crashed",
        False,
        job["target_key"],
    )
    assert one["measurements"][0]["log"] == "the log"
    assert one["device"] == one["measurements"][0]["environment"]["device"] == "here/cpu"
    assert "command" not in one["toolchain"]


def test_trials_come_in_pages_by_number(api: Api, caller: Caller) -> None:
    job = caller.submit()
    task = f"{job['id']}.0"
    claim = api.store.claim("d1", job["id"], lease_seconds=60)
    assert claim is not None
    api.store.fenced(job["id"], claim.fence).propose(
        task, 0, [trial(task, n, name=f"{job['id']}-{n}") for n in range(5)]
    )
    found: list[int] = []
    cursor: dict[str, Any] = {}
    while True:
        page = caller.get(f"/v1/jobs/{job['id']}/trials", params={"limit": 2, **cursor}).json()
        found += [t["number"] for t in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert found == [0, 1, 2, 3, 4]
    other = caller.submit()
    page = caller.get(f"/v1/jobs/{job['id']}/trials?limit=2").json()
    stolen = caller.get(f"/v1/jobs/{other['id']}/trials", params={"cursor": page["next"]})
    problem(stolen, 400, "bad-cursor")


def test_lists_are_filtered_and_paged_newest_first(api: Api, caller: Caller) -> None:
    jobs = [caller.submit(labels={"n": str(n % 2)}) for n in range(5)]
    caller.post(f"/v1/jobs/{jobs[0]['id']}/cancel")
    newest = [j["id"] for j in reversed(jobs)]

    def ids(**params: Any) -> list[str]:
        return [j["id"] for j in caller.get("/v1/jobs", params=params).json()["items"]]

    assert ids() == newest
    assert ids(state="cancelled") == newest[-1:]
    assert ids(label="n:1") == newest[1::2]
    first = caller.get("/v1/jobs?limit=3").json()
    assert ids(limit=3, cursor=first["next"]) == newest[3:]
    problem(caller.get("/v1/jobs?cursor=nonsense!"), 400, "bad-cursor")


def test_an_idempotency_key_stands_for_one_request_of_one_owner(api: Api, caller: Caller) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"source": "suite:GMM/1@1", "trials": 8}
    first = caller.post("/v1/jobs", json=body, headers=key)
    rewritten = json.dumps({"trials": 8, "source": "suite:GMM/1@1"}, indent=3)
    again = caller.post(
        "/v1/jobs", content=rewritten, headers={**key, "Content-Type": "application/json"}
    )
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["Idempotency-Replayed"] == "true"
    other = caller.post("/v1/jobs", json={**body, "trials": 9}, headers=key)
    assert first.json()["id"] in problem(other, 409, "idempotency-key-reused")["detail"]
    stranger = api.caller().post("/v1/jobs", json=body, headers=key)
    assert stranger.json()["id"] != first.json()["id"]


def test_an_idempotency_key_stands_for_the_uploaded_file_too(caller: Caller) -> None:
    key = {"Idempotency-Key": "file"}
    model = small_onnx()
    first = upload(caller, model, **key)
    assert first.status_code == 202, first.text
    assert upload(caller, model, '{  "trials": 8 }', **key).json()["id"] == first.json()["id"]
    changed = model.replace(b"autosched", b"autosched") + b"\x3a\x00"
    problem(upload(caller, changed, **key), 409, "idempotency-key-reused")


def test_an_uploaded_model_is_read_and_not_kept(caller: Caller) -> None:
    job = upload(caller, small_onnx()).json()
    assert [t["weight"] for t in job["tasks"]] == [1]
    assert job["source"] == "model.onnx"


def test_a_graph_is_submitted_as_json(caller: Caller) -> None:
    answer = caller.post("/v1/jobs", json={"graph": RELU, "trials": 8})
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/v1/jobs/{answer.json()['id']}"
    assert [t["name"] for t in answer.json()["tasks"]] == ["Relu 8x64 relu"]


def test_what_has_no_elements_is_answered_without_tuning(caller: Caller) -> None:
    job = caller.post("/v1/jobs", json={"graph": EMPTY, "trials": 8}).json()
    assert (job["state"], job["tasks"]) == ("succeeded", [])


def test_cancelling_is_repeatable_and_conflicts_with_another_end(api: Api, caller: Caller) -> None:
    job = caller.submit()
    for _ in range(2):
        answer = caller.post(f"/v1/jobs/{job['id']}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    ended = caller.submit()
    claim = api.store.claim("d1", ended["id"], lease_seconds=60)
    assert claim is not None
    api.store.end_claimed(ended["id"], claim.fence, "failed", "no_valid_candidate")
    problem(caller.post(f"/v1/jobs/{ended['id']}/cancel"), 409, "wrong-state")


def test_a_cancelled_job_is_resumed_with_new_totals(caller: Caller) -> None:
    job = caller.submit()
    problem(caller.post(f"/v1/jobs/{job['id']}/resume"), 409, "wrong-state")
    caller.post(f"/v1/jobs/{job['id']}/cancel")
    answer = caller.post(f"/v1/jobs/{job['id']}/resume", json={"trials": 32})
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert answer.json()["budget"]["trials"] == 32


def test_a_waiting_job_says_what_it_waits_for(api: Api, caller: Caller) -> None:
    register(api, worker_of())  # it is there, as of now
    first, second = (caller.submit(threads=1, priority=100) for _ in range(2))
    assert first["pending_reason"] == "next in the queue"
    assert second["pending_reason"] == "position 2 in the queue"


def test_an_owner_has_a_bounded_number_of_jobs(api: Api) -> None:
    caller = api.caller()
    for _ in range(30):
        caller.submit()
    answer = caller.post("/v1/jobs", json={"source": "suite:GMM/1@1", "trials": 8})
    problem(answer, 429, "quota-exceeded")
    assert int(answer.headers["Retry-After"]) >= 1


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"source": "/etc/passwd"}, "/source"),
        ({"source": "file:///etc/passwd"}, "/source"),
        ({"source": "http://localhost/x.onnx"}, "/source"),
        ({"source": "GMM/1@1"}, "/source"),
        ({"source": "suite:GMM/1@1", "graph": RELU}, ""),
        ({}, ""),
        ({"source": "suite:GMM/1@1", "threads": 64}, "/threads"),
        ({"source": "suite:GMM/1@1", "labels": {"a/b": "x"}}, "/labels/a~1b/[key]"),
        ({"source": "suite:GMM/1@1", "trials": 0}, "/trials"),
        ({"source": "suite:GMM/1@1", "wish": 1}, "/wish"),
    ],
)
def test_a_broken_request_names_what_breaks_it(
    caller: Caller, fields: dict[str, Any], pointer: str
) -> None:
    found = problem(caller.post("/v1/jobs", json={"trials": 8, **fields}), 422, "invalid-input")
    assert [e["pointer"] for e in found["errors"]] == [pointer]


@pytest.mark.parametrize(
    "source", ["onnx:../../../etc/passwd", "suite:../x", "onnx:none", "suite:/etc/*"]
)
def test_a_source_that_is_in_no_table_is_refused(caller: Caller, source: str) -> None:
    answer = caller.post("/v1/jobs", json={"source": source, "trials": 8})
    assert "passwd:" not in answer.text
    problem(answer, 422, "invalid-input")


def test_nothing_is_stored_of_a_model_that_breaks_a_rule(caller: Caller) -> None:
    cyclic = {
        **RELU,
        "nodes": [
            {"name": "a", "op": "Relu", "inputs": ["y"], "outputs": ["z"]},
            {"name": "b", "op": "Relu", "inputs": ["z"], "outputs": ["y"]},
        ],
    }
    found = problem(
        caller.post("/v1/jobs", json={"graph": cyclic, "trials": 8}), 422, "invalid-input"
    )
    assert "cyclic" in found["detail"]
    problem(upload(caller, small_onnx()[:-20]), 422, "invalid-input")
    assert caller.get("/v1/jobs").json()["items"] == []


def test_an_upload_that_is_too_large_leaves_nothing(caller: Caller, api: Api) -> None:
    spool = Path(str(api.app.state.service.settings.spool))
    before = sorted(spool.iterdir())
    problem(upload(caller, b"\0" * (UPLOAD_BYTES + 1)), 413, "too-large")

    async def unsized() -> Any:
        yield b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n'
        for _ in range(200):
            yield b"\0" * 16384

    endless = {"Content-Type": "multipart/form-data; boundary=b"}
    problem(caller.post("/v1/jobs", content=unsized(), headers=endless), 413, "too-large")
    assert sorted(spool.iterdir()) == before
    assert caller.get("/v1/jobs").json()["items"] == []


def test_the_target_of_a_job_is_the_only_registered_one(caller: Caller) -> None:
    assert caller.submit()["target_key"] == TARGET.key
    assert caller.submit(target=TARGET.key, threads=1)["threads"] == 1
    unknown = caller.post(
        "/v1/jobs", json={"source": "suite:GMM/1@1", "trials": 8, "target": "graviton3"}
    )
    found = problem(unknown, 422, "no-such-target")
    assert "isa: need 'aarch64', have 'x86-64'" in found["detail"]


def test_a_quarantined_worker_is_shown_and_not_used(api: Api, caller: Caller) -> None:
    other = replace(TARGET, core_kind="other")
    skewed = worker_of(other, "w-2", state="quarantined", note="space: need 2, have 1")
    register(api, skewed)
    shown = caller.get("/v1/workers").json()["items"]
    assert {w["id"]: (w["state"], w["note"]) for w in shown}["w-2"] == (
        "quarantined",
        "space: need 2, have 1",
    )
    assert [t["key"] for t in caller.get("/v1/targets").json()["items"]] == [TARGET.key]
    assert caller.submit()["target_key"] == TARGET.key, "there is one to choose from"
    job = {"source": "suite:GMM/1@1", "trials": 8, "target": other.key}
    refused = problem(caller.post("/v1/jobs", json=job), 422, "no-such-target")
    assert "worker w-2" in refused["detail"]
    assert "is quarantined: space: need 2, have 1" in refused["detail"]


def test_a_job_whose_only_worker_is_quarantined_waits_and_says_so(api: Api, caller: Caller) -> None:
    other = replace(TARGET, core_kind="zen9")
    register(api, worker_of(other, "w-3"))
    job = {"source": "suite:GMM/1@1", "trials": 8, "target": other.key}
    made = caller.post("/v1/jobs", json=job).json()
    register(api, worker_of(other, "w-3", state="gone"))
    register(api, worker_of(other, "w-4", state="quarantined", note="space: need 2, have 1"))
    waiting = caller.get(f"/v1/jobs/{made['id']}").json()
    assert waiting["state"] == "queued"
    assert f"need target {other.key}" in waiting["pending_reason"]
    assert "core_kind: need 'zen9'" in waiting["pending_reason"]
    register(api, worker_of(other, "w-3", state="quarantined"))  # for others there is one target
    assert "worker w-4" in waiting["pending_reason"]
    assert "is quarantined: space: need 2, have 1" in waiting["pending_reason"]


def test_a_worker_says_what_it_is(api: Api, caller: Caller) -> None:
    api.store.calibrate(TARGET.key, {"operations_per_second.2": 1e11})
    register(api, worker_of(versions={"space": "1", "driver": "550.54"}))
    shown = {w["id"]: w for w in caller.get("/v1/workers").json()["items"]}["w-1"]
    assert shown["target"]["features"] == list(TARGET.features)
    assert shown["calibration"] == {"operations_per_second.2": 1e11}
    assert shown["driver"] == "550.54"
    register(api, worker_of())


def test_a_worker_that_only_builds_is_no_target(api: Api, caller: Caller) -> None:
    builder = replace(worker_of(replace(TARGET, core_kind="other"), "w-3"), devices=())
    register(api, builder)
    assert caller.submit()["target_key"] == TARGET.key, "there is one to choose from"
    job = {"source": "suite:GMM/1@1", "trials": 8, "target": builder.target_key}
    problem(caller.post("/v1/jobs", json=job), 422, "no-such-target")


def test_a_job_for_a_compiler_that_is_gone_says_so(api: Api, caller: Caller) -> None:
    job = caller.submit()
    newer = {**TOOLCHAIN, "version": "13.1.0", "flags": ["-O3"]}
    register(api, worker_of(name="w-5", state="gone"))
    register(api, replace(worker_of(), toolchain_key="c1-other", toolchain=newer))
    waiting = caller.get(f"/v1/jobs/{job['id']}").json()["pending_reason"]
    assert f"need toolchain {TOOLCHAIN_KEY}, have c1-other" in waiting
    assert "(version: need '12.2.0', have '13.1.0'; flags: need -O2, have -O3)" in waiting
    register(api, worker_of())


def test_a_total_below_what_is_spent_is_refused(api: Api, caller: Caller) -> None:
    job = caller.submit(trials=8)
    stored = api.store.submitted(job["id"])
    assert stored is not None
    task_id = stored.job.tasks[0][0]
    api.store.propose(task_id, 0, [trial(task_id, n, name=f"{job['id']}{n}") for n in range(6)])
    caller.post(f"/v1/jobs/{job['id']}/cancel")
    answer = caller.post(f"/v1/jobs/{job['id']}/resume", json={"trials": 4})
    assert "has spent 5" in problem(answer, 422, "invalid-input")["detail"]
    assert caller.get(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"


def test_a_failed_job_says_why(api: Api, caller: Caller) -> None:
    job = caller.submit()
    assert job["error"] is None
    claim = api.store.claim("d", job["id"], lease_seconds=60)
    assert claim is not None
    api.store.end_claimed(job["id"], claim.fence, "failed", "error", "no compiler is there")
    assert caller.get(f"/v1/jobs/{job['id']}").json()["error"] == "no compiler is there"


@pytest.mark.parametrize(
    "char", ["\0", "\x1b", "\n", "\x7f", "\x9b", "\u202e", "\u2069"], ids=ascii
)
def test_control_characters_are_refused_wherever_a_client_names_something(
    caller: Caller, char: str
) -> None:
    text = f"a{char}b"
    named = json.loads(json.dumps(RELU).replace('"x"', json.dumps(text)))
    node = {**RELU, "nodes": [{**RELU["nodes"][0], "name": text}]}  # type: ignore[dict-item]
    bodies = ({"labels": {"team": text}}, {"labels": {text: "x"}}, {"source": text})
    for fields in (*bodies, {"graph": named}, {"graph": node}, {"target": text}):
        body = {"source": "suite:GMM/1@1", "trials": 8, **fields}
        if "graph" in fields:
            del body["source"]
        problem(caller.post("/v1/jobs", json=body), 422, "invalid-input")
    for query in ({"label": f"a:{text}"}, {"owner": text}):
        problem(caller.get("/v1/jobs", params=query), 422, "invalid-input")


def test_a_lone_surrogate_is_no_text(caller: Caller) -> None:
    body = b'{"source": "suite:GMM/1@1", "trials": 8, "labels": {"a": "\\ud800"}}'
    headers = {"Content-Type": "application/json"}
    answer = caller.post("/v1/jobs", content=body, headers=headers)
    assert answer.status_code in {400, 422}


def test_a_task_that_no_worker_could_check_is_refused(caller: Caller) -> None:
    large = {**RELU, "inputs": [{"name": "x", "dtype": "float32", "shape": [1 << 31]}]}
    answer = caller.post("/v1/jobs", json={"graph": large, "trials": 8})
    detail = problem(answer, 422, "invalid-input")["detail"]
    assert "tensor 'x' (float32[2147483648]) alone 8589934592" in detail
    assert f"at most {2 << 30} bytes" in detail
    assert caller.post("/v1/best", json={"graph": large}).status_code == 200
