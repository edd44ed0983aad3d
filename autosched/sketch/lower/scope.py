"""Where each tensor lives while a group is lowered, and how a te expression reads it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.nest.nodes import Buffer
from autosched.te.expr import Expr, Index, Load, with_operands
from autosched.te.integer import Int, substitute
from autosched.te.workload import Tensor


@dataclass(frozen=True, eq=False)
class Home:
    """The buffer of a tensor. The first `n_local` dimensions are relative to the task's tile."""

    buffer: Buffer
    n_local: int = 0


@dataclass(frozen=True, eq=False)
class Place:
    """Index values at one place of a stage: `values` of its axes, and `locals` relative to the task's tile."""

    values: Mapping[Int, Int]
    locals: Mapping[Int, Int]


Homes = Mapping[int, Home]


def home_key(tensor: Tensor) -> int:
    """One key for every tensor object of the same stage component, or the input itself."""
    return id(tensor) if tensor.stage is None else hash((id(tensor.stage), tensor.component))


def read(expression: Expr, place: Place, homes: Homes, replaced: Mapping[Expr, Expr]) -> Expr:
    """The expression over buffers: operands in `replaced` first, then every load from its tensor's home."""
    found = replaced.get(expression)
    if found is not None:
        return found
    if isinstance(expression, Index):
        return Index(substitute(expression.index, place.values), expression.type)
    if isinstance(expression, Load):
        return _read_load(expression, place, homes)
    if not expression.operands:
        return expression
    operands = tuple(read(o, place, homes, replaced) for o in expression.operands)
    return with_operands(expression, operands)


def _read_load(load: Load, place: Place, homes: Homes) -> Expr:
    if not isinstance(load.source, Tensor):
        return load
    home = homes[home_key(load.source)]
    indices = tuple(
        substitute(index, place.locals if d < home.n_local else place.values)
        for d, index in enumerate(load.indices)
    )
    return Load(home.buffer, indices)
