"""`autosched build`: a directory that runs anywhere the target's code does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autosched.cli import options
from autosched.cli.best import say_cached
from autosched.cli.connection import LOOKUP_SECONDS, cache_directory, connect
from autosched.cli.output import OUT, counted, say_untuned
from autosched.cli.status import DONE

if TYPE_CHECKING:
    from autosched.runtime.manifest import Manifest


def build(
    context: typer.Context,
    source: options.Source,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where to.")],
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    compiler: options.Compiler = None,
    server: options.Server = None,
    cache: options.Cache = None,
    token: options.Token = None,
    allow_plain_token: options.PlainToken = False,
) -> int:
    """Compile every workload's best kernel and pack constants into a directory.

    With --server the kernels are looked up there and compiled here.
    """
    if server is None:
        from autosched.entry.build import build as run

        options.refuse(context, "cache", because="needs --server")
        manifest = run(source, output, target=target, threads=threads, db=db, compiler=compiler)
    else:
        from autosched.entry.served_best import served_build

        options.refuse(context, "db", because="and --server exclude each other")
        with connect(server, token, allow_plain_token, LOOKUP_SECONDS) as client:
            manifest, served = served_build(
                source,
                output,
                client,
                cache_directory(cache),
                target=target,
                threads=threads,
                compiler=compiler,
            )
        say_cached(served.found)
    _say(source, output, manifest, server)
    return DONE


def _say(source: str, output: Path, manifest: Manifest, server: str | None) -> None:
    found: dict[str, int] = {}
    for kernel in manifest.kernels:
        found[kernel.match] = found.get(kernel.match, 0) + 1
    kinds = ", ".join(f"{n} {match}" for match, n in found.items())
    OUT.print(f"{output}: {counted(len(manifest.kernels), 'kernel')} ({kinds})", markup=False)
    say_untuned(source, [kernel.match for kernel in manifest.kernels], server)
