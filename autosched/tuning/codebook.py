"""The code of one task: its sketches by structure, and the way from a stored candidate back to text.

A candidate from a database, an import or a request is data: its derivation must be one that the rules give for this
workload, and every value one of the sketch's domain, before any text is generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from autosched.codegen.kernel import Kernel
from autosched.errors import InvalidInput
from autosched.nest.digest import concrete_digest
from autosched.nest.nodes import Nest
from autosched.records.record import Candidate
from autosched.sketch.sketch import Sketch, Values
from autosched.target.target import Target
from autosched.te.integer import Int
from autosched.te.workload import Workload

Generate = Callable[[Nest, Mapping[Int, int], Target, str], Kernel]
"""The text reader: nest, value of each symbol, target, kernel name -> kernel."""


@dataclass(frozen=True, eq=False)
class Codebook:
    """Everything that may be measured for a workload on a target."""

    workload: Workload
    target: Target
    sketches: tuple[Sketch, ...]
    generate: Generate

    @cached_property
    def by_structure(self) -> dict[str, Sketch]:
        return {structure_key(s): s for s in self.sketches}

    def candidate(self, sketch: Sketch, values: Values) -> Candidate:
        """The candidate of a sketch at these values."""
        steps = tuple(step.to_json() for step in sketch.derivation)
        key = concrete_digest(sketch.nest, sketch.environment(values))
        return Candidate(steps, {d.name: int(values[d.name]) for d in sketch.decisions}, key)

    def sketch(self, candidate: Candidate) -> Sketch:
        """The sketch of a candidate; InvalidInput if the rules give none of this derivation."""
        found = self.by_structure.get(candidate.structure_key)
        if found is None:
            raise InvalidInput(
                f"candidate {candidate.key}: its derivation is none of the {len(self.sketches)} that "
                f"today's rules give for workload {self.workload.key}"
            )
        return found

    def kernel(self, candidate: Candidate) -> Kernel:
        """The text of a candidate; InvalidInput names a decision outside its domain."""
        sketch = self.sketch(candidate)
        try:
            environment = sketch.environment(candidate.values)
        except ValueError as error:
            raise InvalidInput(f"candidate {candidate.key}: {error}") from None
        return self.generate(sketch.nest, environment, self.target, KERNEL_NAME)

    def kernels(self, candidates: Sequence[Candidate]) -> Sequence[Kernel]:
        """The texts of several candidates, each generated when it is first looked at."""
        return _Texts(self, candidates)

    def __contains__(self, candidate: Candidate) -> bool:
        sketch = self.by_structure.get(candidate.structure_key)
        if sketch is None:
            return False
        try:
            sketch.environment(candidate.values)
        except ValueError:
            return False
        return True


class _Texts(Sequence[Kernel]):
    """A list of kernels whose elements are made on demand and kept."""

    def __init__(self, codebook: Codebook, candidates: Sequence[Candidate]) -> None:
        self._codebook = codebook
        self._candidates = candidates
        self._made: dict[int, Kernel] = {}

    def __len__(self) -> int:
        return len(self._candidates)

    @overload
    def __getitem__(self, index: int) -> Kernel: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Kernel]: ...
    def __getitem__(self, index: int | slice) -> Kernel | Sequence[Kernel]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        if number not in self._made:
            self._made[number] = self._codebook.kernel(self._candidates[number])
        return self._made[number]


KERNEL_NAME = "kernel"
"""One name for every kernel: equal nests give equal text, whatever workload they came from."""


def structure_key(sketch: Sketch) -> str:
    """The key that candidates of this sketch carry."""
    return Candidate(tuple(s.to_json() for s in sketch.derivation), {}, "").structure_key
