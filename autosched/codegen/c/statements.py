"""Store, Reduce and Invoke, unrolled over the open lanes.

A statement whose target varies along the vector lane is printed for vectors; any other is printed for scalars, lane by
lane, which is what a reduction into one element means. A store is printed once for lanes that it does not mention.
"""

from __future__ import annotations

from functools import lru_cache

from autosched.codegen.c.accesses import Access, MemoryAccess, access
from autosched.codegen.c.conversions import Value, computed_dtype
from autosched.codegen.c.evaluation import together, value_at
from autosched.codegen.c.lanes import Point
from autosched.codegen.c.printing import Printing
from autosched.codegen.c.values import Values
from autosched.nest.nodes import Invoke, Reduce, Store
from autosched.te.combiner import Combiner
from autosched.te.expr import Binary, Expr, Variable, index_symbols
from autosched.te.integer import Int


@lru_cache(maxsize=256)
def combination(combiner: Combiner, dtypes: tuple[str, ...]) -> tuple[Expr, ...]:
    """The combination of (a0, a1, ..) and (b0, b1, ..) as expressions over those names."""
    a = tuple(Variable(f"a{i}", d) for i, d in enumerate(dtypes))
    b = tuple(Variable(f"b{i}", d) for i, d in enumerate(dtypes))
    return combiner.combine(a, b)


def print_store(printing: Printing, node: Store) -> None:
    target = access(printing, node.buffer, node.indices)
    lanes = printing.scope.lanes
    used = target.lanes | (index_symbols(node.value) & lanes.symbols)
    values = Values(printing)
    for point in lanes.over(used, lanes.vector_symbol in target.lanes):
        value = values.cast(value_at(values, node.value, point), computed_dtype(node.buffer.dtype))
        target.store(point, value.text)


def print_reduce(printing: Printing, node: Reduce) -> None:
    targets = [access(printing, b, node.indices) for b in node.buffers]
    lanes = printing.scope.lanes
    values = Values(printing)
    along_vector = lanes.vector_symbol in targets[0].lanes
    for point in lanes.over(lanes.symbols, along_vector):
        _reduce_at(values, node, targets, point)


def _reduce_at(values: Values, node: Reduce, targets: list[Access], point: Point) -> None:
    """All components are read, then combined, then written."""
    new = [value_at(values, v, point) for v in node.values]
    dtypes = tuple(v.dtype for v in node.values)
    old = [
        values.cast(Value(t.load(point), computed_dtype(b.dtype), point.width), computed_dtype(d))
        for t, b, d in zip(targets, node.buffers, dtypes, strict=True)
    ]
    for target, buffer, value in zip(
        targets, node.buffers, combined(values, node.combiner, dtypes, old, new), strict=True
    ):
        target.store(point, values.cast(value, computed_dtype(buffer.dtype)).text)


def combined(
    values: Values, combiner: Combiner, dtypes: tuple[str, ...], old: list[Value], new: list[Value]
) -> list[Value]:
    """Two tuples combined; with more than one component, or one used twice, every part has a name first."""
    parts = combination(combiner, dtypes)
    if len(parts) > 1 or not isinstance(parts[0], Binary):
        old, new = [values.named(v) for v in old], [values.named(v) for v in new]
    bindings = {f"a{i}": v for i, v in enumerate(old)} | {f"b{i}": v for i, v in enumerate(new)}
    results = together(values, parts, bindings)
    return [values.named(r) for r in results] if len(parts) > 1 else results


def print_invoke(printing: Printing, node: Invoke) -> None:
    """An intrinsic's C text, operand addresses put in, once for every point of the lanes its operands mention."""
    tiles = [MemoryAccess(printing, t.buffer, t.indices) for t in node.operands]
    used = frozenset[Int]().union(*(t.lanes for t in tiles))
    for point in printing.scope.lanes.over(used, vector=False):
        text = node.intrinsic.text["c"].format(*(t.pointer(point) for t in tiles))
        for line in text.splitlines():
            printing.writer.line(line)
    for tile in node.operands:
        printing.stored_to(tile.buffer)
