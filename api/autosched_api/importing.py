"""Models are read elsewhere: a few warm wardens, each of which reads one model at a time in a child with limits.

The service waits for them in a bounded queue; what is beyond is told to come back.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from autosched.entry.service_log import Log
from autosched.measure.janitor import fresh_tag
from autosched.measure.warden import Warden, WardenLost
from autosched.records.store import TaskSpec
from autosched_api.problems import Problem
from autosched_api.settings import Settings

ROLE = "autosched.entry.import_job:jobs"
Form = Literal["onnx", "graph", "source"]


@dataclass(frozen=True)
class Imported:
    """A model as tasks. `key` is the digest of what was read."""

    name: str
    key: str
    tasks: tuple[TaskSpec, ...]


@dataclass(frozen=True)
class ToImport:
    """`file` is a descriptor of the bytes (none for a name), which stays the caller's; `task_bytes` what the tensors of
    one task may take where it is to be tuned."""

    form: Form
    source: str = ""
    file: int | None = None
    task_bytes: int | None = None


class ImportPool:
    """`read` is for the event loop; `close` ends every process."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log
        n = settings.import_processes
        tag = fresh_tag()
        self._idle = [Warden(ROLE, tag) for _ in range(n)]
        self._all = tuple(self._idle)
        self._turn = asyncio.Semaphore(n)
        self._threads = ThreadPoolExecutor(n, thread_name_prefix="import")
        self._waiting = 0

    async def read(self, wanted: ToImport) -> Imported:
        """The tasks of a model. Problem: it breaks a rule or a limit, or too many wait."""
        if self._waiting >= self._settings.import_waiting:
            raise Problem("busy", f"{self._waiting} models wait to be read", retry_seconds=5)
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        return self._imported(await asyncio.shield(self._begin(wanted)))

    def _begin(self, wanted: ToImport) -> asyncio.Future[dict[str, Any]]:
        """Starts the reading, which goes on when its client leaves: what has begun holds its warden to the end."""
        warden = self._idle.pop()
        file = None if wanted.file is None else os.dup(wanted.file)
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, self._ask, warden, replace(wanted, file=file)
        )

        def give_back(_: object) -> None:
            self._idle.append(warden)
            self._turn.release()

        work.add_done_callback(give_back)
        return work

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for warden in self._all:
            warden.end()
        self._threads.shutdown(wait=True)
        for warden in self._all:
            warden.close()

    def _ask(self, warden: Warden, wanted: ToImport) -> dict[str, Any]:
        settings = self._settings
        seconds = settings.import_seconds
        request = {
            "job": "import",
            "form": wanted.form,
            "source": wanted.source,
            "task_bytes": wanted.task_bytes,
            "limits": {
                "wall_seconds": seconds,
                "cpu_seconds": max(1, round(seconds)),
                "memory_bytes": settings.import_memory_bytes,
                "file_bytes": 0,
            },
            "import_limits": {
                "file_bytes": settings.upload_bytes,
                "nodes": settings.import_nodes,
                "folded_bytes": settings.import_folded_bytes,
                "folded_operations": 1 << 30,
            },
        }
        files = [] if wanted.file is None else [wanted.file]
        try:
            return warden.ask(request, files, seconds=seconds)[0]
        except WardenLost as error:
            return {"kind": "lost", "output": str(error), "status": 0}
        finally:
            for file in files:
                os.close(file)

    def _imported(self, answer: dict[str, Any]) -> Imported:
        said = answer.get("said", {})
        if "work" in said:
            work = said["work"]
            tasks: Sequence[dict[str, Any]] = work["tasks"]
            return Imported(
                str(work["name"]), str(work["source_key"]), tuple(TaskSpec(**t) for t in tasks)
            )
        if "invalid" in said:
            raise Problem("invalid-input", str(said["invalid"]))
        raise self._broken(answer, said)

    def _broken(self, answer: dict[str, Any], said: dict[str, Any]) -> Problem:
        """A limit that was met, or a process that ended otherwise."""
        settings = self._settings
        out_of_memory = "memory" in said or "MemoryError" in answer["output"]
        if answer["kind"] == "memory" or out_of_memory:
            n_bytes = settings.import_memory_bytes
            return Problem("import-limit", f"reading the model took more than {n_bytes} bytes")
        if answer["kind"] == "deadline" or _is_cpu_limit(answer):
            seconds = settings.import_seconds
            return Problem("import-limit", f"reading the model took more than {seconds:g} s")
        self._log.error(
            "import_failed",
            kind=answer["kind"],
            status=answer["status"],
            fault=said.get("fault") or answer["output"],
        )
        if answer["kind"] in {"lost", "abandoned"}:
            return Problem("unavailable", "the process that read the model was lost; ask again")
        return Problem("import-failed", "the service's log says why")


def _is_cpu_limit(answer: dict[str, Any]) -> bool:
    return answer["kind"] == "signalled" and answer["status"] in {9, 24}
