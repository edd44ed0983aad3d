"""A worker hears who uses its node, and when each of them has let go."""

from __future__ import annotations

from pathlib import Path

from autosched_workers.cluster.standing import Standing, fresh_asker


def test_each_asker_lets_go_for_itself(tmp_path: Path) -> None:
    node, seen_by_bridges = Standing(str(tmp_path)), Standing(str(tmp_path))
    assert node.askers() == {}
    assert not seen_by_bridges.is_draining("a")
    node.drain()
    assert seen_by_bridges.is_draining("a")
    assert seen_by_bridges.is_draining("b")
    assert all(0.0 <= age < 60.0 for age in node.askers().values())
    seen_by_bridges.release("a")
    assert {a: node.has_released(a) for a in node.askers()} == {"a": True, "b": False}


def test_a_new_node_has_been_asked_by_nobody(tmp_path: Path) -> None:
    node = Standing(str(tmp_path))
    node.is_draining("a")
    node.release("a")
    node.drain()
    node.forget()
    assert node.askers() == {}
    assert not node.has_released("a")
    assert node.is_draining("b"), "what was asked of the worker stands"


def test_an_asker_is_there_as_long_as_its_process() -> None:
    assert Standing.is_there(fresh_asker())
    assert not Standing.is_there(f"{1 << 30}-gone")
