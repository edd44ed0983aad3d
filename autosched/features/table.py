"""The feature table: name, unit, meaning and formula of every feature. Count, order, documentation and the schema hash
derive from it; to add a feature is to add a line here.

A formula maps the slots of a candidate (`autosched.features.slots`) to a column. `scale` says how the model sees it:
`log` as ln(1 + value), for amounts over many orders of magnitude; `plain` as it is, for shares and small counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from autosched.features import estimate
from autosched.features.arithmetic import CLASSES
from autosched.features.columns import Column
from autosched.features.operand import OPERANDS
from autosched.features.slots import CACHES, POSITIONS, ROLES, SLOTS

Slots = Mapping[str, Column]
Formula = Callable[[Slots], Column]
Scale = Literal["log", "plain"]
SCHEMA_VERSION = "f1"


@dataclass(frozen=True)
class Feature:
    """One feature: what it means, in which unit, and how it follows from the slots: a formula, or a slot's name."""

    name: str
    unit: str
    meaning: str
    formula: str | Formula
    scale: Scale = "log"


def _ratio(above: str, below: str) -> Formula:
    """above / below, 0 where there is nothing below."""
    return lambda s: s[above] / s[below].graph.maximum(s[below], 1e-6)


def _slot(name: str, unit: str, meaning: str, scale: Scale = "log") -> Feature:
    """A feature that is the slot of its name."""
    return Feature(name, unit, meaning, name, scale)


def _direct(
    group: str, unit: str, meanings: Mapping[str, str], scale: Scale = "log"
) -> list[Feature]:
    return [_slot(f"{group}.{name}", unit, meaning, scale) for name, meaning in meanings.items()]


def _main() -> list[Feature]:
    found = _direct(
        "main",
        "count",
        {
            "executions": "elements the main statement computes",
            "entries": "runs of the innermost body around the main statement",
            "instructions": "vector instructions of one entry",
            "lanes": "elements of the register block",
            "vector_size": "lanes along the vector",
            "rows": "lanes across the vector: broadcast operands",
            "contiguous": "vector loads of one entry",
            "broadcast": "broadcast or scalar loads of one entry",
            "gathered": "gathered loads of one entry",
            "stores": "stores to memory of one entry",
            "code": "unrolled instructions, tail variants included",
            "multiply_adds": "elements computed for each instruction of the kernel",
        },
    )
    found += _direct("main", "cycles", {"cycles": "issue cycles of one entry, spills included"})
    found += _direct(
        "main",
        "count",
        {
            "variants": "copies of the body for tails",
            "depth": "loops around the main statement",
            "unroll": "copies of the innermost loop's body",
        },
        "plain",
    )
    found += _direct(
        "main", "share", {"tail_share": "lanes that hold an element, on average"}, "plain"
    )
    return found


def _chain() -> list[Feature]:
    found: list[Feature] = []
    for p in range(POSITIONS):
        where = f"{p} loops around the main statement"
        found.append(_slot(f"main.trips.{p}", "count", f"iterations of the loop with {where}"))
        found.append(_slot(f"main.footprint.{p}", "bytes", f"memory touched inside {where}"))
    for operand in OPERANDS[:2]:
        for p in range(1, 6):
            what = f"part of the {operand} operand inside {p} loops"
            found.append(_slot(f"main.{operand}.footprint.{p}", "bytes", what))
    for p in range(1, POSITIONS):
        found.append(
            Feature(
                f"main.intensity.{p}",
                "operations/byte",
                f"work inside {p} loops around the main statement over the memory it touches",
                _intensity(p),
            )
        )
    return found


def _intensity(position: int) -> Formula:
    def formula(s: Slots) -> Column:
        work = s["main.lanes"]
        for p in range(1, position + 1):
            work = work * s[f"main.trips.{p}"]
        return work / work.graph.maximum(s[f"main.footprint.{position}"], 1.0)

    return formula


def _operands() -> list[Feature]:
    found: list[Feature] = []
    for operand in OPERANDS:
        group, what = f"main.{operand}", f"the {operand} operand of the main statement"
        found += _direct(group, "bytes", {"bytes": f"memory of {what} in all"})
        found += _direct(
            f"{group}.traffic", "bytes", {c: f"{what} fetched into {c.upper()}" for c in CACHES}
        )
    for operand in OPERANDS[:2]:
        found += _access(f"main.{operand}", f"the {operand} operand of the main statement")
    return found


