"""A command's turns: it holds the device step by step, and lets others in between two trials."""

from __future__ import annotations

import os
import threading

from autosched.entry.host_turns import HostTurns
from autosched.measure.device_lock import device_lock, holder_of

DEVICE = f"test-{os.getpid()}"


def test_the_device_is_held_during_steps_alone() -> None:
    turns = HostTurns(DEVICE, on_wait=lambda words: None)
    assert holder_of(DEVICE) is None
    with turns.step(), turns.device():
        assert holder_of(DEVICE) == os.getpid()
        turns.checkpoint()
    assert holder_of(DEVICE) is None
    turns.checkpoint()
    with turns.device():
        assert holder_of(DEVICE) == os.getpid()


def test_who_waits_is_let_in_between_two_trials() -> None:
    turns = HostTurns(DEVICE, on_wait=lambda words: None)
    waits, had_it = threading.Event(), threading.Event()

    def other() -> None:
        with device_lock(DEVICE, on_wait=lambda words: waits.set()):
            had_it.set()

    thread = threading.Thread(target=other)
    with turns.step():
        thread.start()
        assert waits.wait(30)
        turns.checkpoint()
        assert had_it.is_set()
    thread.join()


def test_a_user_is_told_once_who_else_has_the_device() -> None:
    said: list[str] = []
    let_go = threading.Event()

    def hear(words: str) -> None:
        said.append(words)
        let_go.set()

    turns = HostTurns(DEVICE, hear)
    for _ in range(2):
        holds = threading.Event()

        def other(holds: threading.Event = holds) -> None:
            with device_lock(DEVICE):
                holds.set()
                assert let_go.wait(30)

        thread = threading.Thread(target=other)
        thread.start()
        assert holds.wait(30)
        with turns.step():
            pass
        thread.join()
    assert said == [f"device {DEVICE} is held by process {os.getpid()}"]
