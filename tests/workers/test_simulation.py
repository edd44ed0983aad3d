"""What was made up never counts for a machine that exists, nor the other way round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from autosched_workers.simulation.lab import TOOLCHAIN, SimulatedLab, simulated_target

from autosched.errors import InvalidInput
from autosched.records.lookup import Query, lookup
from autosched.records.memory import MemoryStore
from autosched.target.compare import obstacles
from autosched.target.files import load_target, parse_target, target_text
from autosched.target.target import Target
from autosched.target.toolchain import find_toolchain
from autosched.te.workload import text_key
from autosched.testing.records import (
    confirmation,
    job_spec,
    ok,
    open_job,
    task_spec,
    trial,
    workload_text,
)
from autosched.tuning.warm_start import warm_start

REAL = load_target("haswell")
SIMULATED = simulated_target("haswell")
SIDES = ((REAL, SIMULATED), (SIMULATED, REAL))


def tuned_on(target: Target, toolchain_key: str) -> MemoryStore:
    store = MemoryStore()
    spec = job_spec(target=target, toolchain_key=toolchain_key)
    task_id = open_job(store, spec, target=target, tasks=[task_spec(64)]).tasks[0][0]
    store.propose(task_id, 0, [trial(task_id, 0)])
    store.close(task_id, 0, ok(50.0))
    assert store.confirm(confirmation(task_id, {0: 50.0})) is not None
    return store


@pytest.mark.parametrize(("there", "asked"), SIDES)
@pytest.mark.parametrize("toolchain_key", [None, "c1-gcc", TOOLCHAIN.key])
@pytest.mark.parametrize("rows", [64, 128])
def test_no_lookup_crosses_over(
    there: Target, asked: Target, toolchain_key: str | None, rows: int
) -> None:
    store = tuned_on(there, TOOLCHAIN.key)
    text = workload_text(rows)
    query = Query(text_key(text), asked, toolchain_key, text)
    assert lookup(store, query).match == "default"
    near = "compatible" if rows == 64 else "nearest"
    assert lookup(store, replace(query, target=there)).match == near


@pytest.mark.parametrize(("there", "asked"), SIDES)
def test_no_search_starts_from_the_other_side(there: Target, asked: Target) -> None:
    store = tuned_on(there, TOOLCHAIN.key)
    keys = [task_spec(64).workload_key]
    assert warm_start(store, asked.isa, keys) == ()
    assert len(warm_start(store, there.isa, keys)) == 1


def test_the_lab_offers_a_target_that_nothing_runs_on_and_a_database_gives_back() -> None:
    offered = SimulatedLab(0.0).offer().target
    assert offered == SIMULATED
    assert obstacles(offered, REAL) != []
    assert parse_target(target_text(offered), "stored") == offered


def test_no_compiler_makes_code_for_it() -> None:
    with pytest.raises(InvalidInput, match="kind is simulated"):
        find_toolchain(SIMULATED)
