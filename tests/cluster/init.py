"""The first process of a test host: makes the host's own places, reaps whatever is orphaned, ends with its standard input.

Run as a script inside fresh namespaces; its one argument is JSON: `hostname`; `own`, pairs of a directory and the place
where it is mounted; `memory`, pairs of a directory and the place where memory is mounted; `keep`, paths that stay visible
although such a place covers them; `files`, pairs of a file and the place where it is shown. It writes "ready" once the
host is as described. The end of standard input means that whoever made the host has ended: the first process of a pid
namespace takes all others along.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, stdin=subprocess.DEVNULL)


def keep_below(place: str, directory: str, paths: list[str]) -> None:
    """Shows those of `paths` that `place` holds in the directory that will cover it."""
    for path in map(Path, paths):
        if path.is_relative_to(place) and path.exists():
            shown = Path(directory) / path.relative_to(place)
            shown.mkdir(parents=True, exist_ok=True)
            mount("--bind", str(path), str(shown))


def make_places(spec: dict[str, list[list[str]]], keep: list[str]) -> None:
    for directory, _ in spec["memory"]:
        mount("-t", "tmpfs", "-o", "size=1g,mode=1777", "tmpfs", directory)
    for directory, place in [*spec["own"], *spec["memory"]]:
        keep_below(place, directory, keep)
    for file, place in spec["files"]:
        mount("--bind", file, place)
    for directory, place in [*spec["own"], *spec["memory"]]:
        mount("--rbind", directory, place)


def reap() -> None:
    """Takes the status of every child that has ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def live() -> None:
    """Reaps until standard input ends."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        reap()
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        if 0 in ready and not os.read(0, 4096):
            return


def main() -> None:
    spec = json.loads(sys.argv[1])
    if spec:
        subprocess.run(["hostname", spec["hostname"]], check=True, stdin=subprocess.DEVNULL)
        make_places(spec, spec["keep"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, stdin=subprocess.DEVNULL)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    live()


if __name__ == "__main__":
    main()
