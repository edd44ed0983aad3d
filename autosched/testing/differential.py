"""Random candidates of every sketch of a workload, and what they must agree with.

A case is a workload with arrays for it; a drawn candidate is a sketch with values that keep its constraints. The
reference is the meaning of the workload in te, which shares nothing with the nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autosched.nest.concrete import Concrete
from autosched.nest.nodes import Block, Body, Loop, Region, children
from autosched.nest.points import Points
from autosched.sketch.generate import plans_of, sketch_of
from autosched.sketch.sketch import Sketch
from autosched.target.target import Target
from autosched.te.canonical import canonical
from autosched.te.dtype import is_float, numpy_dtype
from autosched.te.evaluate import evaluate_workload
from autosched.te.integer import Int, as_int, evaluate
from autosched.te.workload import Workload

Array = np.ndarray[Any, Any]

DRAWS = 500
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TOLERANCE_EPSILONS = 160


@dataclass(frozen=True, eq=False)
class Case:
    """One computation as its author wrote it: `kind` groups cases for counting, `inputs` draws arrays."""

    kind: str
    name: str
    workload: Workload
    inputs: Callable[[np.random.Generator], tuple[Array, ...]]

    @cached_property
    def canonical(self) -> Workload:
        return canonical(self.workload)

    @property
    def has_unit_extent(self) -> bool:
        tensors = (*self.workload.inputs, *self.workload.outputs)
        return any(e is as_int(1) for t in tensors for e in t.shape)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A sketch of a case with values for its decisions."""

    case: Case
    sketch: Sketch
    values: Mapping[str, int]

    @property
    def environment(self) -> dict[Int, int]:
        return self.sketch.environment(self.values)

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(step.rule for step in self.sketch.derivation)

    @cached_property
    def has_tail(self) -> bool:
        """Whether some loop or lane of it runs short of its extent."""
        nest = self.sketch.nest
        return any(self._falls_short(region) for region in (*nest.prepare, *nest.regions))

    def _falls_short(self, region: Region) -> bool:
        points = Points(Concrete(self.environment), {}, 1)
        for loop in region.loops:
            points = points.expanded(loop.var, points.column(loop.extent))
        return _falls_short(region.body, points)

    def describe(self) -> str:
        steps = [(s.rule, s.stage, dict(s.arguments)) for s in self.sketch.derivation]
        return (
            f"{self.case.kind} {self.case.name}\n  derivation {steps}\n  values {dict(self.values)}"
        )


def _falls_short(body: Body, points: Points) -> bool:
    for node in body:
        below = points
        if isinstance(node, Loop):
            limit = points.column(node.limit)
            if (limit < points.column(node.extent)).any():
                return True
            below = points.expanded(node.var, limit)
        lanes = node.lanes if isinstance(node, Block) else ()
        if any((points.column(lane.full) == 0).any() for lane in lanes):
            return True
        if _falls_short(children(node), below):
            return True
    return False


def candidates(
    case: Case, target: Target, rng: np.random.Generator, count: int
) -> Iterator[Candidate]:
    """About `count` different candidates, spread over all sketches of the case, or over `count` of them."""
    plans = plans_of(case.canonical, target)
    chosen = rng.permutation(len(plans))[:count]
    for place, number in enumerate(chosen):
        share = count // len(chosen) + (place < count % len(chosen))
        sketch = sketch_of(case.canonical, plans[number], target, seeded=False)
        if sketch is not None:
            for values in drawn(sketch, rng, share):
                yield Candidate(case, sketch, values)


def drawn(sketch: Sketch, rng: np.random.Generator, count: int) -> list[dict[str, int]]:
    """At most `count` different values that keep the constraints, uniform over the domains."""
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for _ in range(DRAWS):
        if len(found) >= count:
            break
        values = {d.name: int(rng.choice(d.domain)) for d in sketch.decisions}
        environment = {d.symbol: values[d.name] for d in sketch.decisions}
        memo: dict[Int, Any] = {}
        if all(evaluate(c, environment, memo) for c in sketch.constraints):
            found[tuple(values.values())] = values
    return list(found.values())


def random_inputs(workload: Workload) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    """Normal values or, half of the time, small integers, whose sums and products are exact."""

    def draw(rng: np.random.Generator) -> tuple[Array, ...]:
        exact = bool(rng.integers(2))
        return tuple(_random(rng, t.static_shape, t.dtype, exact) for t in workload.inputs)

    return draw


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, exact: bool) -> Array:
    if dtype in ("bool", "uint8"):
        found = rng.integers(0, 2 if dtype == "bool" else 200, shape)
    elif exact or not is_float(dtype):
        found = rng.integers(-4, 5, shape)
    else:
        return np.asarray(rng.standard_normal(shape), dtype=numpy_dtype(dtype))
    return np.asarray(found, dtype=numpy_dtype(dtype))


def reference(case: Case, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Flat outputs of the workload as written, computed in float64."""
    return tuple(a.ravel() for a in evaluate_workload(case.workload, inputs))


def difference(case: Case, found: Sequence[Array], expected: Sequence[Array]) -> str:
    """What is wrong with `found`, nothing if it agrees.

    |error| <= 160 eps (largest + |expected|), eps of the coarsest float dtype in the workload; NaN, infinities and
    integers exactly.
    """
    for number, (got, want) in enumerate(zip(found, expected, strict=True)):
        if got.size != want.size:
            return f"output {number} has {got.size} elements, not {want.size}"
        wrong = _wrong(got.ravel(), want, _epsilon(case.workload))
        if wrong.any():
            at = int(np.argmax(wrong))
            return (
                f"output {number}: {int(wrong.sum())} of {want.size} wrong, the first at {at}: "
                f"{got.ravel()[at]}, not {want[at]}"
            )
    return ""


def _wrong(got: Array, want: Array, epsilon: float) -> Array:
    """Which elements differ."""
    if got.dtype.kind in "iub":
        return np.not_equal(got, want)
    with np.errstate(over="ignore", under="ignore"):
        b = want.astype(got.dtype).astype(np.float64)
    a = got.astype(np.float64)
    finite = np.isfinite(b)
    largest = np.abs(b[finite]).max(initial=0.0)
    limit = TOLERANCE_EPSILONS * epsilon * (largest + np.abs(np.where(finite, b, 0)))
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= limit
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    agrees: Array = np.where(finite, close, same)
    return ~agrees


def _epsilon(workload: Workload) -> float:
    dtypes = [t.dtype for t in (*workload.inputs, *workload.outputs)]
    dtypes += [d for s in workload.stages for d in s.dtypes]
    return max((EPSILON[d] for d in dtypes if d in EPSILON), default=0.0)
