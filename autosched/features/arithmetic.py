"""What one element of a statement costs in operations, by class: static facts of its expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from autosched.nest.nodes import Fold, Node, Reduce
from autosched.nest.scopes import Statement
from autosched.te.combiner import Combiner, operands
from autosched.te.expr import Binary, Cast, Expr, Select, Unary

CLASSES: dict[str, tuple[str, ...]] = {
    "add": ("add", "sub", "neg", "abs"),
    "mul": ("mul",),
    "div": ("div", "sqrt", "rsqrt"),
    "compare": ("min", "max", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "isnan"),
    "math": ("exp", "log", "tanh", "erf", "sigmoid", "sin", "cos", "pow"),
    "move": ("floor", "ceil", "sign", "select", "cast"),
}
"""Operation classes; every operation of te belongs to exactly one."""

CLASS_OF = {op: name for name, ops in CLASSES.items() for op in ops}

VECTOR_CYCLES: Mapping[str, float] = {
    "fma": 0.5,
    "add": 0.5,
    "mul": 0.5,
    "div": 5.0,
    "compare": 0.5,
    "math": 12.0,
    "move": 0.7,
}
"""Cycles of one vector instruction (reciprocal throughput) on a core with two vector pipes."""


def operations(expression: Expr) -> Counter[str]:
    """Operations of one evaluation, by class."""
    found: Counter[str] = Counter()
    match expression:
        case Unary(op, _) | Binary(op, _, _):
            found[CLASS_OF[op]] += 1
        case Select():
            found["move"] += 1
        case Cast():
            found["move"] += 1
    for operand in expression.operands:
        found.update(operations(operand))
    return found


def combination(combiner: Combiner, dtypes: tuple[str, ...]) -> Counter[str]:
    """Operations of one combination of two tuples."""
    found: Counter[str] = Counter()
    for value in combiner.combine(*operands(dtypes)):
        found.update(operations(value))
    return found


def element_operations(statement: Statement) -> Counter[str]:
    """Operations of one execution of the statement, by class."""
    found: Counter[str] = Counter()
    for value in statement.values:
        found.update(operations(value))
    node = statement.node
    if isinstance(node, (Reduce, Fold)):
        found.update(combination(node.combiner, tuple(b.dtype for b in node.buffers)))
    return found


def is_multiply_add(node: Node) -> bool:
    """True if one element is a fused multiply-add: a sum of products."""
    if not isinstance(node, Reduce) or node.combiner.name != "sum":
        return False
    value = node.values[0]
    while isinstance(value, Cast):
        value = value.a
    return isinstance(value, Binary) and value.op == "mul"


def element_cycles(statement: Statement) -> float:
    """Issue cycles of one vector execution of the statement, loads and stores aside."""
    found = element_operations(statement)
    cycles = 0.0
    if is_multiply_add(statement.node):
        found["mul"] -= 1
        found["add"] -= 1
        cycles += VECTOR_CYCLES["fma"]
    return cycles + sum(VECTOR_CYCLES[c] * n for c, n in found.items())
