"""The warden itself: the program of the small process between the tuner and what is not trusted.

It takes one request at a time from its socket, runs it contained and answers. It ends when its tuner does.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import select
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from autosched.measure import linux
from autosched.measure.channel import Channel, ChannelClosed
from autosched.measure.containment import end_children, enter_namespaces

Job = Callable[[dict[str, Any], list[int], int], tuple[dict[str, Any], list[int]]]
"""(request, its files, the tuner's descriptor) -> (answer, its files); the files are closed afterwards."""


def main(boot: dict[str, Any]) -> None:
    """Enters the namespaces, begets the process that works in them, and ends when that or the tuner does.

    A parent-death signal would tie us to the tuner's thread that started us; this looks at its process.
    """
    tuner = os.pidfd_open(boot["tuner"])
    if os.getppid() != boot["tuner"]:
        os._exit(1)
    enter_namespaces(network=False, alone=boot["namespaces"])
    worker = os.fork()
    if worker == 0:
        _be_worker(boot, tuner)
    os.close(boot["socket"])
    poll = select.poll()
    for handle in (tuner, os.pidfd_open(worker)):
        poll.register(handle, select.POLLIN)
    poll.poll()
    end_children()
    os._exit(0)


def _be_worker(boot: dict[str, Any], tuner: int) -> NoReturn:
    status = 1
    try:
        linux.die_with_parent()
        os.close(tuner)
        # Orphans below must fall to this process, not to the one above that only waits.
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        _serve(boot)
        status = 0
    finally:
        end_children()
        os._exit(status)


def _serve(boot: dict[str, Any]) -> None:
    channel = Channel(socket.socket(fileno=boot["socket"]))
    jobs = _jobs(boot)
    channel.send({"ready": True})
    while True:
        try:
            request, files = channel.receive()
        except ChannelClosed:
            return
        answer, produced = _answer(jobs, request, files, channel.fileno())
        for file in files:
            os.close(file)
        try:
            channel.send(answer, produced)
        except ChannelClosed:
            return
        for file in produced:
            os.close(file)


def _answer(
    jobs: dict[str, Job], request: dict[str, Any], files: list[int], abandon: int
) -> tuple[dict[str, Any], list[int]]:
    """The job's answer; a bug of ours travels to the tuner, where it is raised, and so does what the host refuses."""
    try:
        return jobs[request["job"]](request, files, abandon)
    except (OSError, MemoryError) as error:
        return {"refused": str(error) or repr(error)}, []
    except Exception:
        return {"bug": traceback.format_exc()}, []


def _jobs(boot: dict[str, Any]) -> dict[str, Job]:
    """The jobs of a role; only a runner pays for NumPy. A role MODULE:FUNCTION is made above this package."""
    module, colon, function = boot["role"].partition(":")
    if colon:
        made: dict[str, Job] = getattr(importlib.import_module(module), function)(boot)
        return made
    if boot["role"] == "compiler":
        from autosched.measure.compile_job import compile_source

        return {"compile": compile_source}
    from autosched.measure.kernel_job import KernelJobs

    # Loaded here once, so that every child has it without opening a file.
    runner = KernelJobs(ctypes.CDLL(boot["library"], use_errno=True), boot["journal"])
    return {"measure": runner.measure, "side_by_side": runner.side_by_side}


if __name__ == "__main__":
    sys.exit("started by Warden, not by hand")
