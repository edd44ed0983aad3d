"""Processes of jobs: what happens when the server that forks them is gone."""

from __future__ import annotations

import os
import signal
from multiprocessing import forkserver

from autosched_workers.job_process import Assignment
from autosched_workers.messages import Event, Exited
from autosched_workers.processes import JobProcesses
from autosched_workers.simulation.lab import SimulatedLab
from autosched_workers.turns import TurnRules

RULES = TurnRules(alternates=False, lease_seconds=1000.0, grace_seconds=1.0, spent_seconds=0.0)


def assignment(job_id: str) -> Assignment:
    """Of a job in a database that does not exist, so that its process ends as soon as it has begun."""
    return Assignment("/nonexistent/none.db", job_id, 1, False, None, "random", RULES)


def test_a_job_is_started_though_the_server_was_killed() -> None:
    processes = JobProcesses(SimulatedLab(0.0))
    server: int = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    os.kill(server, signal.SIGKILL)
    processes.start(assignment("a"))
    events: list[Event] = []
    while not events:
        events = processes.wait((), 60.0)
    assert [type(e) for e in events] == [Exited]
    assert [e.job_id for e in events if isinstance(e, Exited)] == ["a"]
