"""Index expressions as C text over int64_t, the C side of `te.integer.OPERATIONS`.

Quotients round down. Where the ranges show a non-negative dividend, C's own `/` and `%` do; elsewhere a helper does.
"""

from __future__ import annotations

from collections.abc import Callable

from autosched.te.integer import Int, Interval

Text = Callable[[Int], str]
Known = Callable[[Int], Interval]

INTEGER_C: dict[str, str] = {
    "add": "({0} + {1})",
    "mul": "{0} * {1}",
    "floordiv": "floor_div({0}, {1})",
    "ceildiv": "ceil_div({0}, {1})",
    "mod": "floor_mod({0}, {1})",
    "min": "least({0}, {1})",
    "max": "greatest({0}, {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "and": "({0} && {1})",
    "xor": "({0} ^ {1})",
    "select": "({0} ? {1} : {2})",
}

NON_NEGATIVE_C: dict[str, str] = {
    "floordiv": "({0} / {1})",
    "mod": "({0} % {1})",
    "ceildiv": "(({0} + {1} - 1) / {1})",
}

INTEGER_PRELUDE = """\
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }
static inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
"""


def integer_text(expression: Int, name: Callable[[Int], str], known: Known) -> str:
    """The expression in C; `name` gives the C name of a symbol, `known` the interval of an expression."""
    if expression.is_constant:
        return str(expression.value) if expression.value >= 0 else f"({expression.value})"
    if expression.is_symbol:
        return name(expression)
    args = [integer_text(a, name, known) for a in expression.args]
    if expression.op in NON_NEGATIVE_C and known(expression.args[0])[0] >= 0:
        return NON_NEGATIVE_C[expression.op].format(*args)
    return INTEGER_C[expression.op].format(*args)
