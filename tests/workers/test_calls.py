"""A job's side of the socket to a bridge: what it hears when a bridge ends, and when one does not have its arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Listener
from pathlib import Path

import pytest
from autosched_workers.cluster.calls import (
    Address,
    Away,
    Calibrate,
    Lines,
    Lost,
    Measure,
    Raised,
    Send,
    SideBySide,
    Unknown,
    fresh_address,
)
from autosched_workers.cluster.lab import ClusterFault, ClusterLab
from autosched_workers.simulation.lab import CALIBRATION, SimulatedLab

from autosched.codegen.kernel import Kernel
from autosched.entry.machine import Setup
from autosched.measure.protocol import Artefact, Check, InputSet, TimingPolicy
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement
from autosched.target.calibration import calibration_text

CALL = Calibrate("h/d")
DYING = object()
"""The last answer of a bridge that ends under a call."""


@contextmanager
def bridge(address: Address, *answers: object) -> Iterator[list[object]]:
    """One that takes a single line, gives these answers, and ends; what it was asked."""
    asked: list[object] = []

    def serve() -> None:
        with listener, listener.accept() as line:
            for answer in answers:
                asked.append(line.recv())
                if answer is not DYING:
                    line.send(answer)

    listener = Listener(address.path, "AF_UNIX", authkey=address.secret)
    thread = threading.Thread(target=serve)
    thread.start()
    yield asked
    thread.join()


class Anywhere:
    def devices(self) -> Sequence[str]:
        return ("h/d", "k/d")

    def checkpoint(self) -> None:
        """Nobody asks it to stop."""


@pytest.fixture
def address(tmp_path: Path) -> Address:
    return fresh_address(str(tmp_path))


def test_a_call_is_lost_only_if_a_bridge_had_taken_it(address: Address) -> None:
    lines = Lines(address)
    assert isinstance(lines.ask(CALL), Away), "there is none"
    with bridge(address, "first"):
        assert lines.ask(CALL) == "first"
    assert isinstance(lines.ask(CALL), Away), "it ended before the call"
    with bridge(address, "second", DYING):
        assert lines.ask(CALL) == "second"
        assert isinstance(lines.ask(CALL), Lost), "it ended under the call"
    lines.close()


def test_arrays_are_sent_where_they_are_not_known_and_a_fault_in_that_is_heard(
    address: Address,
) -> None:
    offer = SimulatedLab(0.0).offer()
    setup, inputs = Setup(offer.target, offer.toolchain), InputSet((), (), ())
    policy = TimingPolicy(threads=1)
    opened = ClusterLab(address).open(setup, 0, Anywhere())
    known = calibration_text(CALIBRATION)
    answers = (known, Unknown("k"), None, [None], Unknown("k"), Raised("the store is full"))
    with bridge(address, *answers) as asked, opened as machine:
        assert machine.runner.side_by_side([], inputs, policy) == [None]
        with pytest.raises(ClusterFault, match="the store is full"):
            machine.runner.side_by_side([], inputs, policy)
    kinds = [Calibrate, SideBySide, Send, SideBySide, SideBySide, Send]
    assert [type(call) for call in asked] == kinds


def test_a_device_that_lost_something_is_not_asked_again_at_once(address: Address) -> None:
    offer = SimulatedLab(0.0).offer()
    setup = Setup(offer.target, offer.toolchain)
    artefact = Artefact(Kernel("k", "c", "", (), (), (), (), (), (), 0), b"", ())
    check, policy = Check(()), TimingPolicy(threads=1)
    opened = ClusterLab(address).open(setup, 0, Anywhere())
    measured = Measurement(Outcome.OK)
    answers = (calibration_text(CALIBRATION), Lost("gone"), measured, measured)
    with bridge(address, *answers) as asked, opened as machine:
        found = [machine.runner.measure(artefact, check, policy).outcome for _ in range(3)]
    assert found == [Outcome.LOST, Outcome.OK, Outcome.OK]
    devices = [call.device for call in asked if isinstance(call, Measure)]
    assert devices[0] != devices[1] == devices[2]


def test_a_device_that_is_away_is_not_asked_before_those_that_are_there(address: Address) -> None:
    offer = SimulatedLab(0.0).offer()
    setup = Setup(offer.target, offer.toolchain)
    artefact = Artefact(Kernel("k", "c", "", (), (), (), (), (), (), 0), b"", ())
    opened = ClusterLab(address).open(setup, 0, Anywhere())
    answers = (calibration_text(CALIBRATION), Away("not met yet"), *[Measurement(Outcome.OK)] * 2)
    with bridge(address, *answers) as asked, opened as machine:
        for _ in range(2):
            machine.runner.measure(artefact, Check(()), TimingPolicy(threads=1))
    devices = [call.device for call in asked if isinstance(call, Measure)]
    assert devices[0] != devices[1] == devices[2]
