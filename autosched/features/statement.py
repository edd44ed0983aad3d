"""One statement of a sketch in columns: executions, vector instructions, loads by kind, code size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autosched.features.arithmetic import element_cycles, element_operations
from autosched.features.columns import Column, ColumnGraph
from autosched.nest.footprint import Access, stride
from autosched.nest.nodes import Buffer, Copy, Count, Fold, Invoke, Lane, Reduce
from autosched.nest.scopes import Statement
from autosched.target.target import Target
from autosched.te.dtype import n_bytes
from autosched.te.integer import Int, product, symbols

LATENCY_CYCLES = 4.3
LOAD_CYCLES = 0.5
ISSUE_WIDTH = 5.0
LOOP_INSTRUCTIONS = 3.0
STORE_CYCLES = 1.0
SPILL_CYCLES = 2.0
SPILL_LATENCY = 2.0
KIND_OF_STRIDE: Mapping[int | None, str] = {1: "contiguous", 0: "broadcast"}
"""Of a load, by its stride along the vector; any other, or one that is not known, is gathered."""


def quotient(graph: ColumnGraph, counts: Sequence[Count]) -> Column:
    """Product of averages as one column; numerators and denominators of neighbours cancel where they are the same."""
    above = [c.numerator for c in counts]
    below: list[Int] = []
    for count in counts:
        if count.denominator in above:
            above.remove(count.denominator)
        else:
            below.append(count.denominator)
    top = graph.constant(1.0)
    for factor in above:
        top = top * graph.integer(factor)
    bottom = graph.constant(1.0)
    for factor in below:
        bottom = bottom * graph.integer(factor)
    return top / bottom


def in_registers(buffer: Buffer) -> bool:
    return buffer.scope in ("register", "fragment")


@dataclass(frozen=True)
class Loads:
    """Load instructions of one entry, by kind."""

    contiguous: Column
    broadcast: Column
    gathered: Column

    @property
    def total(self) -> Column:
        return self.contiguous + self.broadcast + self.gathered


class StatementColumns:
    """Columns of one statement."""

    def __init__(self, statement: Statement, graph: ColumnGraph, target: Target) -> None:
        self.statement = statement
        self.graph = graph
        self.target = target
        self.dtype_bytes = max(n_bytes(a.buffer.dtype) for a in statement.accesses if a.writes)
        self.vector_lanes = target.lanes(self.dtype_bytes)
        self.executions = quotient(graph, statement.factors)
        self.entries = quotient(graph, statement.entries)
        self.operations = element_operations(statement)
        self.is_vector = self._is_vector()
        self.instructions = self._instructions()
        self.loads = self._loads()
        self.stores = self._stores()

    def _is_vector(self) -> bool:
        node = self.statement.node
        if isinstance(node, Copy) and node.axes:
            inner = node.axes[-1].var
            steps = [stride(a.indices, a.buffer, inner) for a in self.statement.accesses]
            return all(s.is_constant and s.value in (0, 1) for s in steps)
        return self.statement.vector is not None or isinstance(node, Invoke)

    def packed_ratio(self, size: Int) -> Column:
        """Vectors needed for `size` lanes over lanes: partial vectors are computed whole."""
        lanes = self.graph.integer(size)
        return (lanes / float(self.vector_lanes)).ceil() / lanes

    def lane_ratio(self) -> Column:
        """Instructions an element: 1 / lanes of full vectors, 1 for scalars."""
        node = self.statement.node
        if not self.is_vector:
            return self.graph.constant(1.0)
        if isinstance(node, Copy):
            return self.packed_ratio(node.axes[-1].extent)
        if isinstance(node, Fold) or self.statement.vector is None:
            return self.graph.constant(1.0)
        return self.packed_ratio(self._vector_lane().size)

    def _vector_lane(self) -> Lane:
        return next(x for x in self.statement.lanes if x.var is self.statement.vector)

    def _instructions(self) -> Column:
        return self.executions * self.lane_ratio()

    def _lane_count(self, access: Access, kind: int | None) -> Column:
        """Instructions an entry for distinct addresses of one access; `kind` is its stride along the vector."""
        named = frozenset().union(*(symbols(i) for i in access.indices), frozenset())
        total = self.graph.constant(1.0)
        for lane in self.statement.lanes:
            if lane.var not in named:
                continue
            total = total * quotient(self.graph, [lane.count])
            if lane.var is self.statement.vector and kind == 1:
                total = total * self.packed_ratio(lane.size)
        if isinstance(self.statement.node, Copy):
            counts = [axis.count for axis in self.statement.node.axes]
            total = total * quotient(self.graph, counts)
            total = total * self.lane_ratio()
        return total

    def vector_stride(self, access: Access) -> int | None:
        """Stride along the vector lane; None if it is not a known number (or there is no vector)."""
        variable = self.statement.vector
        node = self.statement.node
        if isinstance(node, Copy) and node.axes:
            variable = node.axes[-1].var
        if variable is None:
            return None
        step = stride(access.indices, access.buffer, variable)
        return step.value if step.is_constant else None

    def _loads(self) -> Loads:
        zero = self.graph.constant(0.0)
        kinds = {"contiguous": zero, "broadcast": zero, "gathered": zero}
        seen: set[tuple[Buffer, tuple[Int, ...]]] = set()
        for access in self.statement.accesses:
            key = (access.buffer, access.indices)
            if access.writes or in_registers(access.buffer) or key in seen:
                continue
            seen.add(key)
            step = self.vector_stride(access)
            kind = KIND_OF_STRIDE.get(step, "gathered")
            if kind == "gathered" and not self.is_vector:
                kind = "broadcast"
            kinds[kind] = kinds[kind] + self._lane_count(access, step)
        return Loads(**kinds)

    def _stores(self) -> Column:
        total = self.graph.constant(0.0)
        for access in self.statement.accesses:
            if access.writes and not in_registers(access.buffer):
                total = total + self._lane_count(access, self.vector_stride(access))
        return total

    def cycles_per_entry(self) -> Column:
        """Issue cycles of one entry: the largest of arithmetic, memory instructions, the width of the front end (loop
        control shares it) and the dependent chain."""
        graph = self.graph
        work = self.instructions / graph.maximum(self.entries, 1e-9)
        arithmetic = work * element_cycles(self.statement)
        memory = self.loads.total * LOAD_CYCLES + self.stores * STORE_CYCLES
        control = LOOP_INSTRUCTIONS / unroll(graph, self.statement)
        issued = (work + self.loads.total + self.stores + control) / ISSUE_WIDTH
        cycles = graph.maximum(graph.maximum(arithmetic, memory), issued)
        if isinstance(self.statement.node, (Reduce, Fold)):
            cycles = graph.maximum(cycles, LATENCY_CYCLES)
        return cycles

    def code_units(self) -> Column:
        """Unrolled instructions the text holds for this statement, tail variants included: prod(size + tail)."""
        total = self.graph.constant(float(max(1, sum(self.operations.values()))))
        for lane in self.statement.lanes:
            parts = [self.graph.integer(lane.size), self.graph.integer(lane.tail)]
            if lane.var is self.statement.vector:
                parts = [(p / float(self.vector_lanes)).ceil() for p in parts]
            total = total * (parts[0] + parts[1])
        for loop in self.statement.loops:
            total = total * self.graph.integer(loop.unroll)
            if loop.peel is not None:
                total = total * 2.0
        return total

    def variants(self) -> Column:
        """Copies of the body: 2 for each lane axis that has a tail."""
        total = self.graph.constant(1.0)
        for lane in self.statement.lanes:
            total = total * (1.0 + self.graph.minimum(self.graph.integer(lane.tail), 1.0))
        return total


def vectors(buffer: Buffer, graph: ColumnGraph, target: Target) -> Column:
    """Vector registers that a register buffer takes."""
    if not buffer.shape:
        return graph.constant(1.0)
    shape = buffer.shape[buffer.thread_axes :] or buffer.shape
    last = graph.integer(shape[-1]) / float(target.lanes(n_bytes(buffer.dtype)))
    return graph.integer(product(list(shape[:-1]))) * last.ceil()


def over(graph: ColumnGraph, statements: list[StatementColumns], kind: type) -> Column:
    """Executions of the statements of one kind."""
    return graph.total([s.executions for s in statements if isinstance(s.statement.node, kind)])


def largest(graph: ColumnGraph, columns: list[Column]) -> Column:
    """The largest of the columns; 0 for none."""
    result = graph.constant(0.0)
    for column in columns:
        result = graph.maximum(result, column)
    return result


def unroll(graph: ColumnGraph, statement: Statement) -> Column:
    """Copies of the innermost loop's body."""
    return graph.integer(statement.loops[-1].unroll) if statement.loops else graph.constant(1.0)


def runs(graph: ColumnGraph, statement: StatementColumns) -> Column:
    """Contiguous runs that a copy writes: its executions over the extent of its innermost axis."""
    node = statement.statement.node
    if not isinstance(node, Copy) or not node.axes:
        return statement.executions
    return statement.executions / quotient(graph, [node.axes[-1].count])


def spill_cycles(spilled: Column) -> Column:
    """Cycles an entry loses to vectors that do not fit the registers: a store and a load each, and the chain that now
    runs through memory."""
    return spilled * SPILL_CYCLES + spilled.graph.minimum(spilled, 1.0) * SPILL_LATENCY
