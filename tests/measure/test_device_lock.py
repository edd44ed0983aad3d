"""A device is one user's at a time, and nobody who waits for it is passed over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from autosched.measure.device_lock import DeviceHold, device_lock

SECONDS = 30.0


class Other:
    """Another user, who waits for the device once it has been started and notes that it had it."""

    def __init__(self, folder: Path, turns: list[str]) -> None:
        self._folder = folder
        self._turns = turns
        self._waits = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def wait_for_device(self) -> None:
        """Returns when it waits."""
        self._thread.start()
        assert self._waits.wait(SECONDS)

    def end(self) -> None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with device_lock("cpu", folder=self._folder, on_wait=lambda words: self._waits.set()):
            self._turns.append("other")


def turns_with_another(folder: Path, let_go: Callable[[DeviceHold], None]) -> list[str]:
    """Who had the device, where one holds it, another waits, and the first lets it go and goes on."""
    turns: list[str] = []
    other = Other(folder, turns)
    with device_lock("cpu", folder=folder) as hold:
        other.wait_for_device()
        let_go(hold)
        turns.append("first")
    other.end()
    return turns


def test_who_gives_way_has_it_again_after_who_waited(tmp_path: Path) -> None:
    assert turns_with_another(tmp_path, DeviceHold.give_way) == ["other", "first"]
    assert turns_with_another(tmp_path, lambda hold: None) == ["first", "other"]


def test_who_comes_again_queues_behind_who_waits(tmp_path: Path) -> None:
    turns: list[str] = []
    other = Other(tmp_path, turns)
    with device_lock("cpu", folder=tmp_path):
        other.wait_for_device()
    with device_lock("cpu", folder=tmp_path):
        turns.append("first")
    other.end()
    assert turns == ["other", "first"]


def test_giving_way_to_nobody_keeps_the_device(tmp_path: Path) -> None:
    with device_lock("cpu", folder=tmp_path) as hold:
        hold.give_way()
        other = Other(tmp_path, turns := [])
        other.wait_for_device()
        assert not turns
    other.end()
