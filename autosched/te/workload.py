"""Stages, tensors and workloads: one fused subgraph as tensor expressions, with a content key.

A tensor is an input (no stage) or one component of a stage. A stage computes every element of its tensors over its
spatial axes, reducing over its reduction axes where it has a combiner. A workload is what its output tensors need.
No operator has a name here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from autosched.te.combiner import COMBINERS, Combiner
from autosched.te.dtype import DTYPES, n_bytes
from autosched.te.expr import Expr, Load, cast, expr_text, loads, operation_count
from autosched.te.integer import Int, as_int, symbol, to_text

KEY_VERSION = "w1"


@dataclass(frozen=True, eq=False)
class Axis:
    """One dimension of a stage: an index symbol running over [0, extent)."""

    symbol: Int
    extent: Int

    @property
    def name(self) -> str:
        return self.symbol.name


@dataclass(frozen=True, eq=False)
class Stage:
    """One computation. `values` has one expression a component; reduction axes are there if and only if a combiner
    is. The accumulator of a component has the dtype of its value; storage has the dtype of the tensor."""

    name: str
    axes: tuple[Axis, ...]
    values: tuple[Expr, ...]
    dtypes: tuple[str, ...]
    reduce_axes: tuple[Axis, ...] = ()
    combiner: Combiner | None = None

    @property
    def shape(self) -> tuple[Int, ...]:
        return tuple(a.extent for a in self.axes)

    @property
    def is_reduction(self) -> bool:
        return self.combiner is not None

    @property
    def evaluations(self) -> int:
        """How often its values are computed in one call: once a point of all its axes, whose extents must be known."""
        return prod(a.extent.value for a in (*self.axes, *self.reduce_axes))

    @property
    def operations(self) -> int:
        """Operations of one evaluation; combining two values of a reduction counts as one a component."""
        combining = len(self.values) if self.is_reduction else 0
        return combining + sum(operation_count(v) for v in self.values)

    @property
    def loads(self) -> tuple[Load, ...]:
        return tuple(load for value in self.values for load in loads(value))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A named array: an input, or component `component` of `stage`. `constant` inputs never change between runs."""

    name: str
    shape: tuple[Int, ...]
    dtype: str
    stage: Stage | None = None
    component: int = 0
    constant: bool = False

    def __getitem__(self, indices: Int | int | tuple[Int | int, ...]) -> Expr:
        parts = indices if isinstance(indices, tuple) else (indices,)
        if len(parts) != len(self.shape):
            raise IndexError(
                f"{self.name} has {len(self.shape)} dimensions, {len(parts)} indices given"
            )
        return Load(self, tuple(as_int(i) for i in parts))

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as ints; a ValueError names the symbolic dimension."""
        for extent in self.shape:
            if not extent.is_constant:
                raise ValueError(f"{self.name} has the symbolic dimension {extent!r}")
        return tuple(e.value for e in self.shape)

    @property
    def elements(self) -> int:
        return prod(self.static_shape)

    @property
    def n_bytes(self) -> int:
        return self.elements * n_bytes(self.dtype)


@dataclass(frozen=True, eq=False)
class Reduction:
    """The body of a reducing stage: `values` combined over `axes`."""

    combiner: Combiner
    axes: tuple[Axis, ...]
    values: tuple[Expr, ...]


def placeholder(
    name: str, shape: Sequence[Int | int], dtype: str = "float32", *, constant: bool = False
) -> Tensor:
    """An input tensor."""
    if dtype not in DTYPES:
        raise KeyError(f"{name}: unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
    return Tensor(name, tuple(as_int(e) for e in shape), dtype, constant=constant)


def reduce_over(
    combiner: str | Combiner,
    extents: dict[str, Int | int],
    body: Callable[..., Expr | tuple[Expr, ...]],
) -> Reduction:
    """A reduction over named axes: `reduce_over("sum", {"k": 64}, lambda k: a[i, k] * b[k, j])`."""
    axes = tuple(Axis(symbol(n, "index"), as_int(e)) for n, e in extents.items())
    values = body(*(a.symbol for a in axes))
    if isinstance(combiner, str) and combiner not in COMBINERS:
        raise KeyError(f"unknown combiner {combiner!r}; known: {', '.join(COMBINERS)}")
    chosen = COMBINERS[combiner] if isinstance(combiner, str) else combiner
    values = values if isinstance(values, tuple) else (values,)
    if len(values) != chosen.width:
        raise ValueError(f"{chosen.name} combines {chosen.width} values, {len(values)} given")
    return Reduction(chosen, axes, values)


def compute(
    name: str,
    axes: dict[str, Int | int],
    body: Callable[..., Expr | Reduction],
    *,
    dtypes: tuple[str, ...] = (),
) -> tuple[Tensor, ...]:
    """The tensors of a new stage over named axes, one a component; `dtypes` of storage default to the values' own.

    c, = compute("c", {"i": 8, "j": 8}, lambda i, j: reduce_over("sum", {"k": 4}, lambda k: a[i, k] * b[k, j]))
    """
    spatial = tuple(Axis(symbol(n, "index"), as_int(e)) for n, e in axes.items())
    result = body(*(a.symbol for a in spatial))
    if isinstance(result, Reduction):
        values, reduce_axes, combiner = result.values, result.axes, result.combiner
        clash = {a.symbol for a in spatial} & {a.symbol for a in reduce_axes}
        if clash:
            raise ValueError(f"{name}: axis {sorted(s.name for s in clash)} is used twice")
        stage = Stage(
            name, spatial, values, dtypes or tuple(v.dtype for v in values), reduce_axes, combiner
        )
    else:
        stored = dtypes[0] if dtypes else result.dtype
        stage = Stage(name, spatial, (cast(stored, result),), (stored,))
    return stage_tensors(stage)


def stage_tensors(stage: Stage) -> tuple[Tensor, ...]:
    """The tensors a stage computes, one a component."""
    single = len(stage.dtypes) == 1
    return tuple(
        Tensor(stage.name if single else f"{stage.name}.{i}", stage.shape, dtype, stage, i)
        for i, dtype in enumerate(stage.dtypes)
    )


@dataclass(frozen=True, eq=False)
class Workload:
    """What `outputs` are computed from. `inputs` in calling order; `stages` producers first."""

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    stages: tuple[Stage, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(_topological(self.outputs)))
        known = {id(t) for t in self.inputs}
        for stage in self.stages:
            for load in stage.loads:
                source = load.source
                if isinstance(source, Tensor) and source.stage is None and id(source) not in known:
                    raise ValueError(f"{self.name}: {stage.name} reads {source.name}, no input")

    @cached_property
    def key(self) -> str:
        """Content key: the canonical text, dtypes and which inputs are constant."""
        return text_key(canonical_text(self))

    def readers(self, stage: Stage) -> tuple[Stage, ...]:
        """The stages that load a tensor of `stage`."""
        return tuple(
            s
            for s in self.stages
            if any(isinstance(x.source, Tensor) and x.source.stage is stage for x in s.loads)
        )

    def is_output(self, stage: Stage) -> bool:
        return any(t.stage is stage for t in self.outputs)


def producers(stage: Stage) -> Iterator[Stage]:
    """The stages that `stage` reads, each once, in reading order."""
    seen: set[int] = set()
    for load in stage.loads:
        source = load.source
        if isinstance(source, Tensor) and source.stage is not None and id(source.stage) not in seen:
            seen.add(id(source.stage))
            yield source.stage


def _topological(outputs: tuple[Tensor, ...]) -> list[Stage]:
    order: list[Stage] = []
    done: set[int] = set()
    stack = [(t.stage, False) for t in reversed(outputs) if t.stage is not None]
    while stack:
        stage, expanded = stack.pop()
        if id(stage) in done:
            continue
        if expanded:
            done.add(id(stage))
            order.append(stage)
            continue
        stack.append((stage, True))
        stack.extend((p, False) for p in reversed(list(producers(stage))))
    return order


def text_key(text: str) -> str:
    """The content key of the workload whose canonical text this is."""
    return f"{KEY_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def canonical_text(workload: Workload) -> str:
    """The workload as text, as it is keyed; equal text means equal computation."""
    lines = [_input_line(t) for t in workload.inputs]
    lines += [stage_text(s) for s in workload.stages]
    lines.append(f"return {', '.join(t.name for t in workload.outputs)}")
    return "\n".join(lines)


def _input_line(tensor: Tensor) -> str:
    shape = ", ".join(to_text(e) for e in tensor.shape)
    return f"{tensor.name}: {tensor.dtype}[{shape}]{' constant' if tensor.constant else ''}"


def stage_text(stage: Stage) -> str:
    """One stage as a line: name[axes] = values, reduced over axes by the combiner."""
    axes = ", ".join(f"{a.name}<{to_text(a.extent)}" for a in stage.axes)
    values = ", ".join(expr_text(v) for v in stage.values)
    line = f"{stage.name}: {', '.join(stage.dtypes)}[{axes}] = {values}"
    if stage.combiner is None:
        return line
    over = ", ".join(f"{a.name}<{to_text(a.extent)}" for a in stage.reduce_axes)
    return f"{line} over {over} by {stage.combiner.text(tuple(v.dtype for v in stage.values))}"
