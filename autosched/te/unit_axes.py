"""Axes of extent 1 dropped: their index is 0, and a reduction over nothing else is its operand.

y[n, i] = sum(k) x[n, i, k],  n < 1, k < 1   ->   y[i] = x[i]
"""

from __future__ import annotations

from autosched.te.combiner import COMBINERS, Combiner
from autosched.te.expr import Expr, Load, cast, substitute_indices
from autosched.te.integer import Int, as_int, symbol
from autosched.te.rebuild import Rebuilt, rebuild
from autosched.te.workload import Axis, Stage, Tensor, Workload

PLAIN_COMBINERS = ("sum", "product", "max", "min")


def without_unit_axes(workload: Workload) -> Workload:
    """The workload without axes and dimensions of extent 1; what would have none left has one."""

    def new_input(tensor: Tensor) -> Tensor:
        shape = tuple(tensor.shape[d] for d in _kept(tensor.shape)) or (as_int(1),)
        return Tensor(tensor.name, shape, tensor.dtype, constant=tensor.constant)

    return rebuild(workload, _without_units, new_input)


def _kept(shape: tuple[Int, ...]) -> tuple[int, ...]:
    """Positions of the dimensions that stay."""
    longer = tuple(d for d, extent in enumerate(shape) if not is_unit(extent))
    return longer or tuple(range(len(shape)))[:1]


def is_unit(extent: Int) -> bool:
    return extent.is_constant and extent.value == 1


def _without_units(stage: Stage, rebuilt: Rebuilt) -> Stage:
    axes = tuple(stage.axes[d] for d in _kept(stage.shape)) or (
        Axis(symbol("unit", "index"), as_int(1)),
    )
    reduce_axes, combiner = _reduction(stage)
    gone = [a for a in (*stage.axes, *stage.reduce_axes) if a not in (*axes, *reduce_axes)]
    zero = {a.symbol: as_int(0) for a in gone}

    def rule(load: Load, source: Tensor) -> Expr:
        return Load(
            source, tuple(load.indices[d] for d in _kept(load.source.shape)) or (as_int(0),)
        )

    values = tuple(rebuilt.value(substitute_indices(v, zero), rule) for v in stage.values)
    if combiner is None:
        values = tuple(cast(d, v) for d, v in zip(stage.dtypes, values, strict=True))
    return Stage(stage.name, axes, values, stage.dtypes, reduce_axes, combiner)


def _reduction(stage: Stage) -> tuple[tuple[Axis, ...], Combiner | None]:
    """What is left of the reduction axes; tuples keep one, since only a reduction carries them."""
    longer = tuple(a for a in stage.reduce_axes if not is_unit(a.extent))
    if longer or stage.combiner is None:
        return longer, stage.combiner
    if any(stage.combiner is COMBINERS[name] for name in PLAIN_COMBINERS):
        return (), None
    return stage.reduce_axes[:1], stage.combiner
