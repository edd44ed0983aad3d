"""What the expressions of one statement read: elements of buffers, and indices as values."""

from __future__ import annotations

from autosched.codegen.c.accesses import Access, access
from autosched.codegen.c.arithmetic import Arithmetic
from autosched.codegen.c.conversions import Value
from autosched.codegen.c.lanes import Point
from autosched.codegen.c.printing import Printing
from autosched.nest.nodes import Buffer
from autosched.te.expr import Expr, Index, Load
from autosched.te.integer import Int, as_int, substitute
from autosched.te.interval import fold, linear


class Values(Arithmetic):
    """Accesses are prepared once a statement and shared between its points."""

    def __init__(self, printing: Printing) -> None:
        super().__init__(printing.writer, printing.prelude)
        self._printing = printing
        self._scope = printing.scope
        self._accesses: dict[int, Access] = {}
        self._kept: list[Expr] = []

    def access(self, load: Load) -> Access:
        found = self._accesses.get(id(load))
        if found is None:
            assert isinstance(load.source, Buffer), f"{load.source.name} is no buffer of the nest"
            found = self._accesses[id(load)] = access(self._printing, load.source, load.indices)
            self._kept.append(load)
        return found

    def condition_text(self, index: Int, point: Point) -> str:
        """A comparison of indices at the point's first lane, as a C condition."""
        return self._scope.text(self.index_at(index, point))

    def index_at(self, index: Int, point: Point) -> Int:
        fixed = {s: as_int(v) for s, v in point.values.items()}
        given = substitute(self._scope.concrete(index), fixed)
        return fold(given, self._scope.ranges)

    def index(self, node: Index, point: Point) -> Value:
        """An index expression as a value: along a vector, first + lane * step where it is linear."""
        scalar = self._scope.text(self.index_at(node.index, point))
        if point.chunk is None:
            return Value(scalar if node.dtype == "bool" else f"(int64_t){scalar}", node.dtype, 1)
        width = point.chunk.width
        lanes = [self.index_at(node.index, point.lane(i)) for i in range(width)]
        if all(lane is lanes[0] for lane in lanes):
            return self._uniform_index(node, scalar, width)
        if node.dtype == "bool":
            texts = [f"-{self._scope.text(x)}" for x in lanes]
            return Value(
                f"({self._prelude.of_letter('i', width)}){{{', '.join(texts)}}}", "bool", width
            )
        return Value(self._lane_indices(lanes, scalar, width), "int64", width)

    def _uniform_index(self, node: Index, scalar: str, width: int) -> Value:
        if node.dtype == "bool":
            return Value(self.splat("int32", f"-{scalar}", width), "bool", width)
        return Value(self.splat("int64", scalar, width), "int64", width)

    def _lane_indices(self, lanes: list[Int], scalar: str, width: int) -> str:
        steps = [linear(x - lanes[0]) for x in lanes]
        type_name = self._prelude.type_name("int64", width)
        if any(terms for terms, _ in steps):
            return f"({type_name}){{{', '.join(self._scope.text(x) for x in lanes)}}}"
        offsets = ", ".join(str(constant) for _, constant in steps)
        return f"({self.splat('int64', scalar, width)} + ({type_name}){{{offsets}}})"
