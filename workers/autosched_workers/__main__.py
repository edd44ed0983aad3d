"""A dispatcher on this host: `python -m autosched_workers --db postgresql://... [--slots N]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from autosched.errors import AutoschedError
from autosched_workers.cluster.node import Member, cluster_token, node_address
from autosched_workers.dispatch import dispatch
from autosched_workers.lab import HostLab, own_lab
from autosched_workers.simulation.lab import SimulatedLab
from autosched_workers.state import Options

DEFAULT = "(default: %(default)s)"


def main(arguments: list[str]) -> int:
    parser = program_parser()
    given = parser.parse_args(arguments)
    if given.db is None:
        parser.error("--db is needed, or AUTOSCHED_DB")
    options = Options(given.slots, given.lease_seconds, given.quantum_seconds)
    try:
        dispatch(given.db, _lab(given), options)
    except AutoschedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def program_parser() -> argparse.ArgumentParser:
    """The options of this program; `--db` may come from the environment, and is not shown, for it may hold a password."""
    parser = argparse.ArgumentParser(prog="python -m autosched_workers", description=__doc__)
    parser.add_argument(
        "--db",
        default=os.environ.get("AUTOSCHED_DB"),
        help="database URL or path; default: AUTOSCHED_DB of the environment",
    )
    parser.add_argument(
        "--slots", type=int, default=Options.slots, help=f"jobs held at once {DEFAULT}"
    )
    parser.add_argument(
        "--lease-seconds",
        type=float,
        default=Options.lease_seconds,
        help=f"after which another dispatcher takes over what a dead one held {DEFAULT}",
    )
    parser.add_argument(
        "--quantum-seconds",
        type=float,
        default=Options.quantum_seconds,
        help=f"how long a job is held before it yields to an owner who has had less {DEFAULT}",
    )
    parser.add_argument(
        "--compiler", default=None, help="C compiler; default: the first of gcc, clang, ziglang"
    )
    parser.add_argument(
        "--journal",
        type=Path,
        default=None,
        help="log to this file what the runner runs; default: no log",
    )
    parser.add_argument(
        "--simulate",
        type=float,
        metavar="SECONDS",
        help="no kernels: simulated devices, each run taking so long",
    )
    parser.add_argument(
        "--devices", default="simulated0", help=f"names of simulated devices {DEFAULT}"
    )
    parser.add_argument(
        "--cluster",
        metavar="HOST:PORT",
        help="the head of a cluster whose workers measure; default: this host measures",
    )
    parser.add_argument(
        "--node-ip", help="this host's address in the cluster; default: it is found"
    )
    parser.add_argument(
        "--insecure", action="store_true", help="join a cluster that anybody can use"
    )
    return parser


def _lab(given: argparse.Namespace) -> HostLab | Member:
    if given.cluster is not None:
        token = cluster_token(os.environ, is_insecure=given.insecure)
        node_ip = node_address(given.node_ip, given.cluster)
        return Member(given.cluster, node_ip, token, given.insecure)
    if given.simulate is None:
        return own_lab(given.compiler, given.journal)
    return SimulatedLab(given.simulate, tuple(given.devices.split(",")), given.journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
