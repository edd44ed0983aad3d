"""`autosched best`: the best known configuration of every workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from autosched.cli import options
from autosched.cli.connection import LOOKUP_SECONDS, cache_directory, connect
from autosched.cli.output import (
    ERR,
    OUT,
    moment_text,
    print_json,
    say_untuned,
    table,
    time_text,
)
from autosched.cli.status import DONE

if TYPE_CHECKING:
    from autosched.client import Found
    from autosched.entry.winners import Chosen
    from autosched.wire.best import BestDocument


def best(
    context: typer.Context,
    source: options.Source,
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    json: options.Json = False,
    server: options.Server = None,
    cache: options.Cache = None,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
) -> int:
    """Ask the database, or a server, for the best configuration of every workload; nothing is measured."""
    if server is None:
        from autosched.entry.best import best as ask

        options.refuse(context, "cache", because="needs --server")
        _print(source, ask(source, target=target, threads=threads, db=db), json)
        return DONE
    from autosched.entry.served_best import served_best

    options.refuse(context, "db", because="and --server exclude each other")
    with connect(server, token, allow_plain_token, LOOKUP_SECONDS) as client:
        served = served_best(source, client, cache_directory(cache), target=target, threads=threads)
    say_cached(served.found)
    _print(source, served.chosen, json, server)
    return DONE


def say_cached(found: Sequence[Found]) -> None:
    """On stderr, where the server was away, since when its answers may have changed, and why it was not asked."""
    stale = [f.stale_since for f in found if f.stale_since is not None]
    if stale:
        ERR.print(
            f"the server is away, so {len(stale)} of {len(found)} answers are from the cache, "
            f"the oldest of {moment_text(min(stale))}: {found[0].reason}",
            markup=False,
        )
    elif found and found[0].reason:
        ERR.print(f"the answers were {found[0].reason}", markup=False)


def _print(source: str, answers: Sequence[Chosen], json: bool, server: str | None = None) -> None:
    if json:
        from autosched.wire.best import BestDocuments

        print_json(BestDocuments(tasks=[_document(a) for a in answers]))
        return
    rows = [
        (a.subject.name, a.match, time_text(a.median_seconds), a.trial_id or "-", a.reason)
        for a in answers
    ]
    columns = ("task", "match", "median", "trial", "reason")
    OUT.print(table("", columns, rows, texts=("match", "trial", "reason"), whole=("trial",)))
    say_untuned(source, [a.match for a in answers], server)


def _document(chosen: Chosen) -> BestDocument:
    from autosched.wire.best import BestDocument
    from autosched.wire.number import microseconds

    return BestDocument(
        name=chosen.subject.name,
        workload_key=chosen.subject.workload.key,
        match=chosen.match,
        reason=chosen.reason,
        trial=chosen.trial_id,
        derivation=[dict(step) for step in chosen.candidate.derivation],
        values=dict(chosen.candidate.values),
        median_us=microseconds(chosen.median_seconds),
        measured_at=chosen.measured_at,
        source_digest=chosen.kernel.digest if chosen.match == "exact" else None,
    )
