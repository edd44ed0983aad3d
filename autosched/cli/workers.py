"""`autosched workers`: who measures for a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import ERR, OUT, counted, moment_text, print_json, say_empty, table
from autosched.cli.status import DONE
from autosched.wire.machine import WorkerDocument


def workers(
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    is_all: Annotated[
        bool, typer.Option("--all", help="Also those that later ones of their host replaced.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Show a server's workers: hosts, devices, targets, and whether they are there."""
    with connect(server, token, allow_plain_token) as client:
        found = client.workers()
    if json:
        print_json(found)
        return DONE
    shown = [w for w in found.items if is_all or not _is_replaced(w, found.items)]
    say_empty(shown, "worker")
    if not shown:
        return DONE
    rows = [
        (
            w.id,
            w.host,
            w.state if w.alive or w.state == "gone" else f"{w.state}, away",
            ", ".join(w.devices),
            f"{w.target_key}, {w.max_threads} threads{_machine(w)}",
            f"{w.toolchain.name} {w.toolchain.version}".strip(),
            _reach(w.calibration, w.max_threads),
            moment_text(w.seen_at) or "-",
            w.note,
        )
        for w in shown
    ]
    columns = (
        *("worker", "host", "state", "devices", "target", "compiler", "reaches"),
        *("last seen", "note"),
    )
    OUT.print(table("", columns, rows, texts=columns[1:], whole=("worker",)))
    hidden = len(found.items) - len(shown)
    if hidden:
        ERR.print(f"{counted(hidden, 'earlier worker')} of these hosts: --all", markup=False)
    return DONE


def _is_replaced(worker: WorkerDocument, among: Sequence[WorkerDocument]) -> bool:
    """Whether a later worker of its host took its place: any, once it has said good-bye; one with the same devices, where
    it is only not heard of."""
    if worker.alive:
        return False
    return any(
        later.host == worker.host
        and _started(later) > _started(worker)
        and (worker.state == "gone" or later.devices == worker.devices)
        for later in among
    )


def _started(worker: WorkerDocument) -> datetime:
    return worker.started_at or datetime.min.replace(tzinfo=UTC)


def _machine(worker: WorkerDocument) -> str:
    """What a worker's host is, for who compares it with another."""
    fields = worker.target
    if not fields:
        return ""
    words = [fields.get("isa"), fields.get("core_kind"), *fields.get("features", ())]
    caches = "/".join(str(fields.get(f"l{n}_bytes", 0) >> 10) for n in (1, 2, 3))
    driver = f", driver {worker.driver}" if worker.driver else ""
    return f", {' '.join(str(w) for w in words if w)}, caches {caches} KiB{driver}"


def _reach(calibration: Mapping[str, float], threads: int) -> str:
    """Peak, and the bandwidth of the slowest memory, with all threads."""
    peak = calibration.get(f"operations_per_second.{threads}")
    memory = [
        value
        for name, value in calibration.items()
        if name.startswith("bytes_per_second.") and name.endswith(f".{threads}")
    ]
    if peak is None or not memory:
        return "-"
    return f"{peak / 1e9:.0f} Gop/s, {min(memory) / 1e9:.0f} GB/s"
