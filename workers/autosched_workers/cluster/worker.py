"""A host that measures for a cluster: one node of Ray, kept in it.

The node is started again, with growing pauses, when it ends: with its head, after a cut link, by a kill. What it leaves
behind is ended first. A node that nobody has spoken to for `SILENT_SECONDS`, though somebody had, is a stranger to its
head, which was restarted, and is started anew as well.

Asked to end, it lets what is under way be finished: it tells the dispatchers through the node's actors, and waits until
each that still asks has let go.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

from autosched.entry.host_worker import hold_worker
from autosched.measure.janitor import fresh_tag, sweep
from autosched_workers.cluster.node import Member, node_command
from autosched_workers.cluster.node_process import NodeProcess
from autosched_workers.cluster.pauses import Pauses
from autosched_workers.cluster.probe import can_join, check_token
from autosched_workers.cluster.standing import Standing
from autosched_workers.cluster.workplace import Workplace

SILENT_SECONDS = 45.0
GONE_SECONDS = 10.0
SWEEP_SECONDS = 30.0
DRAIN_SECONDS = 60.0
LOOK_SECONDS = 0.1

Say = Callable[[str], None]


class ClusterWorker:
    """Runs until `stop` has been called and the node has ended. `workplace`: without its folder."""

    def __init__(self, member: Member, workplace: Workplace, say: Say) -> None:
        self._member = member
        self._say = say
        folder = tempfile.mkdtemp(prefix=f"{fresh_tag()}-")
        self._place = replace(workplace, folder=folder)
        self._standing = Standing(folder)
        self._node: NodeProcess | None = None
        self._started_at = 0.0
        self._restart_at = 0.0
        self._pauses = Pauses()
        self._swept_at = 0.0
        self._is_joined = False
        self._stop_asked = False
        self._stop_by: float | None = None

    def stop(self) -> None:
        """Asks for the end; may be called from a signal handler."""
        self._stop_asked = True

    def run(self) -> None:
        try:
            while not self._is_done():
                self._keep(time.monotonic())
                time.sleep(LOOK_SECONDS)
        finally:
            self._end_node()
            shutil.rmtree(self._place.folder, ignore_errors=True)

    def _is_done(self) -> bool:
        if not self._stop_asked:
            return False
        now = time.monotonic()
        if self._stop_by is None:
            self._say("finishing what is under way")
            self._standing.drain()
            self._stop_by = now + DRAIN_SECONDS
        return self._node is None or self._is_released() or now >= self._stop_by

    def _is_released(self) -> bool:
        """By all who still ask, or are there."""
        place = self._standing
        asking = [a for a, age in place.askers().items() if age < GONE_SECONDS or place.is_there(a)]
        return all(place.has_released(a) for a in asking)

    def _keep(self, now: float) -> None:
        if now - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = now
            sweep()
            if self._node is not None:
                self._node.reap()
        if self._node is None:
            if now >= self._restart_at and not self._stop_asked:
                self._start(now)
        elif self._node.poll() is not None:
            if not self._standing.askers():
                check_token(self._member)
            self._ended(f"the node ended with {self._node.how()}", now)
        elif min(self._standing.askers().values(), default=0.0) > SILENT_SECONDS:
            self._ended(f"nobody has spoken to the node for {SILENT_SECONDS:.0f} s", now)
        elif not self._is_joined and self._standing.askers():
            self._is_joined = True
            self._say(f"joined {self._member.head}: a dispatcher has found this host")

    def _start(self, now: float) -> None:
        self._standing.forget()
        self._is_joined = False
        self._started_at = now
        if not can_join(self._member):
            self._ended(f"no head answers at {self._member.head}", now)
            return
        environment = {**self._member.environment(), **self._place.environment()}
        self._node = NodeProcess(node_command(self._member, is_worker=True), environment)
        self._say(f"joining {self._member.head}")

    def _ended(self, why: str, now: float) -> None:
        self._end_node()
        pause = self._pauses.after(now - self._started_at)
        self._restart_at = now + pause
        self._say(why if self._stop_asked else f"{why}: joining again in {pause:.0f} s")

    def _end_node(self) -> None:
        if self._node is not None:
            self._node.end()
            self._node = None


def run_worker(member: Member, workplace: Workplace) -> None:
    """As this host's only worker until SIGTERM or SIGINT, and until what is under way is finished. DeviceBusy: the host
    has one already. InvalidInput: the head lets anybody in, or not us."""
    worker = ClusterWorker(member, workplace, lambda text: print(text, file=sys.stderr, flush=True))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    with hold_worker():
        worker.run()
