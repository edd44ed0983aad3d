"""`autosched best`: the best known configuration of every workload."""

from __future__ import annotations

from autosched.cli import options
from autosched.cli.output import OUT, print_json, say_untuned, table, time_text
from autosched.cli.status import DONE


def best(
    source: options.Source,
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    json: options.Json = False,
) -> int:
    """Ask the database for the best configuration of every workload; nothing is measured."""
    from autosched.entry.best import best as ask
    from autosched.entry.winners import Chosen
    from autosched.wire.best import BestDocument, BestDocuments
    from autosched.wire.number import microseconds

    def document(chosen: Chosen) -> BestDocument:
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
        )

    answers = ask(source, target=target, threads=threads, db=db)
    if json:
        print_json(BestDocuments(tasks=[document(a) for a in answers]))
        return DONE
    rows = [
        (a.subject.name, a.match, time_text(a.median_seconds), a.trial_id or "-", a.reason)
        for a in answers
    ]
    columns = ("task", "match", "median", "trial", "reason")
    OUT.print(table("", columns, rows, texts=("match", "trial", "reason"), whole=("trial",)))
    say_untuned(source, [a.match for a in answers])
    return DONE
