"""Which workers offer devices, how they stand, and which of those that are to go nobody uses any more."""

from __future__ import annotations

from autosched_workers.fleet import Joined
from autosched_workers.roster import Roster
from autosched_workers.simulation.lab import SimulatedLab

OFFER = SimulatedLab(0.0, devices=("d0", "d1")).offer()
DEVICES = set(OFFER.devices)


def roster_of(*worker_ids: str) -> Roster:
    roster = Roster()
    for worker_id in worker_ids:
        roster.join(Joined(OFFER.worker(worker_id, "h", {}), OFFER.setups()))
    return roster


def test_who_is_to_go_offers_nothing_and_is_let_go_once_its_devices_rest() -> None:
    roster = roster_of("a")
    assert roster.offered() == dict.fromkeys(DEVICES, OFFER.setups())
    assert roster.drain("a")
    assert roster.offered() == {}
    assert roster.states() == {"a": "draining"}
    assert roster.let_go(DEVICES) == []
    assert [roster.let_go(set()) for _ in range(2)] == [["a"], []]


def test_who_is_unknown_or_gone_is_let_go_by_nobody() -> None:
    roster = roster_of("a")
    assert not roster.drain("b")
    roster.drain("a")
    roster.leave("a")
    assert roster.let_go(set()) == []
    assert roster.states() == {}


def test_who_serves_nothing_is_listed_and_offers_nothing() -> None:
    roster = Roster()
    roster.join(Joined(OFFER.worker("a", "h", {}), frozenset()))
    assert roster.offered() == {}
    assert roster.states() == {"a": "active"}
