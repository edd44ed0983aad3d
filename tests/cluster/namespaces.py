"""Sets of Linux namespaces that live as long as their first process, and no longer than whoever made them.

They have no names in the system, so that nothing of them can be left behind: the first process ends when the pipe to it
does, however its maker ended, and takes the namespaces and all that runs in them along.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from autosched.testing.waiting import until

INIT = Path(__file__).with_name("init.py")
NEEDED = ("ip", "unshare", "nsenter", "mount", "hostname", "taskset", "setpriv")
WHOLE_HOST = ("--net", "--mount", "--pid", "--uts", "--ipc", "--mount-proc")
START_SECONDS = 60.0


class NoHosts(Exception):
    """Hosts cannot be made here; the message says why."""


def require_namespaces() -> None:
    """NoHosts unless namespaces can be made: root and a few programs are needed."""
    if os.getuid() != 0:
        raise NoHosts("hosts made of namespaces need root")
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise NoHosts(f"hosts made of namespaces need {', '.join(missing)}")
    tried = subprocess.run(["unshare", *WHOLE_HOST, "--fork", "true"], capture_output=True)
    if tried.returncode:
        raise NoHosts(f"namespaces cannot be made here: {tried.stderr.decode().strip()}")


@dataclass(frozen=True)
class Namespaces:
    """Living namespaces; `init` is their first process, as seen from outside."""

    maker: subprocess.Popen[bytes]
    init: psutil.Process

    def end(self) -> None:
        """Kills the first process, and with it all others; returns when they are gone."""
        with suppress(psutil.NoSuchProcess):
            self.init.kill()
        self.maker.wait()
        for pipe in (self.maker.stdin, self.maker.stdout):
            assert pipe is not None
            pipe.close()

    @property
    def is_up(self) -> bool:
        return self.maker.poll() is None

    def ip(self, *arguments: str) -> str:
        """The program `ip`, on this network."""
        command = ["nsenter", "-t", str(self.init.pid), "-n", "ip", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def new_namespaces(kinds: tuple[str, ...], spec: Mapping[str, Any], log: Path) -> Namespaces:
    """Fresh namespaces of the kinds that `unshare` is told, made into what `spec` says (see `init`)."""
    init = (sys.executable, "-IS", str(INIT), json.dumps(spec))
    with log.open("wb") as errors:
        maker = subprocess.Popen(
            ["unshare", *kinds, "--fork", "--kill-child", *init],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    assert maker.stdout is not None
    if maker.stdout.readline() != b"ready\n":
        status = maker.wait()
        raise RuntimeError(f"namespaces: the first process ended with {status}: {log.read_text()}")
    found = until(lambda: psutil.Process(maker.pid).children(), seconds=START_SECONDS)
    return Namespaces(maker, found[0])
