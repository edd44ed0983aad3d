"""The feature formulas, compiled: from a block of slots to a block of features.

Most features are a slot as it is. Slots are therefore kept in the order of those features, and scaling reads them in
place; only what is derived is computed, by one program.

    slots     direct log | direct plain | others
    features  direct log | derived log | derived plain | direct plain
"""

from __future__ import annotations

import numpy as np

from autosched.features.columns import Array, Column, ColumnGraph, compile_columns, ordered
from autosched.features.slots import SLOTS
from autosched.features.table import FEATURES, GROUPS

_LOG, _DERIVED_LOG, _DERIVED, _PLAIN = (len(group) for group in GROUPS)
_FIRST = [str(f.formula) for f in (*GROUPS[0], *GROUPS[3])]


def _derived() -> list[Column]:
    graph = ColumnGraph()
    slots = {name: graph.input(name) for name in SLOTS}
    groups = (*GROUPS[1], *GROUPS[2])
    return [f.formula(slots) for f in groups if not isinstance(f.formula, str)]


_READ = [c.name for c in ordered(_derived()) if c.op == "input"]
SLOT_ORDER: tuple[str, ...] = tuple(dict.fromkeys((*_FIRST, *_READ)))
"""The slots that features are made of, in the order of the rows that `compute` reads; no other is computed."""

PROGRAM = compile_columns(_derived(), SLOT_ORDER, direct=True)
CHECKED = [i for i, f in enumerate(FEATURES) if f.name in ("analytic.total", "sum.executions")]
"""Features that are not finite if any amount they sum is not."""


def compute(slots: Array, features: Array, temporaries: Array) -> None:
    """Fills `features` [len(FEATURES), rows] from `slots` [len(SLOT_ORDER), rows], float32 both."""
    derived = features[_LOG : _LOG + _DERIVED_LOG + _DERIVED]
    PROGRAM.run(list(slots), list(derived), temporaries)
    np.add(slots[:_LOG], 1.0, out=features[:_LOG])
    scaled = features[: _LOG + _DERIVED_LOG]
    np.add(derived[:_DERIVED_LOG], 1.0, out=derived[:_DERIVED_LOG])
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # rows that are not exact come out as NaN and are zeroed
        np.log(scaled, out=scaled)
    np.copyto(features[len(FEATURES) - _PLAIN :], slots[_LOG : _LOG + _PLAIN])
