"""Feature rows: fixed length, finite, the same in any company, and zero where numbers are beyond exact."""

from __future__ import annotations

import numpy as np
import pytest

from autosched.features.population import Population, row_of
from autosched.features.space import Limits, Space
from autosched.features.table import FEATURES, documentation, schema
from autosched.nest.nodes import Nest
from autosched.sketch.sketch import Decision, Sketch
from autosched.target.target import Target
from autosched.te.integer import Int, as_int, less_equal, symbol
from autosched.te.workload import Workload
from autosched.testing.nests import NESTS

TARGET = Target("cpu", "x86_64", ("avx2", "fma"), "", 2, 32, 16, 32 << 10, 512 << 10, 16 << 20)


def sketch_of(nest: Nest, names: tuple[str, ...], constraints: tuple[Int, ...] = ()) -> Sketch:
    decisions = tuple(Decision(n, tuple(range(1, 33))) for n in names)
    return Sketch(Workload("w", (), ()), (), nest, decisions, constraints, ())


def space() -> Space:
    examples = [make() for make in NESTS.values()]
    return Space([sketch_of(e.nest, tuple(e.values)) for e in examples], TARGET)


def random_population(found: Space, n: int, seed: int) -> Population:
    rng = np.random.default_rng(seed)
    sketch = rng.integers(0, len(found.sketches), n).astype(np.int32)
    return Population(sketch, rng.integers(1, 33, (n, len(found.names))))


def test_table_is_a_table() -> None:
    names = [f.name for f in FEATURES]
    assert len(set(names)) == len(names) >= 150
    assert all(f.unit and f.meaning for f in FEATURES)
    assert documentation().count("\n") == len(FEATURES) + 2
    assert schema() == schema()


def test_rows_are_finite_and_do_not_depend_on_their_company() -> None:
    found = space()
    population = random_population(found, 5000, 1)
    rows = found.features(population)
    assert rows.shape == (5000, len(FEATURES))
    assert np.isfinite(rows).all()
    picked = np.random.default_rng(2).permutation(5000)[:50]
    for row in picked:
        alone = found.features(population.take(np.array([row])))
        np.testing.assert_allclose(alone[0], rows[row], rtol=1e-6)


def test_main_statement_of_a_matmul_is_its_reduction() -> None:
    example = NESTS["matmul"]()
    found = Space([sketch_of(example.nest, tuple(example.values))], TARGET)
    row = row_of(found.names, example.values)
    values = found.features(Population(np.zeros(1, np.int32), row[None]))[0]
    by_name = dict(zip((f.name for f in FEATURES), values, strict=True))
    assert np.expm1(by_name["main.executions"]) == pytest.approx(13 * 11 * 17, rel=1e-5)
    assert np.expm1(by_name["main.lanes"]) == pytest.approx(32, rel=1e-5)
    assert np.expm1(by_name["operations.mul"]) == pytest.approx(13 * 11 * 17, rel=1e-5)
    assert by_name["main.variants"] == 4
    assert np.expm1(by_name["whole.packed_bytes"]) == pytest.approx(17 * 16 * 4, rel=1e-5)


def test_constraints_and_limits_prune() -> None:
    example = NESTS["matmul"]()
    keep = less_equal(symbol("i.r", "decision") * symbol("j.r", "decision"), 96)
    found = Space([sketch_of(example.nest, ("i.r", "j.r"), (keep,))], TARGET)
    population = random_population(found, 2000, 3)
    expected = population.values.prod(axis=1) <= 96
    assert np.array_equal(found.admissible(population) & expected, found.admissible(population))
    assert found.admissible(population).any()
    strict = Space(found.sketches, TARGET, Limits(code=1.0))
    assert not strict.admissible(population).any()


def test_numbers_that_are_not_exact_are_pruned() -> None:
    example = NESTS["matmul"]()
    wide = tuple(1 << n for n in range(0, 40, 4))
    decisions = tuple(Decision(n, wide) for n in ("i.r", "j.r"))
    huge = less_equal(as_int(0), symbol("i.r", "decision") * symbol("j.r", "decision") * (1 << 10))
    sketch = Sketch(Workload("w", (), ()), (), example.nest, decisions, (huge,), ())
    found = Space([sketch], TARGET, Limits(code=1e30, register_share=1e30, scratch_bytes=1e30))
    small = Population(np.zeros(2, np.int32), np.array([[16, 16], [1 << 36, 1 << 36]]))
    assert found.admissible(small).tolist() == [True, False]
    assert np.all(found.features(small)[1] == 0)
