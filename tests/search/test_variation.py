"""Sampling and variation: inside the domains, constraints kept, bounded, the same for the same stream."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.features.population import Population, row_of
from autosched.features.space import Space
from autosched.search import variation
from autosched.search.sampling import enumerated, sample, shares
from autosched.testing.spaces import small_space


def inside(space: Space, population: Population) -> bool:
    for row, sketch in enumerate(population.sketch):
        values = space.values(population, row)
        if any(values[n] not in d for n, d in space.domains[int(sketch)].items()):
            return False
        absent = set(space.names) - set(space.domains[int(sketch)])
        if any(population.values[row, space.position(n)] != 1 for n in absent):
            return False
    return True


def test_samples_keep_constraints_and_repeat_with_the_stream() -> None:
    space = small_space()
    first = sample(space, 0, 200, np.random.default_rng(5))
    again = sample(space, 0, 200, np.random.default_rng(5))
    assert np.array_equal(first.values, again.values)
    assert 0 < len(first) <= 200
    assert space.admissible(first).all()
    assert len(first.distinct()) == len(first)
    assert inside(space, first)


def test_impossible_constraints_end() -> None:
    space = small_space(block=0)
    assert len(sample(space, 0, 50, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("name", [name for name, _, _ in variation.OPERATORS])
def test_operators_stay_inside_the_domains(name: str) -> None:
    space = small_space()
    operate = {n: o for n, _, o in variation.OPERATORS}[name]
    parents = sample(space, 0, 100, np.random.default_rng(1))
    found = operate(space, parents, np.random.default_rng(2))
    assert len(found) == len(parents)
    assert inside(space, found)
    assert name == "factor" or not np.array_equal(found.values, parents.values)


def test_change_of_sketch_keeps_values_by_name() -> None:
    space = small_space()
    parents = sample(space, 0, 64, np.random.default_rng(1))
    found = variation.change_sketch(space, parents, np.random.default_rng(2), np.array([1]))
    column = space.position("i.r")
    assert (found.sketch == 1).all()
    assert np.array_equal(found.values[:, column], parents.values[:, column])


def test_children_and_neighbours() -> None:
    space = small_space()
    parents = sample(space, 0, 20, np.random.default_rng(1))
    found = variation.children(space, parents, 500, np.random.default_rng(3), np.arange(2))
    assert len(found) == 500
    assert inside(space, found)
    row = row_of(space.names, {"i.r": 4, "j.r": 8})
    near = variation.neighbours(space, 0, row)
    assert inside(space, near)
    moved = (near.values != row).sum(axis=1)
    assert set(moved) <= {1, 2}


def test_enumeration_is_complete() -> None:
    space = small_space()
    found = enumerated(space, 0)
    domains = space.domains[0]
    legal = sum(1 for a in domains["i.r"] for b in domains["j.r"] if a * b <= 64)
    assert len(found) == legal == len(found.distinct())


def test_shares_add_up() -> None:
    assert shares(np.array([1.0, 2.0, 1.0]), 8).tolist() == [2, 4, 2]
    assert shares(np.array([1.0, 1.0, 1.0]), 10).sum() == 10
    assert shares(np.array([0.0, 1.0]), 3).tolist() == [0, 3]
    assert shares(np.array([100.0, 1.0]), 5)[1] == 1