def _access(group: str, what: str) -> list[Feature]:
    found = _direct(
        group,
        "bytes",
        {
            "pitch": f"distance between rows of {what}",
            "step": f"move of {what} from one innermost iteration to the next",
        },
    )
    found += _direct(
        group, "elements", {"stride": f"stride of {what} along the vector, -1 unknown"}, "plain"
    )
    return found + _direct(
        group,
        "share",
        {
            "conflict": f"rows of {what} used at once over the cache lines their sets can hold",
            "pages": f"memory pages of {what} that the innermost loop touches",
        },
    )


def _sums() -> list[Feature]:
    found = _direct(
        "operations", "count", {c: f"operations of class {c} executed" for c in CLASSES}
    )
    found += _direct(
        "sum",
        "count",
        {
            "executions": "elements that all statements compute",
            "instructions": "vector or scalar instructions",
            "entries": "runs of innermost bodies",
            "iterations": "loop iterations",
            "loads_contiguous": "vector loads",
            "loads_broadcast": "broadcast or scalar loads",
            "loads_gathered": "gathered loads",
            "stores": "stores to memory",
            "reduce_executions": "elements reduced",
            "fold_executions": "lanes folded across vectors",
            "copy_elements": "elements packed or padded inside the timed part",
            "copy_instructions": "instructions of copies",
            "copy_entries": "copies made",
            "copy_runs": "contiguous runs that copies write",
            "barriers": "barriers passed",
            "code": "unrolled instructions of the whole text",
            "vector_executions": "elements computed in vectors",
            "scalar_instructions": "instructions that are not vectors",
        },
    )
    found += _direct("sum", "bytes", {"copy_read_bytes": "bytes that copies read"})
    found += _direct(
        "sum",
        "cycles",
        {
            "issue_cycles": "issue cycles of all statements",
            "span_cycles": "issue cycles of the busiest thread",
        },
    )
    found += _direct(
        "maximum",
        "count",
        {
            "statement_cycles": "issue cycles of the most expensive statement",
            "statement_code": "unrolled instructions of the longest statement",
            "statement_executions": "elements of the statement with the most of them",
            "variants": "copies of the body with most tails",
            "register_vectors": "vector registers the fullest region asks for",
        },
    )
    return found


def _memory() -> list[Feature]:
    found: list[Feature] = []
    for role in ROLES:
        found += _direct(
            f"traffic.{role}",
            "bytes",
            {c: f"{role} buffers fetched into {c.upper()}" for c in CACHES},
        )
        found.append(_slot(f"footprint.{role}", "bytes", f"memory of {role} buffers touched"))
    for cache in CACHES:
        what = f"bytes the busiest thread fetches into {cache.upper()}"
        found.append(_slot(f"span_bytes.{cache}", "bytes", what))
        for p in (1, 2, 3):
            found.append(
                Feature(
                    f"fill.{cache}.{p}",
                    "share",
                    f"memory inside {p} loops around the main statement over {cache.upper()}",
                    _ratio(f"main.footprint.{p}", f"target.{cache}"),
                )
            )
    return found


def _whole() -> list[Feature]:
    found = _direct(
        "whole",
        "count",
        {
            "tasks": "parallel tasks of the region with the main statement",
            "least_tasks": "tasks of the region with the fewest",
            "most_tasks": "tasks of the region with the most",
            "waves": "tasks of the busiest thread, over all regions",
            "nominal_operations": "operations executed, padding included",
            "prepare_executions": "elements packed once, outside the timed part",
        },
    )
    found += _direct(
        "whole",
        "count",
        {
            "regions": "parallel regions",
            "statements": "statements",
            "loops": "loops",
            "register_vectors": "vector registers the main region asks for",
            "spilled_vectors": "vector registers beyond those of the machine",
        },
        "plain",
    )
    found += _direct("whole", "ratio", {"idle": "thread time over work: 1 is even"}, "plain")
    found += _direct(
        "whole",
        "bytes",
        {
            "scratch_bytes": "scratch of one thread",
            "workspace_bytes": "workspaces between regions",
            "packed_bytes": "constants packed outside the timed part",
            "compulsory_bytes": "inputs and outputs, each once",
        },
    )
    return found


def _main_loads(s: Slots) -> Column:
    return s["main.contiguous"] + s["main.broadcast"] + s["main.gathered"]


