"""Kernels built by several hosts: what one of them loses, for it is gone or its disk is full, the others build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayError

from autosched.measure.protocol import BuildResult
from autosched.records.outcome import Outcome
from autosched_workers.cluster.calls import Build
from autosched_workers.cluster.losses import meaning_of

Get = Callable[[Any], Any]


class Building:
    """A call, divided among forges. `get` waits for what a forge was asked."""

    def __init__(self, call: Build, get: Get = ray.get) -> None:
        self._call = call
        self._get = get
        self._results: dict[int, BuildResult] = {}
        self._error: RayError | None = None

    def by(self, groups: Sequence[Sequence[Any]]) -> list[BuildResult]:
        """One result a kernel: lost if every forge lost it. Each group of forges gets what those before it lost. Raises
        what a forge raised, where no other has a result."""
        for group in groups:
            forges = list(group)
            while forges and self._left():
                forges = self._round(forges)
        numbers = range(len(self._call.kernels))
        if self._error is not None and any(n not in self._results for n in numbers):
            raise self._error
        return [self._results[n] for n in numbers]

    def _left(self) -> list[int]:
        """The kernels without a result that says something of them."""
        results = self._results
        numbers = range(len(self._call.kernels))
        return [n for n in numbers if n not in results or results[n].outcome is Outcome.LOST]

    def _round(self, forges: Sequence[Any]) -> list[Any]:
        """Each builds its share of what is left; those that lost none of it."""
        left = self._left()
        share = -(-len(left) // len(forges))
        parts = [left[i : i + share] for i in range(0, len(left), share)]
        asked = [self._ask(*pair) for pair in zip(forges, parts, strict=False)]
        busy = zip(forges, parts, asked, strict=False)
        return [*[f for f, part, ref in busy if self._take(part, ref)], *forges[len(parts) :]]

    def _ask(self, forge: Any, part: Sequence[int]) -> Any:
        kernels = tuple(self._call.kernels[n] for n in part)
        return forge.build.remote(self._call.setup, kernels, together=self._call.together)

    def _take(self, part: Sequence[int], ref: Any) -> bool:
        """Whether nothing of a forge's part was lost."""
        try:
            found: list[BuildResult] = self._get(ref)
        except RayError as error:
            if meaning_of(error) != "lost":
                raise
            self._error = error
            return False
        self._results.update(zip(part, found, strict=True))
        return all(r.outcome is not Outcome.LOST for r in found)
