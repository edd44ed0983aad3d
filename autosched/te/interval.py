"""What is known about an integer expression when its symbols have ranges: intervals, folding, linear form.

Used at reading time only: the text reader knows every decision and the range of each open loop variable, so bounds,
guards, padding tests and the zeros of a transposed convolution fold away here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from autosched.te.integer import (
    OPERATIONS,
    UNBOUNDED,
    Int,
    Interval,
    as_int,
    rebuilt,
)

Ranges = Mapping[Int, Interval]


def interval(expression: Int, ranges: Ranges, memo: dict[Int, Interval] | None = None) -> Interval:
    """Smallest and largest value, never too narrow; a symbol without a range is unbounded."""
    memo = {} if memo is None else memo
    found = memo.get(expression)
    if found is not None:
        return found
    if expression.is_constant:
        return expression.value, expression.value
    if expression.is_symbol:
        result = ranges.get(expression, UNBOUNDED)
    elif expression.op == "add":
        result = _linear_interval(expression, ranges, memo)
    else:
        args = [interval(a, ranges, memo) for a in expression.args]
        result = OPERATIONS[expression.op].interval(*args)
    memo[expression] = result
    return result


def _linear_interval(expression: Int, ranges: Ranges, memo: dict[Int, Interval]) -> Interval:
    """Interval of a sum over its linear form, so that x - x is 0 and not the width of x twice."""
    terms, constant = _linear(expression)
    low = high = constant
    for atom, factor in terms:
        a, b = interval(atom, ranges, memo)
        low += min(a * factor, b * factor)
        high += max(a * factor, b * factor)
    return low, high


def linear(expression: Int) -> tuple[dict[Int, int], int]:
    """Constant-coefficient linear form {atom: coefficient}, constant; anything not linear is an atom."""
    terms, constant = _linear(expression)
    return dict(terms), constant


@lru_cache(maxsize=1 << 16)
def _linear(expression: Int) -> tuple[tuple[tuple[Int, int], ...], int]:
    terms: dict[Int, int] = {}
    constant = _collect(expression, 1, terms)
    return tuple((atom, factor) for atom, factor in terms.items() if factor), constant


def _collect(expression: Int, factor: int, terms: dict[Int, int]) -> int:
    if expression.is_constant:
        return factor * expression.value
    if expression.op == "add":
        return sum(_collect(a, factor, terms) for a in expression.args)
    if expression.op == "mul" and expression.args[1].is_constant:
        return _collect(expression.args[0], factor * expression.args[1].value, terms)
    terms[expression] = terms.get(expression, 0) + factor
    return 0


def from_linear(terms: Mapping[Int, int], constant: int) -> Int:
    """The expression of a linear form, terms in the order given."""
    result = as_int(0)
    for atom, factor in terms.items():
        result = result + atom * factor
    return result + constant


def fold(expression: Int, ranges: Ranges, memo: dict[Int, Int] | None = None) -> Int:
    """The expression with everything that the ranges decide replaced by its value.

    min(m, 4) -> 4 where m >= 4;  (8*a + b) / 8 -> a and (8*a + b) % 8 -> b where 0 <= b < 8;
    a comparison known to hold -> 1.  The value under every assignment within `ranges` is unchanged.
    """
    return _fold(expression, ranges, {} if memo is None else memo, {})


def _fold(expression: Int, ranges: Ranges, memo: dict[Int, Int], known: dict[Int, Interval]) -> Int:
    found = memo.get(expression)
    if found is None:
        found = memo[expression] = _fold_new(expression, ranges, memo, known)
    return found


def _fold_new(
    expression: Int, ranges: Ranges, memo: dict[Int, Int], known: dict[Int, Interval]
) -> Int:
    low, high = interval(expression, ranges, known)
    if low == high:
        return as_int(low)
    if not expression.args:
        return expression
    args = [_fold(a, ranges, memo, known) for a in expression.args]
    result = rebuilt(expression.op, *args)
    if result.op in ("add", "mul"):
        return from_linear(*linear(result))
    if result.op in ("min", "max") and len(result.args) == 2:
        return _fold_extremum(result, ranges)
    if result.op in ("floordiv", "mod") and result.args[1].is_constant:
        return _fold_division(result, ranges)
    return result


def _fold_extremum(expression: Int, ranges: Ranges) -> Int:
    a, b = expression.args
    low, high = interval(a - b, ranges)
    if high <= 0:
        return a if expression.op == "min" else b
    if low >= 0:
        return b if expression.op == "min" else a
    return expression


def _fold_division(expression: Int, ranges: Ranges) -> Int:
    divisor = expression.args[1].value
    terms, constant = linear(expression.args[0])
    whole = {atom: f // divisor for atom, f in terms.items() if f % divisor == 0}
    rest = {atom: f for atom, f in terms.items() if f % divisor}
    remainder = from_linear(rest, constant % divisor)
    low, high = interval(remainder, ranges)
    if low < 0 or high >= divisor:
        return expression
    if expression.op == "mod":
        return remainder
    return from_linear(whole, constant // divisor)
