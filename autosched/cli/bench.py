"""`autosched bench`: our kernels beside other libraries."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import ERR, OUT, print_json, ratio_text, table, time_text
from autosched.cli.progress import ProgressView
from autosched.cli.status import DONE


def bench(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Cases of the suite or models.")
    ],
    peers: Annotated[
        str, typer.Option("--peers", help="Comma-separated: torch, numpy, onnxruntime.")
    ] = "torch,numpy,onnxruntime",
    trials: Annotated[
        int, typer.Option("--trials", help="Tune each case first with this budget; 0: as it is.")
    ] = 0,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    db: options.Database = None,
    json: options.Json = False,
) -> int:
    """Time our kernels and other libraries' side by side, each in a process of its own."""
    from autosched.entry.bench import BenchOptions, CaseResult
    from autosched.entry.bench import bench as run
    from autosched.wire.bench import bench_document, case_document

    wanted = tuple(p for p in peers.split(",") if p)
    missing = [p for p in wanted if find_spec(p) is None]
    if missing:
        ERR.print(
            f"not installed, so not compared: {', '.join(missing)} (the extra `bench` has them)",
            markup=False,
        )
    options_ = BenchOptions(wanted, trials, seed, threads=threads, db=db)

    def show(case: CaseResult) -> None:
        ratio = ratio_text(case.comparison.ratio)
        ERR.print(f"{case.name}: {ratio} of {case.comparison.best_peer or 'no peer'}", markup=False)

    with ProgressView(ERR) as view:
        results = run(sources, options_, listen=view, on_case=show)
    document = bench_document([case_document(r.name, r.comparison, r.threads) for r in results])
    if json:
        print_json(document)
        return DONE
    rows = [
        (
            c.name,
            *(time_text(_seconds(us)) for us in (c.ours_us, c.default_us)),
            *(time_text(_seconds(c.peers.get(p))) for p in wanted),
            ratio_text(c.ratio_to_best_peer),
            "-" if c.ratio_spread is None else f"{c.ratio_spread:.2f}",
        )
        for c in document.cases
    ]
    OUT.print(table("", ("case", "ours", "default", *wanted, "ratio", "spread"), rows))
    OUT.print(
        "ratio: time of the best library over ours, round by round (above 1 ours is faster), and its spread"
    )
    if document.geomean is not None and len(document.cases) > 1:
        OUT.print(f"geometric mean of the ratios to the best peer: {document.geomean:.3f}")
    return DONE


def _seconds(us: float | None) -> float | None:
    return None if us is None else us * 1e-6
