"""Both clients against the real API: every method, its refusals, and a job from its submission to its end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from autosched.client import (
    AsyncClient,
    BestLookup,
    Client,
    InvalidRequest,
    NotThere,
    ServiceError,
)
from autosched.graph.importers.json import import_json
from autosched.testing.records import TARGET, TOOLCHAIN_KEY, task_spec, workload_text
from autosched.testing.submissions import claim
from tests.client.served import Served, api
from tests.graph.models import model_bytes

GRAPH = """{"autosched_graph": 1, "inputs": [{"name": "x", "dtype": "float32", "shape": [8, 64]}],
"nodes": [{"name": "relu", "op": "Relu", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"]}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with api(tmp_path_factory.mktemp("service")) as served:
        yield served


class Awaited:
    """An AsyncClient with the face of a Client, so that one test serves both."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(url, token)

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            made = method(*args, **kwargs)
            if inspect.isasyncgen(made):
                return self._loop.run_until_complete(_all(made))
            return self._loop.run_until_complete(_one(made))

        return call


async def _all(made: AsyncIterator[Any]) -> list[Any]:
    return [value async for value in made]


async def _one(made: Awaitable[Any]) -> Any:
    return await made


@pytest.fixture(params=[Client, Awaited])
def client(request: pytest.FixtureRequest, service: Served) -> Iterator[Client]:
    with request.param(service.url) as made:
        yield made


def end(service: Served, job_id: str) -> None:
    """What a dispatcher does with a job that has nothing to search."""
    fence = claim(service.store, job_id).fence
    service.store.append_event(job_id, "progress", {"trials": 1, "of": 3})
    service.store.end_claimed(job_id, fence, "succeeded", "trials")


def test_the_service_says_what_it_is(client: Client) -> None:
    assert client.health().status == "ok"
    assert client.info().api_version
    assert "MatMul" in {o.name for o in client.ops().items}
    assert [t.key for t in client.targets().items] == [TARGET.key]
    assert [w.devices for w in client.workers().items] == [["mill/cpu"]]


def test_a_job_is_submitted_followed_and_listed(client: Client, service: Served) -> None:
    job = client.submit("suite:GMM/1@1", trials=3, labels={"of": "this"}, priority=2, seed=7)
    assert (job.state, job.budget.trials, job.priority, job.seed) == ("queued", 3, 2, 7)
    end(service, job.id)
    events = list(client.events(job.id))
    assert [e.type for e in events] == ["job", "job", "progress", "job", "end"]
    assert [e.number for e in events] == [1, 2, 3, 4, 5]
    assert [e.number for e in client.events(job.id, after=2)] == [3, 4, 5]
    assert list(client.events(job.id, after=5)) == []
    assert client.wait(job.id).state == "succeeded"
    assert client.job(job.id).end_reason == "trials"
    listed = client.jobs(state="succeeded", label="of:this", limit=1)
    assert [j.id for j in listed.items] == [job.id]
    assert client.trials(job.id).items == []


def test_a_list_goes_on_page_by_page(client: Client) -> None:
    made = [client.submit("suite:GMM/1@1", trials=1, labels={"page": "x"}).id for _ in range(3)]
    first = client.jobs(label="page:x", limit=2)
    second = client.jobs(label="page:x", limit=2, cursor=first.next)
    assert [j.id for j in (*first.items, *second.items)][:3] == made[::-1]
    for job_id in made:
        client.cancel(job_id)


def test_one_key_is_one_job(client: Client) -> None:
    key = f"key-{type(client).__name__}"
    first = client.submit("suite:GMM/1@1", trials=3, idempotency_key=key)
    assert client.submit("suite:GMM/1@1", trials=3, idempotency_key=key).id == first.id
    with pytest.raises(ServiceError) as got:
        client.submit("suite:GMM/1@1", trials=4, idempotency_key=key)
    assert got.value.status == 409
    client.cancel(first.id)


def test_graphs_and_models_travel(client: Client, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(GRAPH)
    (tmp_path / "m.onnx").write_bytes(_model())
    for source in (import_json(GRAPH.encode()), tmp_path / "g.json", str(tmp_path / "m.onnx")):
        job = client.submit(source, trials=1)
        assert len(job.tasks) == 1
        client.cancel(job.id)


def _model() -> bytes:
    return model_bytes([helper.make_node("Relu", ["x"], ["y"])], {"x": [8, 64]}, ["y"])


def test_cancel_and_resume(client: Client) -> None:
    job = client.submit("suite:GMM/1@1", trials=3)
    assert client.cancel(job.id).state == "cancelled"
    assert client.cancel(job.id).state == "cancelled"
    assert client.resume(job.id, trials=9).budget.trials == 9
    with pytest.raises(ServiceError) as got:
        client.resume(job.id)
    assert got.value.status == 409
    assert got.value.type.endswith("wrong-state")
    client.cancel(job.id)
    assert [e.type for e in client.events(job.id)].count("end") == 2


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"source": "suite:NOPE/*", "trials": 1}, "NOPE"),
        ({"source": "suite:GMM/1@1", "trials": 0}, "trials"),
        ({"source": "suite:GMM/1@1", "trials": 1, "target": "nowhere"}, "nowhere"),
        ({"source": "suite:GMM/1@1", "trials": 1, "threads": 512}, "512"),
        ({"source": "suite:GMM/1@1", "trials": 1, "labels": {"a b": "c"}}, "a b"),
    ],
)
def test_what_the_service_refuses_names_what_is_wrong(
    fields: dict[str, Any], named: str, client: Client
) -> None:
    source = fields["source"]
    rest = {name: value for name, value in fields.items() if name != "source"}
    with pytest.raises(InvalidRequest, match=named) as got:
        client.submit(source, **rest)
    assert got.value.status == 422


def test_what_is_not_there_is_not_there(client: Client) -> None:
    for ask in (client.job, client.trial, client.workload, client.cancel, client.wait):
        with pytest.raises(NotThere):
            ask("nothing")
    with pytest.raises(NotThere):
        list(client.events("nothing"))


def test_winners_are_looked_up(client: Client, service: Served, tmp_path: Path) -> None:
    known, text = task_spec(), workload_text(rows=128)
    unknown = task_spec(128)
    answers = client.best_many([known.workload_key, unknown.workload_key], target=TARGET.key).tasks
    assert [a.workload_key for a in answers] == [known.workload_key, unknown.workload_key]
    assert {a.match for a in answers} == {"default"}
    assert client.best(known.workload_key, TARGET.key, TOOLCHAIN_KEY).match == "default"
    with pytest.raises(InvalidRequest, match="texts"):
        client.best_many([known.workload_key], texts=[text], target=TARGET.key)
    with Client(service.url) as blocking:
        lookup = BestLookup(blocking, tmp_path)
        found = lookup.one(unknown.workload_key, TARGET.key, text=text)
    assert found.answer.match == "default"
    assert not found.from_cache


def test_owners_see_their_own_jobs(tmp_path: Path) -> None:
    with api(tmp_path, require_tokens=True) as service:
        ann, bob = (service.token(name, "read", "submit") for name in ("ann", "bob"))
        reader, admin = service.token("ann", "read"), service.token("root", "admin")
        with Client(service.url, ann) as client:
            job = client.submit("suite:GMM/1@1", trials=1)
        with Client(service.url, bob) as client:
            with pytest.raises(NotThere):
                client.job(job.id)
            assert client.jobs().items == []
        with Client(service.url, admin) as client:
            assert client.jobs(owner="ann").items[0].id == job.id
        with Client(service.url, reader) as client:
            assert client.job(job.id).owner == "ann"
            _refused(client, 403)
        for token in (None, "ast_000000000000_" + "A" * 43, "nonsense"):
            with Client(service.url, token) as client:
                _refused(client, 401)


def _refused(client: Client, status: int) -> None:
    with pytest.raises(ServiceError) as got:
        client.submit("suite:GMM/1@1", trials=1)
    assert got.value.status == status


def test_what_is_too_large_is_refused_before_all_of_it_was_sent(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(bytes(40 << 20))
    (tmp_path / "g.json").write_text('{"x": "' + "a" * (20 << 20) + '"}')
    limits = {"upload_bytes": 1 << 20, "body_bytes": 1 << 20}
    with api(tmp_path, **limits) as service, Client(service.url) as client:
        for name in ("m.onnx", "g.json"):
            with pytest.raises(InvalidRequest, match="at most") as got:
                client.submit(tmp_path / name, trials=1)
            assert got.value.status == 413
