"""`autosched explain`: the fusion plan, edge by edge."""

from __future__ import annotations

from autosched.cli import options
from autosched.cli.output import OUT, print_json, table
from autosched.cli.status import DONE


def explain(source: options.Source, json: options.Json = False) -> int:
    """Show which operators share a kernel, and why the others do not."""
    from autosched.entry.work import work_of
    from autosched.wire.explain import ExplainDocument, WorkloadDocument, explain_document

    work = work_of(source)
    if work.partition is not None:
        document = explain_document(work.partition)
    else:
        single = [
            WorkloadDocument(
                name=s.name, workload_key=s.workload.key, weight=s.weight, calls=[[s.name]]
            )
            for s in work.subjects
        ]
        document = ExplainDocument(workloads=single, edges=[])
    if json:
        print_json(document)
        return DONE
    if work.partition is None:
        OUT.print(f"{work.name}: single workloads, nothing to fuse", markup=False)
        return DONE
    rows = [(w.name, str(w.weight), w.workload_key) for w in document.workloads]
    OUT.print(table("workloads", ("workload", "calls", "key"), rows))
    edges = [
        (f"{e.producer} -> {e.consumer}", e.fusion, _size(e.saved_bytes), e.reason)
        for e in document.edges
    ]
    OUT.print(table("edges", ("edge", "fusion", "saved", "why"), edges))
    return DONE


def _size(n_bytes: int) -> str:
    if n_bytes == 0:
        return "-"
    return f"{n_bytes / 1024:.0f} KiB" if n_bytes < 1 << 20 else f"{n_bytes / (1 << 20):.1f} MiB"
