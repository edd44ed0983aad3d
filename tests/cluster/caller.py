"""The service as its users meet it: from a host that reaches its API alone, with a token made where the database is."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from tests.cluster.hosts import OUTSIDE
from tests.cluster.world import API_PORT, ClusterWorld

ASKING = """
import json, os, sys
from autosched.client import Client
from autosched.errors import AutoschedError

def answer(name, arguments):
    try:
        return getattr(client, name)(**arguments).model_dump(mode="json")
    except AutoschedError as error:
        return {"refused": str(error)}

with Client(sys.argv[1], os.environ["AUTOSCHED_TOKEN"], allow_plain_token=True) as client:
    print(json.dumps([answer(*call) for call in json.load(open(sys.argv[2]))]))
"""

Call = tuple[str, dict[str, Any]]
"""A method of `autosched.client.Client`, and its arguments."""


@dataclass(frozen=True)
class Caller:
    world: ClusterWorld
    token: str

    def ask(self, *calls: Call, seconds: float = 120.0) -> list[Any]:
        """The answers as JSON; {"refused": words} where there is none."""
        world = self.world
        asked = world.network.shared / "asked.json"
        asked.write_text(json.dumps(calls))
        url = f"http://{world.coordinator.address_on(OUTSIDE)}:{API_PORT}"
        done = world.network.outsider.run(
            *(sys.executable, "-c", ASKING, url, str(asked)),
            env={"AUTOSCHED_TOKEN": self.token},
            seconds=seconds,
        )
        answers: list[Any] = json.loads(done.stdout)
        return answers

    def tune(self, source: str, *, seconds: float, **how: Any) -> dict[str, Any]:
        """Submits a job and waits for its end; the job as it ended."""
        (job,) = self.ask(("submit", {"source": source, **how}))
        assert "id" in job, job
        (ended,) = self.ask(("wait", {"job_id": job["id"]}), seconds=seconds)
        assert ended["state"] == "succeeded", ended
        return dict(ended)

    def trials(self, job_id: str) -> list[dict[str, Any]]:
        """Every trial of a job, with everything around it."""
        (page,) = self.ask(("trials", {"job_id": job_id, "limit": 500}))
        assert page["next"] is None
        return self.ask(*(("trial", {"trial_id": t["id"]}) for t in page["items"]))


def new_caller(world: ClusterWorld, owner: str = "ann") -> Caller:
    """With a token that is made on the coordinator."""
    made = world.coordinator.run(
        *("python", "-m", "autosched", "token", "create", "--owner", owner),
        env={"AUTOSCHED_DB": world.database.far},
    )
    return Caller(world, made.stdout.strip())
