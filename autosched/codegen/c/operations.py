"""C text of every scalar operation: one table over the names of `te.expr.UNARY` and `BINARY`.

An operation is an infix form, the same for scalars and vectors, or a function of one or two arguments. A function is
written for scalars; its vector form is a template of `vector_math`, a template for any type, or the scalar form lane by
lane. {f} is the suffix of a float builtin, {E} the C type of an element.

A condition is an int (0 or 1) in scalars and a mask of int32 (0 or -1) in vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from autosched.codegen.c.vector_math import Template


@dataclass(frozen=True)
class OperationC:
    """`infix` or `function`; `integer` is the function body for integers where it differs; `mask` is the infix form
    of a vector where it differs; `vector` a template for any element type."""

    infix: str = ""
    mask: str = ""
    function: str = ""
    integer: str = ""
    vector: Template | None = None


def _infix(symbol: str) -> OperationC:
    return OperationC(infix=f"({{0}} {symbol} {{1}})")


def _builtin(name: str) -> OperationC:
    return OperationC(function=f"__builtin_{name}{{f}}(x)")


def _extremum(name: str, symbol: str) -> OperationC:
    """NaN in either operand comes through: y where the comparison fails, x where x is NaN."""
    text = f"static inline $V $V_{name}($V x, $V y) {{\n"
    text += f"  return $V_select((x {symbol} y) | (x != x), x, y);\n}}\n"
    return OperationC(
        function=f"x {symbol} y || x != x ? x : y", vector=Template(text, ("select",))
    )


def _clamp(name: str, symbol: str) -> OperationC:
    """An extremum with a y that is no NaN: one comparison."""
    text = f"static inline $V $V_{name}($V x, $V y) {{ return $V_select(x {symbol} y, y, x); }}\n"
    return OperationC(function=f"x {symbol} y ? y : x", vector=Template(text, ("select",)))


CLAMP_C: dict[str, OperationC] = {
    "max": _clamp("at_least", "<"),
    "min": _clamp("at_most", ">"),
}
CLAMP_NAMES = {"max": "at_least", "min": "at_most"}

UNARY_C: dict[str, OperationC] = {
    "neg": OperationC(infix="(-{0})"),
    "abs": OperationC(function="__builtin_fabs{f}(x)", integer="x < 0 ? -x : x"),
    "exp": _builtin("exp"),
    "log": _builtin("log"),
    "tanh": _builtin("tanh"),
    "erf": _builtin("erf"),
    "sqrt": _builtin("sqrt"),
    "rsqrt": OperationC(function="1 / __builtin_sqrt{f}(x)"),
    "sigmoid": OperationC(function="1 / (1 + __builtin_exp{f}(-x))"),
    "floor": OperationC(function="__builtin_floor{f}(x)", integer="x"),
    "ceil": OperationC(function="__builtin_ceil{f}(x)", integer="x"),
    "sin": _builtin("sin"),
    "cos": _builtin("cos"),
    "sign": OperationC(function="x != x ? x : ({E})((x > 0) - (x < 0))"),
    "not": OperationC(infix="(!{0})", mask="(~{0})"),
    "isnan": OperationC(infix="({0} != {0})"),
}

BINARY_C: dict[str, OperationC] = {
    "add": _infix("+"),
    "sub": _infix("-"),
    "mul": _infix("*"),
    "div": OperationC(infix="({0} / {1})", integer="y ? x / y : 0"),
    "min": _extremum("min", "<"),
    "max": _extremum("max", ">"),
    "pow": OperationC(
        function="__builtin_pow{f}(x, y)",
        integer="({E})__builtin_pow((double)x, (double)y)",
    ),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "eq": _infix("=="),
    "ne": _infix("!="),
    "and": OperationC(infix="({0} && {1})", mask="({0} & {1})"),
    "or": OperationC(infix="({0} || {1})", mask="({0} | {1})"),
}
