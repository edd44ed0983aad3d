"""The processes of the jobs that a dispatcher holds: started warm, heard, told, ended.

They are forked by a server that has imported what they need and nothing else, so that one starts in milliseconds; the
dispatcher itself could not fork them, for it has threads of the libraries it uses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from autosched.measure.janitor import VARIABLE, fresh_tag
from autosched_workers.job_process import PRELOADED, Assignment, run_job
from autosched_workers.lab import Lab
from autosched_workers.messages import DeviceAsked, DeviceReturned, Ended, Event, Exited, JobEnd
from autosched_workers.turns import receive, send


@dataclass(eq=False)
class JobProcess:
    job_id: str
    process: BaseProcess
    pipe: Connection
    is_silent: bool = False


class JobProcesses:
    """Those of one dispatcher, by job id."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(list(PRELOADED))
        os.environ[VARIABLE] = fresh_tag()  # of the server, and so of all that it forks
        self._running: dict[str, JobProcess] = {}
        self._not_started: list[str] = []
        self._warm_up()

    def _warm_up(self) -> None:
        """Waits until the server has imported everything, so that the first job does not keep a heartbeat waiting."""
        first = self._context.Process(target=os.getpid)
        first.start()
        first.join()

    def start(self, assignment: Assignment) -> None:
        """A process that cannot be started is one that ended."""
        # The server may have been killed; another takes its place at the second request.
        for _ in range(2):
            with contextlib.suppress(OSError, EOFError):
                self._running[assignment.job_id] = self._started(assignment)
                return
        self._not_started.append(assignment.job_id)

    def _started(self, assignment: Assignment) -> JobProcess:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=run_job, args=(assignment, self._lab, theirs), name=f"job {assignment.job_id}"
        )
        with theirs:
            process.start()
        return JobProcess(assignment.job_id, process, ours)

    def say(self, job_id: str, **message: Any) -> None:
        """Tells a process; one that is gone will be noticed by its end."""
        known = self._running.get(job_id)
        if known is not None:
            with contextlib.suppress(OSError):
                send(known.pipe, **message)

    def kill(self, job_id: str) -> None:
        known = self._running.get(job_id)
        if known is not None:
            known.process.kill()

    def wait(self, files: Sequence[int], seconds: float) -> list[Event]:
        """What happens within `seconds`, or until one of `files` can be read."""
        if self._not_started:
            gone, self._not_started = self._not_started, []
            return [Exited(job_id, "before it began") for job_id in gone]
        running = list(self._running.values())
        pipes = [known.pipe for known in running if not known.is_silent]
        sentinels = [known.process.sentinel for known in running]
        ready = wait([*pipes, *sentinels, *files], timeout=max(0.0, seconds))
        events: list[Event] = []
        for known in running:
            if known.process.sentinel in ready:
                events += self._exited(known)
            elif known.pipe in ready:
                events += self._read(known)
        return events

    def _read(self, known: JobProcess) -> list[Event]:
        events: list[Event] = []
        try:
            while known.pipe.poll():
                events.append(_event(known.job_id, receive(known.pipe)))
        except (EOFError, OSError):
            known.is_silent = True
        return events

    def _exited(self, known: JobProcess) -> list[Event]:
        """What it still had to say comes first."""
        del self._running[known.job_id]
        said = [] if known.is_silent else self._read(known)
        known.process.join()
        code = cast(int, known.process.exitcode)
        known.process.close()
        known.pipe.close()
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        return [*said, Exited(known.job_id, how)]


def _event(job_id: str, message: dict[str, Any]) -> Event:
    match message["say"]:
        case "ask":
            return DeviceAsked(job_id)
        case "return":
            return DeviceReturned(job_id)
        case "end":
            end = message["end"]
            return Ended(job_id, None if end is None else JobEnd(*end), message["is_clean"])
    raise AssertionError(f"a job's process said {message}")
