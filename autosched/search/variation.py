"""New candidates from old ones, as array operations over the whole population.

    step       one decision moves to a neighbour in its domain
    factor     a factor moves from one level of an axis to another: 4 x 8 -> 8 x 4
    jump       one decision takes any value of its domain
    sketch     another sketch, values kept by name, those it lacks drawn
    crossover  each decision from one of two parents of one sketch

Every operation returns candidates inside the domains; constraints are checked by the caller, all at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autosched.features.columns import Array
from autosched.features.population import ABSENT, Population, joined
from autosched.features.space import Space

Operator = Callable[[Space, Population, np.random.Generator], Population]


def _by_sketch(population: Population) -> list[tuple[int, Array]]:
    return [(int(s), np.flatnonzero(population.sketch == s)) for s in np.unique(population.sketch)]


def nearest(domain: Array, values: Array) -> Array:
    """Positions in the ascending domain of the values nearest to those given."""
    right = np.clip(np.searchsorted(domain, values), 0, len(domain) - 1)
    left = np.maximum(right - 1, 0)
    closer = np.abs(domain[left] - values) <= np.abs(domain[right] - values)
    return np.where(closer, left, right)


def _open_names(space: Space, sketch: int) -> list[str]:
    return [name for name, domain in space.domains[sketch].items() if len(domain) > 1]


def step(space: Space, population: Population, rng: np.random.Generator) -> Population:
    values = population.values.copy()
    for sketch, rows in _by_sketch(population):
        names = _open_names(space, sketch)
        if not names:
            continue
        chosen = rng.integers(0, len(names), len(rows))
        moves = rng.choice(np.array([-2, -1, 1, 2]), len(rows), p=[0.1, 0.4, 0.4, 0.1])
        for i, name in enumerate(names):
            mine = rows[chosen == i]
            domain, column = space.domains[sketch][name], space.position(name)
            place = nearest(domain, values[mine, column]) + moves[chosen == i]
            values[mine, column] = domain[np.clip(place, 0, len(domain) - 1)]
    return Population(population.sketch, values)


def jump(space: Space, population: Population, rng: np.random.Generator) -> Population:
    values = population.values.copy()
    for sketch, rows in _by_sketch(population):
        names = _open_names(space, sketch)
        if not names:
            continue
        chosen = rng.integers(0, len(names), len(rows))
        for i, name in enumerate(names):
            mine = rows[chosen == i]
            domain = space.domains[sketch][name]
            values[mine, space.position(name)] = domain[rng.integers(0, len(domain), len(mine))]
    return Population(population.sketch, values)


def levels(space: Space, sketch: int) -> list[list[str]]:
    """Decisions of one axis, by the rule that a name is the axis and the level: "c.i.m", "c.i.r"."""
    axes: dict[str, list[str]] = {}
    for name in _open_names(space, sketch):
        axes.setdefault(name.rpartition(".")[0], []).append(name)
    return [names for names in axes.values() if len(names) > 1]


def factor(space: Space, population: Population, rng: np.random.Generator) -> Population:
    values = population.values.copy()
    for sketch, rows in _by_sketch(population):
        axes = levels(space, sketch)
        if not axes:
            continue
        chosen = rng.integers(0, len(axes), len(rows))
        for i, names in enumerate(axes):
            _move_factor(space, sketch, names, (values, rows[chosen == i]), rng)
    return Population(population.sketch, values)


def _move_factor(
    space: Space,
    sketch: int,
    names: list[str],
    where: tuple[Array, Array],
    rng: np.random.Generator,
) -> None:
    """Divides one level by 2 or more and multiplies another by as much, each to the nearest allowed value.

    `where`: the values, changed in place, and the rows to change.
    """
    values, rows = where
    n = len(names)
    source = rng.integers(0, n, len(rows))
    target = (source + rng.integers(1, n, len(rows))) % n
    ratio = rng.choice(np.array([2, 2, 3, 4]), len(rows))
    for i, name in enumerate(names):
        domain, column = space.domains[sketch][name], space.position(name)
        less, more = rows[source == i], rows[target == i]
        smaller = values[less, column] // ratio[source == i]
        larger = values[more, column] * ratio[target == i]
        values[less, column] = domain[nearest(domain, np.maximum(smaller, 1))]
        values[more, column] = domain[nearest(domain, larger)]


def change_sketch(
    space: Space, population: Population, rng: np.random.Generator, live: Array | None = None
) -> Population:
    """Each candidate in a sketch drawn from `live`, its values kept by name and brought into the domains."""
    choices = np.arange(len(space.sketches)) if live is None else live
    sketch = choices[rng.integers(0, len(choices), len(population))].astype(np.int32)
    values = np.full_like(population.values, ABSENT)
    for number in np.unique(sketch):
        rows = np.flatnonzero(sketch == number)
        for name, domain in space.domains[int(number)].items():
            column = space.position(name)
            known = _has(space, population.sketch[rows], name)
            drawn = domain[rng.integers(0, len(domain), len(rows))]
            kept = domain[nearest(domain, population.values[rows, column])]
            values[rows, column] = np.where(known, kept, drawn)
    return Population(sketch, values)


def _has(space: Space, sketches: Array, name: str) -> Array:
    """True for the sketches that have the decision."""
    having = np.array([name in domains for domains in space.domains])
    return np.asarray(having[sketches])


def crossover(space: Space, population: Population, rng: np.random.Generator) -> Population:
    """Children of pairs within each sketch, decision by decision."""
    values = population.values.copy()
    for _, rows in _by_sketch(population):
        partner = rows[rng.integers(0, len(rows), len(rows))]
        own = rng.random((len(rows), values.shape[1])) < 0.5
        values[rows] = np.where(own, population.values[rows], population.values[partner])
    return Population(population.sketch, values)


OPERATORS: tuple[tuple[str, float, Operator], ...] = (
    ("step", 0.4, step),
    ("factor", 0.15, factor),
    ("jump", 0.15, jump),
    ("sketch", 0.1, change_sketch),
    ("crossover", 0.2, crossover),
)
"""Name, share of the children, operation."""


def children(
    space: Space, parents: Population, n: int, rng: np.random.Generator, live: Array
) -> Population:
    """`n` children of the parents (drawn with replacement), by the table of operators; a third of them vary twice."""
    if len(parents) == 0 or n == 0:
        return joined([], len(space.names))
    drawn = parents.take(rng.integers(0, len(parents), n))
    which = rng.choice(len(OPERATORS), n, p=[share for _, share, _ in OPERATORS])
    parts = []
    for i, (name, _, operate) in enumerate(OPERATORS):
        chosen = drawn.take(which == i)
        if name == "sketch":
            parts.append(change_sketch(space, chosen, rng, live))
        elif len(chosen):
            parts.append(operate(space, chosen, rng))
    first = joined(parts, len(space.names))
    again = rng.random(len(first)) < 1 / 3
    twice = step(space, first.take(again), rng)
    return joined([first.take(~again), twice], len(space.names))


def neighbours(space: Space, sketch: int, row: Array) -> Population:
    """Every candidate one step away: each decision one place up or down, and each factor of 2 moved."""
    found: list[Array] = []
    domains = space.domains[sketch]
    for name in _open_names(space, sketch):
        domain, column = domains[name], space.position(name)
        place = int(nearest(domain, row[column : column + 1])[0])
        for other in (place - 1, place + 1):
            if 0 <= other < len(domain):
                near = row.copy()
                near[column] = domain[other]
                found.append(near)
    found += _moved_factors(space, sketch, row)
    values = np.array(found, np.int64).reshape(len(found), len(row))
    return Population(np.full(len(found), sketch, np.int32), values)


def _moved_factors(space: Space, sketch: int, row: Array) -> list[Array]:
    found: list[Array] = []
    for names in levels(space, sketch):
        for source in names:
            for target in names:
                value = int(row[space.position(source)])
                if source == target or value < 2:
                    continue
                near = row.copy()
                for name, wanted in (
                    (source, value // 2),
                    (target, int(row[space.position(target)]) * 2),
                ):
                    domain = space.domains[sketch][name]
                    near[space.position(name)] = domain[int(nearest(domain, np.array([wanted]))[0])]
                found.append(near)
    return found
