"""Normal form of index expressions: quotients and remainders undone where they recombine.

A reshape is written as quotients and remainders of a flat position. Chains of reshapes, and merging
axes, leave sums of such terms; the rules here turn them back into plain positions:

    c*(x / c) + x % c            ->  x               (x / a) / b      ->  x / (a*b)
    b*(x / (a*b)) + (x / a) % b  ->  x / a           (x % (a*b)) / a  ->  (x / a) % b
    (c*a + b) / c                ->  a + b / c       (c*a + b) % c    ->  b % c

Every rule holds for all integers and positive divisors; the ranges of symbols decide the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from autosched.te.integer import Int, Interval, as_int, rebuilt, symbols, to_text
from autosched.te.interval import Ranges, fold, from_linear, linear
from autosched.te.workload import Axis

MAX_ROUNDS = 8


def axis_ranges(axes: Iterable[Axis]) -> dict[Int, Interval]:
    """The range of each axis of known extent."""
    return {a.symbol: (0, max(a.extent.value - 1, 0)) for a in axes if a.extent.is_constant}


def simplified(index: Int, ranges: Ranges) -> Int:
    """The index in normal form: terms of a sum in the order of their text."""
    for _ in range(MAX_ROUNDS):
        previous = index
        index = _normal(fold(index, ranges), {})
        if index is previous:
            break
    return index


def n_divisions(index: Int) -> int:
    """How many quotients and remainders the index is written with."""
    own = 1 if index.op in ("floordiv", "mod") else 0
    return own + sum(n_divisions(a) for a in index.args)


def mentions(index: Int, wanted: Iterable[Int]) -> bool:
    return not symbols(index).isdisjoint(wanted)


def _normal(index: Int, memo: dict[Int, Int]) -> Int:
    if not index.args:
        return index
    found = memo.get(index)
    if found is None:
        found = _normal_node(rebuilt(index.op, *(_normal(a, memo) for a in index.args)))
        memo[index] = found
    return found


def _normal_node(index: Int) -> Int:
    if index.op in ("add", "mul"):
        return _sorted_sum(*linear(index))
    if index.op in ("floordiv", "mod") and index.args[1].is_constant:
        divisor = index.args[1].value
        divide = _quotient if index.op == "floordiv" else _remainder
        return divide(index.args[0], divisor) if divisor > 0 else index
    return index


def _sorted_sum(terms: dict[Int, int], constant: int) -> Int:
    terms = dict(terms)
    while _recombine_one(terms):
        pass
    ordered = sorted(terms.items(), key=lambda item: to_text(item[0]))
    return from_linear(dict(ordered), constant)


def _recombine_one(terms: dict[Int, int]) -> bool:
    """One quotient and its remainder replaced by what they are parts of; whether there were any."""
    for remainder, factor in terms.items():
        if remainder.op != "mod" or not remainder.args[1].is_constant:
            continue
        whole, divisor = remainder.args[0], remainder.args[1].value
        quotient = _quotient(whole, divisor)
        if quotient in terms and terms[quotient] == factor * divisor:
            del terms[remainder], terms[quotient]
            parts, constant = linear(whole)
            if constant:
                parts = {whole: 1}
            for part, coefficient in parts.items():
                terms[part] = terms.get(part, 0) + factor * coefficient
            for part in [p for p, coefficient in terms.items() if not coefficient]:
                del terms[part]
            return True
    return False


def _split(index: Int, divisor: int) -> tuple[Int, Int]:
    """(a, b) with index = divisor * a + b, all terms divisible by the divisor in a."""
    terms, constant = linear(index)
    whole = {t: f // divisor for t, f in terms.items() if f % divisor == 0}
    rest = {t: f for t, f in terms.items() if f % divisor}
    return _sorted_sum(whole, constant // divisor), _sorted_sum(rest, constant % divisor)


def _quotient(index: Int, divisor: int) -> Int:
    whole, rest = _split(index, divisor)
    return whole + _plain_quotient(rest, divisor)


def _plain_quotient(index: Int, divisor: int) -> Int:
    if index.op == "floordiv" and index.args[1].is_constant:
        return _quotient(index.args[0], index.args[1].value * divisor)
    if index.op == "mod" and index.args[1].is_constant:
        modulus = index.args[1].value
        if modulus % divisor == 0:
            return _remainder(_quotient(index.args[0], divisor), modulus // divisor)
    terms, constant = linear(index)
    common = gcd(divisor, *terms.values())
    if common > 1:
        reduced = _sorted_sum({t: f // common for t, f in terms.items()}, constant // common)
        return reduced // (divisor // common)
    return index // divisor


def _remainder(index: Int, divisor: int) -> Int:
    _, rest = _split(index, divisor)
    if rest.op == "mod" and rest.args[1].is_constant and rest.args[1].value % divisor == 0:
        return _remainder(rest.args[0], divisor)
    return rest % divisor if not rest.is_constant else as_int(rest.value % divisor)
