"""`autosched workers`: who measures for a server."""

from __future__ import annotations

from autosched.cli import options
from autosched.cli.connection import connect
from autosched.cli.output import OUT, moment_text, print_json, say_empty, table
from autosched.cli.status import DONE


def workers(
    server: options.ServiceUrl = options.DEFAULT_SERVER,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
    json: options.Json = False,
) -> int:
    """Show a server's workers: hosts, devices, targets, and whether they are there."""
    with connect(server, token, allow_plain_token) as client:
        found = client.workers()
    if json:
        print_json(found)
        return DONE
    rows = [
        (
            w.id,
            w.host,
            w.state if w.alive or w.state == "gone" else f"{w.state}, away",
            ", ".join(w.devices),
            f"{w.target_key}, {w.max_threads} threads",
            moment_text(w.seen_at) or "-",
            w.note,
        )
        for w in found.items
    ]
    columns = ("worker", "host", "state", "devices", "target", "last seen", "note")
    OUT.print(table("", columns, rows, texts=columns[1:], whole=("worker",)))
    say_empty(rows, "worker")
    return DONE
