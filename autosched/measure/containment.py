"""Running what is not trusted: a child with limits, whose every descendant is gone when it is over.

The warden is process 1 of its own PID namespace where the host permits that: then one signal ends all it ever begot,
whatever session they moved to. Elsewhere it is a subreaper, to which every orphan below it falls, and it ends its
children until there are none.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from autosched.measure import linux

TAIL_BYTES = 16 << 10
ANSWER_BYTES = 4 << 20
MEMORY_POLL_MS = 50
SWEEP_ROUNDS = 2000
CHILD_FAILED = 120
NOBODY = 65534
PAGE_BYTES = resource.getpagesize()


@dataclass(frozen=True)
class Limits:
    """Of one child and all below it (wall, memory) or each process (CPU time, file size). None is no limit."""

    wall_seconds: float
    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None


@dataclass
class Ending:
    """How a child came to its end. `status`: exit status or signal number; `strays`: processes it left behind;
    `output`: the tail of what it printed; `answer`: what it wrote to its answer file."""

    kind: Literal["exited", "signalled", "deadline", "memory", "abandoned"]
    status: int = 0
    strays: int = 0
    wall_seconds: float = 0.0
    output: bytes = b""
    answer: bytes = b""


@dataclass
class _Child:
    pid: int
    handle: int
    answer: int
    output: int
    started: float = field(default_factory=time.monotonic)


def enter_namespaces(*, network: bool, alone: bool = True) -> None:
    """Leaves the host's processes and, unless `network`, its network, as far as permitted; not if not `alone`. The
    process is that of the next `os.fork`. What falls to this process in either case, it will hear of."""
    wanted = linux.CLONE_NEWPID | linux.CLONE_NEWIPC | (0 if network else linux.CLONE_NEWNET)
    if alone and not linux.unshare(wanted):
        linux.unshare(linux.CLONE_NEWUSER | wanted)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)


def contain(body: Callable[[int], None], limits: Limits, abandon: int) -> Ending:
    """Runs `body(answer_file)` in a child until it ends or breaks a limit, then ends all that is left of it.

    `abandon` is a descriptor: when its other side closes, the child is ended at once.
    """
    child = _start(body, limits, abandon)
    ending = Ending("exited")
    try:
        ending.kind = _watch(child, limits, abandon, ending)
    finally:
        ending.wall_seconds = time.monotonic() - child.started
        status, ending.strays = end_children(child.pid)
        _drain(child, ending)
        for file in (child.handle, child.answer, child.output):
            os.close(file)
    if ending.kind == "exited":
        if os.WIFSIGNALED(status):
            ending.kind, ending.status = "signalled", os.WTERMSIG(status)
        else:
            ending.status = os.WEXITSTATUS(status)
    return ending


def end_children(first: int = 0) -> tuple[int, int]:
    """Ends and reaps every descendant. Wait status of child `first`, and how many others there were."""
    status, others = 0, 0
    for _ in range(SWEEP_ROUNDS):
        _kill_descendants()
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                others += found[0] != first
                status = found[1] if found[0] == first else status
        except ChildProcessError:
            break
        time.sleep(0.0005)
    return status, others


def _kill_descendants() -> None:
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in _children(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def _start(body: Callable[[int], None], limits: Limits, abandon: int) -> _Child:
    answer_read, answer_write = os.pipe()
    output_read, output_write = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _be_child(body, limits, (parent, answer_write, output_write, abandon))
    os.close(answer_write)
    os.close(output_write)
    for file in (answer_read, output_read):
        os.set_blocking(file, False)
    return _Child(pid, os.pidfd_open(pid), answer_read, output_read)


def _be_child(body: Callable[[int], None], limits: Limits, ends: tuple[int, int, int, int]) -> None:
    """Never returns: the child's whole life."""
    parent, answer, output, abandon = ends
    try:
        os.setsid()
        linux.die_with_parent()
        if os.getppid() != parent:
            os._exit(CHILD_FAILED)
        os.close(abandon)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, output), (2, output)):
            os.dup2(source, target)
        _limit(limits)
        body(answer)
        os._exit(0)
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(CHILD_FAILED)


def _limit(limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.cpu_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    if limits.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    if limits.memory_bytes is not None:
        space = limits.memory_bytes + (4 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)


def drop_privileges() -> None:
    """From root to nobody, where we are root; file descriptors stay open."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        # A change of user clears both.
        linux.prctl(linux.PR_SET_DUMPABLE, 1)
        linux.die_with_parent()
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)


def _watch(
    child: _Child, limits: Limits, abandon: int, ending: Ending
) -> Literal["exited", "deadline", "memory", "abandoned"]:
    """Waits for the child's end or the first broken limit, reading what it says meanwhile."""
    poll = select.poll()
    poll.register(child.handle, select.POLLIN)
    poll.register(child.answer, select.POLLIN)
    poll.register(child.output, select.POLLIN)
    poll.register(abandon, select.POLLRDHUP | select.POLLHUP)
    deadline = child.started + limits.wall_seconds
    open_files = {child.answer, child.output}
    while True:
        left_ms = (deadline - time.monotonic()) * 1000
        if left_ms <= 0:
            return "deadline"
        wait_ms = min(left_ms, MEMORY_POLL_MS) if limits.memory_bytes else left_ms
        ready = {file for file, _ in poll.poll(max(1, wait_ms))}
        if abandon in ready:
            return "abandoned"
        for file in ready & open_files:
            if not _read(child, file, ending):
                poll.unregister(file)
                open_files.discard(file)
        if child.handle in ready:
            return "exited"
        if limits.memory_bytes and _resident_bytes(child.handle) > limits.memory_bytes:
            return "memory"


def _read(child: _Child, file: int, ending: Ending) -> bool:
    """Takes what is there; False at the end of the stream."""
    try:
        data = os.read(file, 1 << 16)
    except BlockingIOError:
        return True
    if file == child.output:
        ending.output = (ending.output + data)[-TAIL_BYTES:]
    elif len(ending.answer) < ANSWER_BYTES:
        ending.answer += data
    return bool(data)


def _drain(child: _Child, ending: Ending) -> None:
    """What is still in the pipes; a pipe holds little, so this is bounded."""
    for file in (child.answer, child.output):
        for _ in range(64):
            before = len(ending.answer), ending.output
            if not _read(child, file, ending) or before == (len(ending.answer), ending.output):
                break


def _resident_bytes(handle: int) -> int:
    """Of the process behind a pidfd, whose number in /proc may differ from the one we know it by."""
    try:
        info = Path(f"/proc/self/fdinfo/{handle}").read_text()
        pid = next(line.split()[1] for line in info.splitlines() if line.startswith("Pid:"))
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, StopIteration, IndexError, ValueError):
        return 0
