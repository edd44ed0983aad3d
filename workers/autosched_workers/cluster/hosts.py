"""The nodes of a cluster as the bridge knows them: met when they join, asked what they are, forgotten when they end.

A node of ours carries the resource `RESOURCE`. Meeting one takes as long as its actors need to start and its device to
be calibrated, so each is met in a thread of its own; until then, and when its versions are not ours, it has no device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from autosched.entry.machine import Setup
from autosched_workers.cluster.actors import Bench, Forge, Host
from autosched_workers.cluster.losses import is_gone, words_of
from autosched_workers.cluster.node import RESOURCE
from autosched_workers.versions import versions

MEETING_SECONDS = 300.0

Say = Callable[[Mapping[str, Any]], None]


@dataclass(eq=False)
class Node:
    """`worker`: how the dispatcher knows it, a new name each time it joins, once it `is_known` to it. `says`: see
    `Host.describe`."""

    worker: str
    host: Any
    says: Mapping[str, Any] = field(default_factory=dict)
    forge: Any = None
    benches: dict[str, Any] = field(default_factory=dict)
    calibrations: dict[str, str] = field(default_factory=dict)
    is_known: bool = False
    is_draining: bool = False
    asked: Any = None
    """An answer to `is_draining` that is under way."""

    def actors(self) -> list[Any]:
        return [a for a in (self.host, self.forge, *self.benches.values()) if a is not None]

    def compiles_for(self, setup: Setup) -> bool:
        """Whether its compiler is the setup's; for which features does not matter."""
        ours, wanted = self.says.get("toolchain", {}), setup.toolchain
        return (ours.get("name"), ours.get("version")) == (wanted.name, wanted.version)


class Hosts:
    """All nodes of ours; `say` tells the dispatcher."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}

    def look(self, own_ip: str) -> bool:
        """Who has come, who has gone, who is to go. Again and again. False: the cluster does not know this host, as one
        whose head was restarted does not."""
        alive = {n["NodeID"]: n for n in _nodes() if n["Alive"]}
        if own_ip not in {n["NodeManagerAddress"] for n in alive.values()}:
            return False
        with self._lock:
            known = dict(self._nodes)
        for node_id in known.keys() - alive.keys():
            self._forget(node_id)
        for node_id, node in alive.items():
            if node_id in known:
                self._ask_whether_draining(known[node_id])
            elif RESOURCE in node["Resources"]:
                self._meet(node_id)
        return True

    def bench(self, device: str) -> Any:
        """The runner of a device; None while it cannot be used."""
        return next((n.benches[device] for n in self._latest() if device in n.benches), None)

    def calibration(self, device: str) -> str | None:
        found = (n.calibrations.get(device) for n in self._latest())
        return next((text for text in found if text is not None), None)

    def forges(self, setup: Setup, devices: Sequence[str]) -> list[list[Any]]:
        """Who compiles for devices: the hosts that have none themselves and are to stay, else their own; then, where those
        lose what they build, all others. None if none of them can."""
        able = [n for n in self._latest() if n.forge is not None and n.compiles_for(setup)]
        apart = [n.forge for n in able if not n.benches and not n.is_draining]
        own = [n.forge for n in able if not n.benches.keys().isdisjoint(devices)]
        chosen = apart or own
        others = [n.forge for n in able if n.forge not in chosen and not n.is_draining]
        return [group for group in (chosen, others) if group] if chosen else []

    def _latest(self) -> list[Node]:
        """Of each host the node that joined last: one that joined before has ended, though Ray does not know it yet."""
        with self._lock:
            return list({n.says.get("host"): n for n in self._nodes.values()}.values())

    def release(self, worker: str) -> None:
        """Tells a node that is to go that nothing of ours is under way there, once what it builds is built."""
        with self._lock:
            node = next((n for n in self._nodes.values() if n.worker == worker), None)
        if node is not None:
            before = [] if node.forge is None else [node.forge.finish.remote()]
            node.host.release.remote(*before)

    def _meet(self, node_id: str) -> None:
        node = Node(node_id, _actor(Host, node_id).remote())
        with self._lock:
            self._nodes[node_id] = node
        threading.Thread(target=self._get_to_know, args=(node_id, node), daemon=True).start()

    def _get_to_know(self, node_id: str, node: Node) -> None:
        try:
            node.says = ray.get(node.host.describe.remote(), timeout=MEETING_SECONDS)
            node.worker = f"{node.says['host']}-{node_id[:16]}"[-80:]
            problem = skew(node.says.get("versions", {}))
            if not problem:
                self._open(node_id, node)
        except ray.exceptions.RayError as error:
            if is_gone(error):
                self._forget(node_id)  # and meet it again, should it be there
                return
            problem = words_of(error)
        self._introduce(node_id, node, problem)

    def _introduce(self, node_id: str, node: Node, problem: str) -> None:
        """Tells of a node, unless it has been forgotten since: who is told later than that never hears of its end."""
        with self._lock:
            if node_id not in self._nodes:
                return
            if node.says:
                found = {"problem": problem, "calibrations": node.calibrations}
                self._say({"say": "joined", "worker": node.worker, **found, **node.says})
                node.is_known = True
            else:
                self._say({"say": "refused", "worker": node.worker, "why": problem})

    def _open(self, node_id: str, node: Node) -> None:
        forge = _actor(Forge, node_id).remote()
        named = enumerate(node.says["devices"])
        benches = {device: _actor(Bench, node_id).remote(device, seed) for seed, device in named}
        texts = ray.get([b.calibrate.remote() for b in benches.values()], timeout=MEETING_SECONDS)
        node.calibrations = dict(zip(benches, texts, strict=True))
        node.benches = benches
        node.forge = forge  # at last, for a host without benches builds for others

    def _forget(self, node_id: str) -> None:
        with self._lock:
            node = self._nodes.pop(node_id, None)
            if node is None:
                return
            if node.is_known:
                self._say({"say": "left", "worker": node.worker})
        for actor in node.actors():
            ray.kill(actor)

    def _ask_whether_draining(self, node: Node) -> None:
        """The answer to the last question is heard when it is there; nobody waits for it."""
        if node.asked is None:
            node.asked = node.host.is_draining.remote()
            return
        ready, _ = ray.wait([node.asked], timeout=0)
        if not ready:
            return
        asked, node.asked = node.asked, None
        try:
            is_draining = bool(ray.get(asked))
        except ray.exceptions.RayError:
            return
        if is_draining and node.is_known and not node.is_draining:
            node.is_draining = True
            self._say({"say": "draining", "worker": node.worker})


def skew(theirs: Mapping[str, str]) -> str:
    """What keeps us from using a host of these versions; "" if nothing does."""
    return "; ".join(
        f"{name}: need {ours}, have {theirs.get(name)}"
        for name, ours in versions().items()
        if theirs.get(name) != ours
    )


def _nodes() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return found


def _actor(kind: type, node_id: str) -> Any:
    """On just this node; started again there when it dies."""
    where = NodeAffinitySchedulingStrategy(node_id, soft=False)
    return ray.remote(kind).options(num_cpus=0, max_restarts=-1, scheduling_strategy=where)
