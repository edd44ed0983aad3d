"""A worker whose rules and printers are of another version than its dispatcher's, on a host of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from autosched.entry import space_version
from autosched.jobs.workers import Worker
from autosched.testing.waiting import until
from tests.cluster.keeping import Program
from tests.cluster.world import API_PORT, ClusterWorld

OTHER = "other"

ASK = """
import json, sys
from autosched.client import Client
url, token, target = sys.argv[1:]
with Client(url, token) as client:
    job = client.submit("suite:GMM/1@1", trials=8, target=target)
    pending = client.job(job.id)
    workers = {w.id: [w.state, w.note] for w in client.workers().items}
    print(json.dumps({"state": pending.state, "why": pending.pending_reason, "workers": workers}))
"""


def join_skewed(world: ClusterWorld) -> Worker:
    """Such a worker, of a target that no other has, once it has joined."""
    changed = world.network.shared / "space_version.py"
    changed.write_text(f'SPACE_VERSION = "{OTHER}"\n')
    host = world.network.host("skewed", files={Path(space_version.__file__): changed})
    like = world.keeper.programs[world.workers[0].name]
    command = like.command[: like.command.index("--journal")]  # it measures this very machine
    environment = {**like.environment, "PYTHONDONTWRITEBYTECODE": "1"}
    world.keeper.keep(Program(host.name, host, command, environment))

    def joined() -> Worker | None:
        return next((w for w in world.store.workers() if w.host == host.name), None)

    found = until(joined, seconds=120)
    assert found is not None
    return found


def check_skew(world: ClusterWorld) -> None:
    """It joins, is not matched, and shows why, as does the job that waits for it alone."""
    worker = join_skewed(world)
    note = f"space: need {space_version.SPACE_VERSION}, have {OTHER}"
    assert (worker.state, worker.note) == ("quarantined", note)
    world.store.register(replace(worker, id="as-it-was-before", state="gone", note=""))
    said = ask(world, worker.target_key)
    assert said["workers"][worker.id] == ["quarantined", note]
    assert said["state"] == "queued"
    assert f"worker {worker.id} of target {worker.target_key} is quarantined: {note}" in said["why"]


def ask(world: ClusterWorld, target: str) -> dict[str, Any]:
    """What the API says of the workers, and of a job for a target."""
    database = {"AUTOSCHED_DB": world.environment["AUTOSCHED_DB"]}
    create = ("python", "-m", "autosched", "token", "create", "--owner", "ann")
    token = world.coordinator.run(*create, env=database).stdout.strip()
    url = f"http://127.0.0.1:{API_PORT}"
    done = world.coordinator.run("python", "-c", ASK, url, token, target)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