_RATIOS = [
    Feature(
        "ratio.loads",
        "loads/instruction",
        "loads for each instruction of the main statement",
        lambda s: (
            _main_loads(s) / s["main.instructions"].graph.maximum(s["main.instructions"], 1e-6)
        ),
        "plain",
    ),
    Feature(
        "ratio.vector",
        "share",
        "elements computed in vectors over all elements",
        _ratio("sum.vector_executions", "sum.executions"),
        "plain",
    ),
    Feature(
        "ratio.copied",
        "share",
        "elements copied for each one computed by the main statement",
        _ratio("sum.copy_elements", "main.executions"),
        "plain",
    ),
    Feature(
        "ratio.copy_run",
        "elements",
        "length of a contiguous run that copies write",
        _ratio("sum.copy_elements", "sum.copy_runs"),
    ),
    Feature(
        "ratio.overhead",
        "iterations/instruction",
        "loop iterations for each instruction",
        _ratio("sum.iterations", "sum.instructions"),
        "plain",
    ),
    Feature(
        "ratio.scratch_l1",
        "share",
        "scratch over L1",
        _ratio("whole.scratch_bytes", "target.l1"),
    ),
    Feature(
        "ratio.scratch_l2",
        "share",
        "scratch over L2",
        _ratio("whole.scratch_bytes", "target.l2"),
    ),
    Feature(
        "ratio.packed_l2",
        "share",
        "packed constants over L2",
        _ratio("whole.packed_bytes", "target.l2"),
    ),
    Feature(
        "ratio.registers",
        "share",
        "vector registers asked for over those of the machine",
        _ratio("whole.register_vectors", "target.registers"),
        "plain",
    ),
    Feature(
        "ratio.intensity",
        "operations/byte",
        "operations over compulsory bytes",
        _ratio("whole.nominal_operations", "whole.compulsory_bytes"),
    ),
    Feature(
        "ratio.l1_traffic",
        "bytes/operation",
        "bytes the busiest thread fetches into L1 for each of its cycles",
        _ratio("span_bytes.l1", "sum.span_cycles"),
        "plain",
    ),
    Feature(
        "ratio.l2_traffic",
        "bytes/operation",
        "bytes the busiest thread fetches into L2 for each of its cycles",
        _ratio("span_bytes.l2", "sum.span_cycles"),
        "plain",
    ),
    Feature(
        "ratio.task_cycles",
        "cycles",
        "issue cycles of one task",
        _ratio("sum.issue_cycles", "whole.tasks"),
    ),
]


def _target() -> list[Feature]:
    found = _direct(
        "target",
        "count",
        {
            "threads": "threads of the target",
            "lanes": "float32 lanes of a vector register",
            "registers": "vector registers",
        },
        "plain",
    )
    return found + _direct("target", "bytes", {c: f"bytes of {c.upper()}" for c in CACHES})


def _analytic() -> list[Feature]:
    return [
        Feature(f"analytic.{name}", "cycles", meaning, formula)
        for name, (meaning, formula) in estimate.TERMS.items()
    ]


_TABLE = [
    *_analytic(),
    *_main(),
    *_chain(),
    *_operands(),
    *_sums(),
    *_memory(),
    *_whole(),
    *_RATIOS,
    *_target(),
]

GROUPS: tuple[tuple[Feature, ...], ...] = tuple(
    tuple(f for f in _TABLE if f.scale == scale and isinstance(f.formula, str) == direct)
    for scale, direct in (("log", True), ("log", False), ("plain", False), ("plain", True))
)
"""Logarithmic features that are a slot as it is, derived ones, plain derived ones, plain slots."""

FEATURES: tuple[Feature, ...] = tuple(f for group in GROUPS for f in group)
"""Every feature, in the order of a row."""


@lru_cache(maxsize=1)
def schema() -> str:
    """Content key of names, order, units, meanings and slots: what a stored row or a saved model means."""
    lines = [f"{f.name} {f.unit} {f.scale} {f.meaning}" for f in FEATURES] + list(SLOTS)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{SCHEMA_VERSION}-{digest[:16]}"


def documentation() -> str:
    """The table as Markdown."""
    head = "| # | feature | unit | scale | meaning |\n|---|---|---|---|---|"
    rows = [
        f"| {i} | {f.name} | {f.unit} | {f.scale} | {f.meaning} |" for i, f in enumerate(FEATURES)
    ]
    return "\n".join([head, *rows]) + "\n"
