"""`autosched worker`: this host measures for a cluster."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import ERR
from autosched.cli.status import DONE, FAILED


def worker(
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            "--address",
            metavar="HOST:PORT",
            help="The cluster's head; either name is good.",
        ),
    ] = None,
    node_ip: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="This host's address there; default: it is found."),
    ] = None,
    compiler: options.Compiler = None,
    journal: options.Journal = None,
    simulate: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="No kernels: each run takes so long."),
    ] = None,
    devices: Annotated[str, typer.Option(help="Names of simulated devices.")] = "simulated0",
    build_only: Annotated[
        bool, typer.Option("--build-only", help="Compile for other hosts; measure nothing.")
    ] = False,
    drain: Annotated[
        bool, typer.Option("--drain", help="Let this host's worker finish, and wait until it has.")
    ] = False,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Join a cluster that anybody can use.")
    ] = False,
) -> int:
    """Measure on this host for the dispatchers of a cluster, until SIGTERM or Ctrl-C; what is under way is finished
    first. The cluster's token is read from RAY_AUTH_TOKEN."""
    from autosched.entry.host_worker import drain_worker
    from autosched.errors import InvalidInput

    if drain:
        return DONE if drain_worker(lambda words: ERR.print(words, markup=False)) else FAILED
    if cluster is None:
        raise InvalidInput("--cluster: name the head of the cluster to join, HOST:PORT")
    given = {
        "cluster": cluster,
        "node-ip": node_ip,
        "compiler": compiler,
        "journal": journal,
        "simulate": simulate,
        "devices": devices,
    }
    words = [f"--{k}={v}" for k, v in given.items() if v is not None]
    flags = {"insecure": insecure, "build-only": build_only}
    words += [f"--{name}" for name, is_set in flags.items() if is_set]
    os.execv(sys.executable, [sys.executable, "-m", "autosched_workers.cluster", "worker", *words])
