"""`autosched build`: a directory that runs anywhere the target's code does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import OUT, counted, say_untuned
from autosched.cli.status import DONE


def build(
    source: options.Source,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where to.")],
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    compiler: options.Compiler = None,
) -> int:
    """Compile every workload's best kernel and pack constants into a directory."""
    from autosched.entry.build import build as run

    manifest = run(source, output, target=target, threads=threads, db=db, compiler=compiler)
    found: dict[str, int] = {}
    for kernel in manifest.kernels:
        found[kernel.match] = found.get(kernel.match, 0) + 1
    kinds = ", ".join(f"{n} {match}" for match, n in found.items())
    OUT.print(f"{output}: {counted(len(manifest.kernels), 'kernel')} ({kinds})", markup=False)
    say_untuned(source, [kernel.match for kernel in manifest.kernels])
    return DONE
