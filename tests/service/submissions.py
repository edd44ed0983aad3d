"""Jobs for simulated devices: small matrix products, each of another size, so that no job knows another's candidates."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from autosched_workers.simulation.lab import SimulatedLab

from autosched.db.store import SqlTuningStore
from autosched.entry.submitted import submitted_tasks
from autosched.entry.work import Work, work_of
from autosched.graph.importers.json import import_json
from autosched.jobs.queue import Quota
from autosched.jobs.record import Submission, Submitted

QUOTA = Quota(jobs=10_000)


def matmul_graph(size: int) -> dict[str, Any]:
    """graph.json of one product with a size of its own."""
    return {
        "autosched_graph": 1,
        "inputs": [
            {"name": "a", "dtype": "float32", "shape": [24, 16 + size]},
            {"name": "b", "dtype": "float32", "shape": [16 + size, 40]},
        ],
        "constants": [],
        "nodes": [{"name": "c", "op": "MatMul", "inputs": ["a", "b"], "outputs": ["c"]}],
        "outputs": ["c"],
    }


def matmul_document(size: int) -> str:
    return json.dumps(matmul_graph(size))


@cache
def matmul_work(size: int) -> Work:
    return work_of(import_json(matmul_document(size)))


def submit(
    store: SqlTuningStore, size: int, *, owner: str = "ann", trials: int = 40, **more: Any
) -> Submitted:
    """A job for the simulated lab's target, in the queue."""
    work, offer = matmul_work(size), SimulatedLab(0.0).offer()
    target, toolchain = offer.fields()
    submission = Submission(
        owner=owner,
        source=work.name,
        source_key=work.key,
        tasks=submitted_tasks(work),
        target_key=offer.target.key,
        target=target,
        toolchain_key=offer.toolchain.key,
        toolchain=toolchain,
        threads=offer.target.threads,
        trials=trials,
        **{"policy": "random", **more},
    )
    return store.submit(submission, QUOTA)[0]
