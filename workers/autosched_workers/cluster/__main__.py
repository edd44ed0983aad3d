"""The programs of a cluster: `python -m autosched_workers.cluster head|worker|bridge`.

    head      [--port P]               keeps the list of nodes, on one host
    worker    --cluster HOST:PORT      measures, on every other (`autosched worker` starts it)
    bridge    --cluster HOST:PORT      what a dispatcher starts to reach them

The cluster's secret is read from RAY_AUTH_TOKEN, for arguments are seen by everybody on a host.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys

from autosched.errors import AutoschedError, InvalidInput
from autosched_workers.cluster.node import Member, cluster_token, node_address
from autosched_workers.cluster.workplace import Workplace

DEFAULT = "(default: %(default)s)"


def main(arguments: list[str]) -> int:
    given = program_parser().parse_args(arguments)
    try:
        token = cluster_token(os.environ, is_insecure=given.insecure)
        status: int = PROGRAMS[given.program](given, token)
    except AutoschedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


def _head(given: argparse.Namespace, token: str) -> int:
    from autosched_workers.cluster.head import run_head

    node_ip = node_address(given.node_ip or _address_of_name(), "")
    return run_head(Member(f"{node_ip}:{given.port}", node_ip, token), given.port)


def _worker(given: argparse.Namespace, token: str) -> int:
    from autosched_workers.cluster.worker import run_worker

    devices = tuple(given.devices.split(","))
    workplace = Workplace(
        "", given.compiler, given.journal, given.simulate, devices, given.build_only
    )
    run_worker(_member(given, token), workplace)
    return 0


def _bridge(given: argparse.Namespace, token: str) -> int:
    from autosched_workers.cluster.bridge_process import run_bridge

    return run_bridge(_member(given, token))


PROGRAMS = {"head": _head, "worker": _worker, "bridge": _bridge}


def _member(given: argparse.Namespace, token: str) -> Member:
    node_ip = node_address(given.node_ip, given.cluster)
    return Member(given.cluster, node_ip, token, given.insecure)


def _address_of_name() -> str:
    name = socket.gethostname()
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        raise InvalidInput(f"host {name!r}: name its address by --node-ip: {error}") from None


def program_parser() -> argparse.ArgumentParser:
    """The programs and their options."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--node-ip", help="this host's address in the cluster; default: it is found"
    )
    shared.add_argument("--insecure", action="store_true", help="a cluster that anybody can use")
    joining = argparse.ArgumentParser(add_help=False)
    joining.add_argument("--cluster", required=True, metavar="HOST:PORT", help="the head")
    parser = argparse.ArgumentParser(prog="python -m autosched_workers.cluster")
    programs = parser.add_subparsers(dest="program", required=True)
    head = programs.add_parser("head", parents=[shared], help="keep the list of nodes, on one host")
    head.add_argument("--port", type=int, default=6379, help=f"port to listen on {DEFAULT}")
    programs.add_parser(
        "bridge", parents=[shared, joining], help="what a dispatcher starts to reach workers"
    )
    _add_worker_options(
        programs.add_parser("worker", parents=[shared, joining], help="measure for dispatchers")
    )
    return parser


def _add_worker_options(worker: argparse.ArgumentParser) -> None:
    worker.add_argument("--compiler", help="C compiler; default: the first of gcc, clang, ziglang")
    worker.add_argument("--journal", help="log to this file what the runner runs; default: no log")
    worker.add_argument(
        "--simulate", type=float, metavar="SECONDS", help="no kernels: each run takes so long"
    )
    worker.add_argument(
        "--devices", default="simulated0", help=f"names of simulated devices {DEFAULT}"
    )
    worker.add_argument(
        "--build-only", action="store_true", help="compile for other hosts; have no device"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
