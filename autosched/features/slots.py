"""The slots of a sketch: a fixed list of columns that says all the features need, whatever the structure.

Sums run over the statements of the timed regions. The main statement is the one with the most work; its loops are
read from the innermost outwards, padded by repeating the outermost. Operands are the buffers the main statement
loads, named by how its vectors read them, and the one that its region writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autosched.features.arithmetic import CLASSES
from autosched.features.columns import Column, ColumnGraph
from autosched.features.operand import OPERANDS, layout, operands
from autosched.features.statement import (
    StatementColumns,
    in_registers,
    largest,
    over,
    quotient,
    runs,
    spill_cycles,
    unroll,
    vectors,
)
from autosched.features.traffic import ScopeColumns, iterations, read_scope, traffic
from autosched.nest.nodes import Buffer, Copy, Fold, Nest, Reduce
from autosched.nest.scopes import RegionScopes, Scope, Statement, read_prepare, read_regions
from autosched.target.target import Target
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, evaluate

POSITIONS = 8
CACHES = ("l1", "l2", "l3")
ROLES = ("input", "packed", "output", "workspace", "local")
ENTRY_CYCLES = 0.2
BROADCAST_REGISTERS = 1.25
"""Registers that broadcast operands take: one, and some room for the compiler."""
REGION_CYCLES = 6000.0

_MAIN = [
    "executions",
    "entries",
    "instructions",
    "lanes",
    "vector_size",
    "rows",
    "contiguous",
    "broadcast",
    "gathered",
    "stores",
    "cycles",
    "code",
    "variants",
    "tail_share",
    "multiply_adds",
    "depth",
    "unroll",
]
_SUMS = [
    "executions",
    "instructions",
    "entries",
    "loads_contiguous",
    "loads_broadcast",
    "loads_gathered",
    "stores",
    "reduce_executions",
    "copy_elements",
    "copy_instructions",
    "copy_entries",
    "copy_read_bytes",
    "copy_runs",
    "fold_executions",
    "barriers",
    "code",
    "issue_cycles",
    "span_cycles",
    "iterations",
    "vector_executions",
    "scalar_instructions",
]
_MAXIMA = [
    "statement_cycles",
    "statement_code",
    "variants",
    "register_vectors",
    "statement_executions",
]
_WHOLE = [
    "regions",
    "tasks",
    "least_tasks",
    "most_tasks",
    "waves",
    "idle",
    "scratch_bytes",
    "workspace_bytes",
    "packed_bytes",
    "prepare_executions",
    "register_vectors",
    "spilled_vectors",
    "compulsory_bytes",
    "nominal_operations",
    "statements",
    "loops",
]

SLOTS: tuple[str, ...] = (
    *(f"main.{n}" for n in _MAIN),
    *(f"main.trips.{p}" for p in range(POSITIONS)),
    *(f"main.footprint.{p}" for p in range(POSITIONS)),
    *(f"main.{o}.footprint.{p}" for o in OPERANDS for p in range(POSITIONS)),
    *(
        f"main.{o}.{n}"
        for o in OPERANDS
        for n in ("stride", "step", "pitch", "conflict", "pages", "bytes")
    ),
    *(f"main.{o}.traffic.{c}" for o in OPERANDS for c in CACHES),
    *(f"operations.{c}" for c in CLASSES),
    *(f"sum.{n}" for n in _SUMS),
    *(f"maximum.{n}" for n in _MAXIMA),
    *(f"traffic.{r}.{c}" for r in ROLES for c in CACHES),
    *(f"footprint.{r}" for r in ROLES),
    *(f"whole.{n}" for n in _WHOLE),
    *(f"target.{n}" for n in ("threads", "lanes", "registers", "l1", "l2", "l3")),
    *(f"span_bytes.{c}" for c in CACHES),
)
"""Every slot, in the order of the matrix rows."""


@dataclass(frozen=True)
class _Region:
    """A region with its columns."""

    scopes: RegionScopes
    columns: ScopeColumns
    statements: tuple[StatementColumns, ...]
    tasks: Column


class SketchSlots:
    """Builds the slots of one nest; `reference` are values that decide which statement is the main one."""

    def __init__(self, nest: Nest, target: Target, reference: Mapping[Int, int]) -> None:
        self.graph = ColumnGraph()
        self.nest = nest
        self.target = target
        self.slots = dict.fromkeys(SLOTS, self.graph.constant(0.0))
        self.regions = tuple(self._region(r) for r in read_regions(nest))
        self.main_region, self.main = self._main(reference)
        self._fill()

    def _region(self, scopes: RegionScopes) -> _Region:
        graph = self.graph
        statements = tuple(StatementColumns(s, graph, self.target) for s in scopes.statements)
        columns = read_scope(scopes.root, graph)
        return _Region(scopes, columns, statements, graph.integer(scopes.region.tasks))

    def _main(self, reference: Mapping[Int, int]) -> tuple[_Region, StatementColumns]:
        best: tuple[float, _Region, StatementColumns] | None = None
        for region in self.regions:
            for statement in region.statements:
                work = _work(statement.statement, statement.operations.total(), reference)
                if best is None or work > best[0]:
                    best = work, region, statement
        if best is None:
            raise ValueError(f"nest {self.nest.name} has no statement in a timed region")
        return best[1], best[2]

    def _fill(self) -> None:
        self._fill_target()
        self._fill_whole()
        self._fill_sums()
        self._fill_maxima()
        self._fill_main()
        self._fill_chain()
        self._fill_operands()
        self._fill_traffic()

    def _set(self, group: str, **values: Column | float) -> None:
        for name, value in values.items():
            key = f"{group}.{name}"
            if key not in self.slots:
                raise KeyError(key)
            self.slots[key] = value if isinstance(value, Column) else self.graph.constant(value)

    def _fill_target(self) -> None:
        t = self.target
        self._set("target", threads=t.threads, lanes=t.lanes(4), registers=t.vector_registers)
        self._set("target", l1=t.l1_bytes, l2=t.l2_bytes, l3=t.l3_bytes)

    def _fill_whole(self) -> None:
        graph = self.graph
        tasks = [r.tasks for r in self.regions]
        threads = float(self.target.threads)
        waves = [(t / threads).ceil() for t in tasks]
        least, most = tasks[0], tasks[0]
        for t in tasks[1:]:
            least, most = graph.minimum(least, t), graph.maximum(most, t)
        everything = [s for r in self.regions for s in r.statements]
        packed = read_prepare(self.nest)
        self._set(
            "whole",
            regions=len(self.regions),
            tasks=self.main_region.tasks,
            least_tasks=least,
            most_tasks=most,
            waves=graph.total(waves),
            idle=(self.main_region.tasks / threads).ceil() * threads / self.main_region.tasks,
            scratch_bytes=self._scratch_bytes(),
            workspace_bytes=self._bytes(self.nest.workspaces),
            packed_bytes=self._bytes(self.nest.packed),
            prepare_executions=graph.total(
                [quotient(graph, s.factors) for p in packed for s in p.statements]
            ),
            compulsory_bytes=self._bytes(self._external()),
            nominal_operations=graph.total(
                [s.executions * float(s.operations.total()) for s in everything]
            ),
            statements=len(everything),
            loops=sum(1 for r in self.regions for _ in r.scopes.root.walk()),
        )

    def _external(self) -> tuple[Buffer, ...]:
        """The buffers from outside that the timed regions touch."""
        touched = {b for r in self.regions for b in r.columns.bytes_of}
        nest = self.nest
        return tuple(b for b in (*nest.inputs, *nest.packed, *nest.outputs) if b in touched)

    def _bytes(self, buffers: tuple[Buffer, ...]) -> Column:
        graph = self.graph
        return graph.total([graph.integer(b.elements) * float(n_bytes(b.dtype)) for b in buffers])

    def _scratch_bytes(self) -> Column:
        """Scratch of one thread: the largest over the regions, which run one after another."""
        allocated = [[b for b, _, _ in r.scopes.allocated] for r in self.regions]
        scratch = [[b for b in found if b.scope in ("scratch", "shared")] for found in allocated]
        return largest(self.graph, [self._bytes(tuple(found)) for found in scratch])

    def _register_vectors(self, region: _Region) -> Column:
        """Registers that the buffers of a region ask for at once, were all of them alive."""
        found = [b for b, _, _ in region.scopes.allocated if in_registers(b)]
        return self.graph.total([vectors(b, self.graph, self.target) for b in found])

    def _fill_sums(self) -> None:
        graph = self.graph
        all_of = [s for r in self.regions for s in r.statements]
        copies = [s for s in all_of if isinstance(s.statement.node, Copy)]
        self._set(
            "sum",
            executions=graph.total([s.executions for s in all_of]),
            instructions=graph.total([s.instructions for s in all_of]),
            entries=graph.total([s.entries for s in all_of]),
            loads_contiguous=graph.total([s.entries * s.loads.contiguous for s in all_of]),
            loads_broadcast=graph.total([s.entries * s.loads.broadcast for s in all_of]),
            loads_gathered=graph.total([s.entries * s.loads.gathered for s in all_of]),
            stores=graph.total([s.entries * s.stores for s in all_of]),
            reduce_executions=over(graph, all_of, Reduce),
            copy_elements=over(graph, all_of, Copy),
            fold_executions=over(graph, all_of, Fold),
            copy_instructions=graph.total([s.instructions for s in copies]),
            copy_entries=graph.total([s.entries for s in copies]),
            copy_read_bytes=graph.total([s.executions * float(s.dtype_bytes) for s in copies]),
            copy_runs=graph.total([runs(graph, s) for s in copies]),
            barriers=graph.total(
                [quotient(graph, b) for r in self.regions for b in r.scopes.barriers]
            ),
            code=graph.total([s.code_units() for s in all_of]),
            issue_cycles=graph.total([self._cycles(s) for s in all_of]),
            span_cycles=self._span_cycles(),
            iterations=graph.total([iterations(graph, r.columns) for r in self.regions]),
            vector_executions=graph.total([s.executions for s in all_of if s.is_vector]),
            scalar_instructions=graph.total([s.instructions for s in all_of if not s.is_vector]),
        )
        for name in CLASSES:
            counts = [s.executions * float(s.operations[name]) for s in all_of]
            self._set("operations", **{name: graph.total(counts)})

    def _cycles(self, statement: StatementColumns) -> Column:
        return statement.entries * (statement.cycles_per_entry() + ENTRY_CYCLES)

    def _span_cycles(self) -> Column:
        """Issue cycles on the busiest thread, region after region."""
        graph = self.graph
        parts = []
        for region in self.regions:
            waves = (region.tasks / float(self.target.threads)).ceil()
            busy = graph.total([self._cycles(s) for s in region.statements])
            parts.append(busy * waves / region.tasks + REGION_CYCLES)
        return graph.total(parts)

    def _fill_maxima(self) -> None:
        graph = self.graph
        all_of = [s for r in self.regions for s in r.statements]
        registers = [self._register_vectors(r) for r in self.regions]
        available = float(self.target.vector_registers)
        held = (
            self._register_vectors(self.main_region)
            + self.main.loads.contiguous
            + BROADCAST_REGISTERS
        )
        spilled = graph.maximum(held - available, 0.0)
        self._set(
            "maximum",
            statement_cycles=largest(graph, [self._cycles(s) for s in all_of]),
            statement_code=largest(graph, [s.code_units() for s in all_of]),
            statement_executions=largest(graph, [s.executions for s in all_of]),
            variants=largest(graph, [s.variants() for s in all_of]),
            register_vectors=largest(graph, registers),
        )
        self._set(
            "whole",
            register_vectors=self._register_vectors(self.main_region),
            spilled_vectors=spilled,
        )

    def _fill_main(self) -> None:
        graph, main = self.graph, self.main
        lanes = graph.constant(1.0)
        tail = graph.constant(1.0)
        for lane in main.statement.lanes:
            size = graph.integer(lane.size)
            lanes = lanes * size
            tail = tail * quotient(graph, [lane.count]) / size
        vector = [x.size for x in main.statement.lanes if x.var is main.statement.vector]
        size = graph.integer(vector[0]) if vector else graph.constant(1.0)
        entries = graph.maximum(main.entries, 1e-9)
        spilled = spill_cycles(self.slots["whole.spilled_vectors"])
        self._set(
            "main",
            executions=main.executions,
            entries=main.entries,
            instructions=main.instructions / entries,
            lanes=lanes,
            vector_size=size,
            rows=lanes / size,
            contiguous=main.loads.contiguous,
            broadcast=main.loads.broadcast,
            gathered=main.loads.gathered,
            stores=main.stores,
            cycles=main.cycles_per_entry() + spilled,
            code=main.code_units(),
            variants=main.variants(),
            tail_share=tail,
            multiply_adds=main.executions / graph.maximum(self.slots["sum.instructions"], 1e-9),
            depth=len(main.statement.loops),
            unroll=unroll(graph, main.statement),
        )

    def _chain(self) -> list[ScopeColumns]:
        """The scopes around the main statement, innermost (the statement itself) first."""
        path: list[ScopeColumns] = []

        def descend(columns: ScopeColumns) -> bool:
            if columns.scope is self.main.statement:
                path.append(columns)
                return True
            if any(descend(child) for child in columns.children):
                path.append(columns)
                return True
            return False

        descend(self.main_region.columns)
        return path

    def _fill_chain(self) -> None:
        chain = self._chain()
        for position in range(POSITIONS):
            columns = chain[min(position, len(chain) - 1)]
            loop = columns.scope.loop if isinstance(columns.scope, Scope) else None
            trips = quotient(self.graph, [loop.count]) if loop and position < len(chain) else 1.0
            self._set("main.trips", **{str(position): trips})
            self._set("main.footprint", **{str(position): columns.total})

    def _fill_operands(self) -> None:
        chain = self._chain()
        per_cache = self._traffic_of(self.main_region)
        root = self.main_region.columns.bytes_of
        for name, access in operands(self.main, self.main_region.statements).items():
            buffer = access.buffer
            found = layout(self.main, access, chain, self.graph)
            self._set(f"main.{name}", bytes=root[buffer], **vars(found))
            for position in range(POSITIONS):
                columns = chain[min(position, len(chain) - 1)]
                size = columns.bytes_of.get(buffer, self.graph.constant(0.0))
                self._set(f"main.{name}.footprint", **{str(position): size})
            for cache in CACHES:
                self._set(f"main.{name}.traffic", **{cache: per_cache[cache][buffer]})

    def _cache_bytes(self) -> dict[str, float]:
        """Bytes of each level that one thread may fill."""
        t = self.target
        return {"l1": t.l1_bytes, "l2": t.l2_bytes, "l3": t.l3_bytes / t.threads}

    def _traffic_of(self, region: _Region) -> dict[str, dict[Buffer, Column]]:
        sizes = self._cache_bytes()
        return {c: traffic(region.columns, sizes[c], self.graph) for c in CACHES}

    def _fill_traffic(self) -> None:
        graph = self.graph
        moved: dict[tuple[str, str], list[Column]] = {}
        fixed: dict[str, list[Column]] = {}
        span: dict[str, list[Column]] = {c: [] for c in CACHES}
        for region in self.regions:
            waves = (region.tasks / float(self.target.threads)).ceil() / region.tasks
            for cache, by_buffer in self._traffic_of(region).items():
                for buffer, column in by_buffer.items():
                    moved.setdefault((buffer.role, cache), []).append(column)
                span[cache].append(graph.total(list(by_buffer.values())) * waves)
            for buffer, column in region.columns.bytes_of.items():
                fixed.setdefault(buffer.role, []).append(column)
        for (role, cache), columns in moved.items():
            self._set(f"traffic.{role}", **{cache: graph.total(columns)})
        for role, columns in fixed.items():
            self._set("footprint", **{role: graph.total(columns)})
        for cache, columns in span.items():
            self._set("span_bytes", **{cache: graph.total(columns)})


def _work(statement: Statement, operations: int, reference: Mapping[Int, int]) -> float:
    total = float(max(operations, 1))
    for count in statement.factors:
        total *= evaluate(count.numerator, reference) / max(
            evaluate(count.denominator, reference), 1
        )
    return total + isinstance(statement.node, Reduce)
