"""Canonical linear forms: an integer expression at given values as a constant and a sorted sum of named atoms.

    8*i + j with i: v1 < 4, j of one iteration  ->  (0, (("v1", 8),))

Equal forms are equal values wherever the variables are; what ranges decide is decided (minima, quotients, comparisons).
It says what `fold` says, straight to a value to compare and to print: no expression is built. Used to key code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autosched.te.integer import OPERATIONS, UNBOUNDED, Int, Interval

Form = tuple[int, tuple[tuple[str, int], ...]]

ZERO: Form = (0, ())


class Forms:
    """Forms under the values of `env` and the variables opened so far."""

    def __init__(self, env: Mapping[Int, int]) -> None:
        self._memo: dict[Int, Form] = {s: (v, ()) for s, v in env.items()}
        self._env = dict(self._memo)
        self._ranges: dict[str, Interval] = {}
        self._variables: set[Int] = set()
        self._opened = 0

    def open(self, var: Int, extent: Int) -> int:
        """`var` runs over [0, extent) from here: the largest extent, 1 meaning that it is 0."""
        most = max(self.reach(self.form(extent))[1], 1)
        if var in self._variables:
            self._memo = dict(self._env)
        self._variables.add(var)
        found = ZERO
        if most > 1:
            self._opened += 1
            name = f"v{self._opened}"
            self._ranges[name] = (0, most - 1)
            found = 0, ((name, 1),)
        self._env[var] = self._memo[var] = found
        return most

    def form(self, expression: Int) -> Form:
        found = self._memo.get(expression)
        if found is None:
            found = self._memo[expression] = self._formed(expression)
        return found

    def reach(self, form: Form) -> Interval:
        """Smallest and largest value, never too narrow."""
        low = high = form[0]
        for atom, factor in form[1]:
            a, b = self._ranges[atom]
            if factor < 0:
                a, b = b, a
            low += a * factor
            high += b * factor
        return low, high

    def _formed(self, expression: Int) -> Form:
        op = expression.op
        if op == "const":
            return expression.value, ()
        if op == "symbol":
            self._ranges.setdefault(expression.name, UNBOUNDED)
            return 0, ((expression.name, 1),)
        args = [self.form(a) for a in expression.args]
        if not any(a[1] for a in args):
            return OPERATIONS[op].scalar(*(a[0] for a in args)), ()
        return FORMED.get(op, Forms.opaque)(self, op, args)

    def opaque(self, op: str, args: list[Form]) -> Form:
        """An atom of its own, named by the operation and its arguments."""
        name = f"{op}({','.join(text(a) for a in args)})"
        if name not in self._ranges:
            self._ranges[name] = OPERATIONS[op].interval(*(self.reach(a) for a in args))
        low, high = self._ranges[name]
        return (low, ()) if low == high else (0, ((name, 1),))

    def _sum(self, op: str, args: list[Form]) -> Form:
        return added(*args)

    def _product(self, op: str, args: list[Form]) -> Form:
        a, b = args
        if not b[1]:
            return scaled(a, b[0])
        if not a[1]:
            return scaled(b, a[0])
        return self.opaque(op, sorted(args))

    def _extremum(self, op: str, args: list[Form]) -> Form:
        a, b = args
        low, high = self.reach(added(a, scaled(b, -1)))
        if high <= 0:
            return a if op == "min" else b
        if low >= 0:
            return b if op == "min" else a
        return self.opaque(op, sorted(args))

    def _quotient(self, op: str, args: list[Form]) -> Form:
        """Rounded down; the multiples of a constant divisor leave the quotient."""
        (constant, terms), (divisor, rest) = args
        if rest:
            return self.opaque(op, args)
        whole = tuple((atom, f // divisor) for atom, f in terms if f % divisor == 0)
        part = constant % divisor, tuple(t for t in terms if t[1] % divisor)
        low, high = self.reach(part)
        if low // divisor == high // divisor:
            quotient: Form = (low // divisor, ())
        else:
            quotient = self.opaque(op, [part, args[1]])
        return added((constant // divisor, whole), quotient)

    def _ceiling(self, op: str, args: list[Form]) -> Form:
        if args[1][1]:
            return self.opaque(op, args)
        return self._quotient("floordiv", [added(args[0], (args[1][0] - 1, ())), args[1]])

    def _remainder(self, op: str, args: list[Form]) -> Form:
        (constant, terms), (divisor, rest) = args
        if rest:
            return self.opaque(op, args)
        part = constant % divisor, tuple(t for t in terms if t[1] % divisor)
        low, high = self.reach(part)
        if low // divisor == high // divisor:
            return added(part, (-(low // divisor) * divisor, ()))
        return self.opaque(op, [part, args[1]])

    def _comparison(self, op: str, args: list[Form]) -> Form:
        """By the difference: a < b -> a - b + 1 <= 0."""
        difference = added(args[0], scaled(args[1], -1))
        if op == "lt":
            difference = added(difference, (1, ()))
        low, high = self.reach(difference)
        if high <= 0:
            return 1, ()
        return ZERO if low > 0 else self.opaque("le", [difference, ZERO])

    def _equality(self, op: str, args: list[Form]) -> Form:
        difference = added(args[0], scaled(args[1], -1))
        low, high = self.reach(difference)
        if low == high == 0:
            return 1, ()
        if low > 0 or high < 0:
            return ZERO
        return self.opaque(op, [max(difference, scaled(difference, -1)), ZERO])

    def _both(self, op: str, args: list[Form]) -> Form:
        for one, other in (args, reversed(args)):
            if not one[1]:
                return other if one[0] else ZERO
        return args[0] if args[0] == args[1] else self.opaque(op, sorted(args))

    def _selected(self, op: str, args: list[Form]) -> Form:
        test, a, b = args
        if not test[1]:
            return a if test[0] else b
        return a if a == b else self.opaque(op, args)


def text(form: Form) -> str:
    constant, terms = form
    parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in terms]
    return "+".join([*parts, str(constant)] if constant or not parts else parts)


def added(*forms: Form) -> Form:
    constant = 0
    total: dict[str, int] = {}
    for number, terms in forms:
        constant += number
        for name, factor in terms:
            total[name] = total.get(name, 0) + factor
    return constant, tuple(sorted((n, f) for n, f in total.items() if f))


def scaled(form: Form, factor: int) -> Form:
    if factor == 0:
        return ZERO
    return form[0] * factor, tuple((name, f * factor) for name, f in form[1])


FORMED: dict[str, Callable[[Forms, str, list[Form]], Form]] = {
    "add": Forms._sum,
    "mul": Forms._product,
    "min": Forms._extremum,
    "max": Forms._extremum,
    "floordiv": Forms._quotient,
    "ceildiv": Forms._ceiling,
    "mod": Forms._remainder,
    "lt": Forms._comparison,
    "le": Forms._comparison,
    "eq": Forms._equality,
    "and": Forms._both,
    "select": Forms._selected,
}
