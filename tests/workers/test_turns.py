"""The pipe between a dispatcher and a job's process: turns, stops, and what silence means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Thread

import pytest
from autosched_workers.turns import GrantedTurns, TurnRules, receive, send

from autosched.measure.device_lock import DeviceHold
from autosched.testing.waiting import until
from autosched.tuning.turns import Stopped

LONG = TurnRules(alternates=False, lease_seconds=1000.0, grace_seconds=1000.0, spent_seconds=7.0)


class Bench:
    """A job's side, the dispatcher's end of the pipe, and the devices used so far."""

    def __init__(self, rules: TurnRules = LONG) -> None:
        self.pipe, theirs = Pipe()
        self.used: list[str] = []
        self.turns = GrantedTurns(theirs, rules, self.use)

    @contextmanager
    def use(self, device: str) -> Iterator[None]:
        self.used.append(device)
        yield

    def is_stopped(self) -> bool:
        try:
            self.turns.checkpoint()
        except Stopped:
            return True
        return False


def test_a_device_that_the_host_shares_is_let_go_between_two_trials() -> None:
    gave_way: list[str] = []

    class Hold(DeviceHold):
        def give_way(self) -> None:
            gave_way.append("now")

    pipe, theirs = Pipe()
    turns = GrantedTurns(theirs, LONG, lambda device: nullcontext(Hold(device, -1, -1)))
    server = serve(pipe, [], "d0")
    turns.checkpoint()
    with turns.device():
        assert not gave_way
        turns.checkpoint()
    turns.checkpoint()
    assert gave_way == ["now"]
    server.join()


def serve(pipe: Connection, heard: list[str], *devices: str) -> Thread:
    """Answers so many requests."""

    def body() -> None:
        for device in devices:
            heard.append(receive(pipe)["say"])
            send(pipe, say="grant", devices=device.split())
            heard.append(receive(pipe)["say"])

    thread = Thread(target=body)
    thread.start()
    return thread


def test_a_turn_is_asked_for_and_given_back() -> None:
    bench, heard = Bench(), list[str]()
    server = serve(bench.pipe, heard, "d0", "d1 d2")
    with bench.turns.step(), bench.turns.device():
        assert bench.turns.devices() == ("d0",)
    with pytest.raises(ZeroDivisionError), bench.turns.device():
        raise ZeroDivisionError
    server.join()
    assert heard == ["ask", "return"] * 2
    assert bench.used == ["d0", "d1", "d2"]
    assert bench.turns.n_devices() == 2
    assert bench.turns.seconds() > 7.0


def test_where_search_disturbs_measuring_a_turn_is_the_step() -> None:
    bench = Bench(TurnRules(True, 1000.0, 1000.0, 0.0))
    heard: list[str] = []
    server = serve(bench.pipe, heard, "d0")
    with bench.turns.step():
        with bench.turns.device():
            pass
        with bench.turns.device():
            pass
    server.join()
    assert heard == ["ask", "return"]


def test_a_stop_is_seen_at_the_next_checkpoint_and_while_waiting() -> None:
    bench = Bench()
    send(bench.pipe, say="stop", why="cancelled")
    until(bench.is_stopped)
    with pytest.raises(Stopped, match="cancelled"), bench.turns.step():
        pytest.fail("no step begins")

    waiting = Bench()
    caught: list[str] = []

    def wait() -> None:
        try:
            with waiting.turns.device():
                pass
        except Stopped as stopped:
            caught.append(str(stopped))

    thread = Thread(target=wait)
    thread.start()
    assert receive(waiting.pipe) == {"say": "ask"}
    send(waiting.pipe, say="stop", why="yield")
    thread.join()
    assert caught == ["yield"]


def test_silence_for_half_a_lease_stops_and_heartbeats_do_not() -> None:
    silent = Bench(TurnRules(False, 0.2, 1000.0, 0.0))
    until(silent.is_stopped)
    with pytest.raises(Stopped, match="heartbeat"):
        silent.turns.checkpoint()


def test_a_dispatcher_that_is_gone_stops_its_job() -> None:
    bench = Bench()
    bench.pipe.close()
    until(bench.is_stopped)
    with pytest.raises(Stopped, match="gone"):
        bench.turns.checkpoint()
