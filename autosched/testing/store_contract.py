"""What every TuningStore must do; the tests of `autosched.records.store`'s guarantees.

class TestMyStore(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[Store]: ...
"""

from __future__ import annotations

import math
from dataclasses import replace
from threading import Barrier, Thread
from typing import Protocol

import pytest

from autosched.records.catalog import Catalog
from autosched.records.family import family_key, log2_size
from autosched.records.outcome import Outcome
from autosched.records.record import Candidate, trial_id
from autosched.records.store import JobSpec, MeasurementRow, Relative, TuningStore
from autosched.target.target import Target
from autosched.testing.records import (
    TARGET,
    TOOLCHAIN,
    TOOLCHAIN_KEY,
    candidate,
    confirmation,
    failed,
    job_spec,
    measured_task,
    ok,
    open_job,
    open_task,
    task_spec,
    timing,
    trial,
    workload_text,
)


class Store(TuningStore, Catalog, Protocol):
    """What the suite runs over."""


class JobContract:
    """Jobs are found again by their specification, while they are unfinished."""

    def test_identical_command_resumes(self, store: Store) -> None:
        job = open_job(store)
        assert open_job(store) == job
        assert job.state == "running"
        assert store.job(job.id) == job

    @pytest.mark.parametrize(
        "other",
        [
            replace(job_spec(), source="suite:GMM/2@1"),
            replace(job_spec(), source_key="g1-other"),
            replace(job_spec(), threads=7),
            replace(job_spec(), seed=7),
            replace(job_spec(), trials=7),
        ],
    )
    def test_any_other_command_is_a_new_job(self, store: Store, other: JobSpec) -> None:
        assert open_job(store, other).id != open_job(store).id

    def test_ended_job_is_not_resumed(self, store: Store) -> None:
        job = open_job(store)
        store.end_job(job.id, "succeeded", "trials")
        again = open_job(store)
        assert again.id != job.id
        ended = store.job(job.id)
        assert ended is not None
        assert (ended.state, ended.end_reason) == ("succeeded", "trials")
        assert ended.ended_at is not None

    def test_first_end_stays(self, store: Store) -> None:
        job = open_job(store)
        store.end_job(job.id, "succeeded", "trials")
        store.end_job(job.id, "failed", "error")
        ended = store.job(job.id)
        assert ended is not None
        assert ended.state == "succeeded"

    def test_tasks_keep_order_and_weight(self, store: Store) -> None:
        specs = (task_spec(64, weight=3), task_spec(128), task_spec(32, weight=2))
        job = open_job(store, tasks=specs)
        assert tuple(spec for _, spec in job.tasks) == specs
        assert len({task_id for task_id, _ in job.tasks}) == 3
        assert store.jobs()[0] == job

    def test_history_is_kept_with_the_job(self, store: Store) -> None:
        task_id = measured_task(store, [100.0, 50.0])
        used = (trial_id(task_id, 1), trial_id(task_id, 0))
        job = open_job(store, job_spec(seed=1), history=used)
        assert job.history == used
        again = open_job(store, job_spec(seed=1), history=())
        assert again.history == used, "a resumed job keeps the history it began with"
        assert [r.trial_id for r in store.records(again.history)] == list(used)

    def test_seed_of_any_size(self, store: Store) -> None:
        job = open_job(store, job_spec(seed=2**70))
        assert job.spec.seed == 2**70

    def test_data_behind_keys(self, store: Store) -> None:
        open_job(store)
        fields = store.target(TARGET.key)
        assert fields is not None
        assert fields["isa"] == TARGET.isa
        assert store.toolchain(TOOLCHAIN_KEY) == TOOLCHAIN
        assert store.workload_text(task_spec().workload_key) == workload_text()
        assert store.target("t1-none") is None
        assert store.toolchain("c1-none") is None
        assert store.workload_text("w1-none") is None
        assert store.job("none") is None

    def test_calibration_keeps_the_best_value_seen(self, store: Store) -> None:
        store.calibrate(TARGET.key, {"peak": 5.0, "bandwidth": 2.0})
        better = store.calibrate(TARGET.key, {"peak": 4.0, "bandwidth": 3.0})
        assert better == {"peak": 5.0, "bandwidth": 3.0}
        assert store.calibration(TARGET.key) == better
        assert store.calibration("t1-none") == {}
        with pytest.raises(ValueError, match="peak is nan"):
            store.calibrate(TARGET.key, {"peak": math.nan})


class TrialContract:
    """Rounds are committed whole, results count once."""

    def test_round_is_open_until_closed(self, store: Store) -> None:
        task_id = open_task(store)
        proposed = [trial(task_id, n, round=3) for n in (2, 0, 1)]
        assert store.propose(task_id, 3, proposed) == tuple(proposed)
        assert store.trials(task_id) == tuple(sorted(proposed, key=lambda t: t.number))
        assert store.trial(trial_id(task_id, 1)) == proposed[2]

    def test_unknown_trials(self, store: Store) -> None:
        task_id = open_task(store)
        no_number = f"{task_id}.{'9' * 5000}"
        for text in (trial_id(task_id, 9), "none", "", "a.b", no_number, f"{task_id}.{10**30}"):
            assert store.trial(text) is None
            assert store.measurements(text) == ()

    @pytest.mark.parametrize("outcome", list(Outcome))
    def test_result_comes_back_as_it_was(self, store: Store, outcome: Outcome) -> None:
        task_id = open_task(store)
        measurement = ok() if outcome is Outcome.OK else failed(outcome)
        store.propose(task_id, 0, [trial(task_id, 0)])
        assert store.close(task_id, 0, measurement)
        assert store.trials(task_id)[0].measurement == measurement
        rows = store.measurements(trial_id(task_id, 0))
        assert [(r.purpose, r.measurement) for r in rows] == [("search", measurement)]

    def test_first_result_wins(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0)])
        assert store.close(task_id, 0, ok(5.0))
        assert not store.close(task_id, 0, ok(4.0))
        assert store.trials(task_id)[0].measurement == ok(5.0)

    def test_one_of_many_racing_results_wins(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0)])
        start, won = Barrier(4), []

        def race(microseconds: float) -> None:
            start.wait()
            if store.close(task_id, 0, ok(microseconds)):
                won.append(ok(microseconds))

        racers = [Thread(target=race, args=(1.0 + i,)) for i in range(4)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert len(won) == 1
        assert store.trials(task_id)[0].measurement == won[0]

    def test_pruned_is_closed_from_the_start(self, store: Store) -> None:
        task_id = open_task(store)
        pruned = replace(trial(task_id, 1), measurement=failed(Outcome.PRUNED, error="too wide"))
        assert store.propose(task_id, 0, [pruned, trial(task_id, 2)])[0] == pruned
        assert [t.is_open for t in store.trials(task_id)] == [False, True]

    def test_round_is_all_or_none(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0)])
        clash = [trial(task_id, 1, round=1), trial(task_id, 0, name="other", round=1)]
        with pytest.raises(ValueError, match="already"):
            store.propose(task_id, 1, clash)
        assert [t.number for t in store.trials(task_id)] == [0]

    def test_candidate_occurs_once_a_task(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0, name="same")])
        with pytest.raises(ValueError, match="n1-same"):
            store.propose(task_id, 1, [trial(task_id, 1, name="same", round=1)])
        with pytest.raises(ValueError, match="twice"):
            store.propose(task_id, 1, [trial(task_id, n, name="b", round=1) for n in (1, 2)])

    def test_repeated_propose_changes_nothing(self, store: Store) -> None:
        task_id = open_task(store)
        proposed = [trial(task_id, n) for n in range(3)]
        store.propose(task_id, 0, proposed)
        store.close(task_id, 1, ok())
        again = store.propose(task_id, 0, proposed)
        assert [t.is_open for t in again] == [True, False, True]
        assert store.trials(task_id) == again

    def test_text_of_any_kind_is_stored(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0)])
        garbage = failed(Outcome.COMPILE_ERROR, error="nul \0, lone \udcff, \N{SNOWMAN}" * 500)
        assert store.close(task_id, 0, replace(garbage, log="x" * 10**6, max_error=math.inf))
        stored = store.trials(task_id)[0].measurement
        assert stored is not None
        assert stored.max_error is None
        assert "\N{SNOWMAN}" in stored.error

    def test_measurement_that_contradicts_itself_is_refused(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, 0)])
        for strange in (
            replace(ok(), timing=None),
            replace(ok(), outcome=Outcome.WRONG_RESULT),
            ok(math.nan),
            ok(math.inf),
            ok(0.0),
        ):
            with pytest.raises(ValueError, match=r"timing|median_seconds"):
                store.close(task_id, 0, strange)
        assert store.trials(task_id)[0].is_open

    def test_derivation_is_stored_as_json_gives_it_back(self, store: Store) -> None:
        task_id = open_task(store)
        step = {"rule": "tile", "version": 2, "stage": "s0", "arguments": {"levels": (1, 2)}}
        given = Candidate((step,), {"s0.i0.r": 2**40}, "n1-deep")
        store.propose(task_id, 0, [replace(trial(task_id, 0), candidate=given)])
        stored = store.trials(task_id)[0].candidate
        assert stored.values == {"s0.i0.r": 2**40}
        assert stored.derivation[0]["arguments"] == {"levels": [1, 2]}
        assert stored.structure_key == given.structure_key

    def test_resend_raises_the_attempt_then_gives_up_one(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, n) for n in range(4)])
        store.close(task_id, 1, ok())
        for attempt in (2, 3):
            again = [(t.number, t.attempt) for t in store.resend(task_id)]
            assert again == [(0, attempt), (2, attempt), (3, attempt)]
        assert [t.number for t in store.resend(task_id)] == [0, 3], "one death, one culprit"
        lost = store.trials(task_id)[2].measurement
        assert lost is not None
        assert lost.outcome is Outcome.LOST
        assert [t.number for t in store.resend(task_id)] == [0], "a default is never given up"
        assert store.trials(task_id)[1].measurement == ok()

    def test_lost_runs_have_a_next_attempt_until_there_is_none(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, n) for n in range(2)])
        assert store.next_attempt(task_id, 1) == 2
        assert store.next_attempt(task_id, 1) == 3
        assert store.next_attempt(task_id, 1) is None
        assert [t.attempt for t in store.trials(task_id)] == [1, 3]
        store.close(task_id, 0, ok())
        assert store.next_attempt(task_id, 0) is None

    def test_replay_changes_no_outcome(self, store: Store) -> None:
        task_id = measured_task(store, [100.0])
        row = MeasurementRow(trial_id(task_id, 0), "replay", ok(50.0), {"load": math.nan})
        store.add_measurement(row)
        assert store.trials(task_id)[0].measurement == ok(100.0)
        stored = store.measurements(row.trial_id)
        assert [r.purpose for r in stored] == ["search", "replay"]
        assert stored[1] == replace(row, environment={"load": None})
        with pytest.raises(ValueError, match="not a finished trial"):
            store.add_measurement(replace(row, trial_id="none.0"))


class ReuseContract:
    """No candidate is measured twice for one workload, target and toolchain."""

    def test_known_result_is_reused(self, store: Store) -> None:
        first = measured_task(store, [100.0, 50.0])
        second = open_task(store, seed=1)
        proposed = store.propose(second, 0, [trial(second, n) for n in range(3)])
        assert [t.is_open for t in proposed] == [False, False, True]
        assert proposed[1].measurement == ok(50.0)
        assert proposed[1].reused_from == trial_id(first, 1)
        assert store.trials(second) == proposed
        assert not store.close(second, 1, ok(1.0))
        assert store.measurements(proposed[1].id) == (), "it has no run of its own"

    @pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.UNSTABLE, Outcome.PRUNED])
    def test_what_says_nothing_is_measured_again(self, store: Store, outcome: Outcome) -> None:
        first = open_task(store)
        store.propose(first, 0, [trial(first, 1)])
        store.close(first, 1, failed(outcome))
        second = open_task(store, seed=1)
        assert store.propose(second, 0, [trial(second, 1)])[0].is_open
        assert store.close(second, 1, ok())

    def test_failure_is_reused_but_for_a_default(self, store: Store) -> None:
        first = open_task(store)
        store.propose(first, 0, [trial(first, n) for n in range(2)])
        for number in range(2):
            store.close(first, number, failed(Outcome.CRASHED))
        second = open_task(store, seed=1)
        proposed = store.propose(second, 0, [trial(second, n) for n in range(2)])
        assert [t.is_open for t in proposed] == [True, False]
        assert store.close(second, 0, ok(7.0))
        assert store.trials(second)[0].measurement == ok(7.0)

    def test_first_of_two_tasks_that_measured_at_once_wins(self, store: Store) -> None:
        first, second = open_task(store), open_task(store, seed=1)
        for task_id in (first, second):
            store.propose(task_id, 0, [trial(task_id, n) for n in range(2)])
        assert store.close(first, 1, ok(10.0))
        assert store.close(second, 1, ok(20.0))
        late = store.trials(second)[1]
        assert (late.measurement, late.reused_from) == (ok(10.0), trial_id(first, 1))

    def test_other_toolchain_or_target_knows_nothing(self, store: Store) -> None:
        measured_task(store, [100.0])
        for other in (
            open_job(store, job_spec(toolchain_key="c1-clang")),
            open_job(store, target=replace(TARGET, threads=1)),
            open_job(store, job_spec(seed=2), tasks=[task_spec(65)]),
        ):
            task_id = other.tasks[0][0]
            assert store.propose(task_id, 0, [trial(task_id, 0)])[0].is_open


class BestContract:
    """A best was timed side by side; an incumbent is not a best."""

    def test_incumbent_is_no_best(self, store: Store) -> None:
        measured_task(store, [100.0, 50.0])
        assert store.best(task_spec().workload_key) == ()

    def test_winner_of_a_side_by_side_run_is_best(self, store: Store) -> None:
        task_id = measured_task(store, [100.0, 50.0, 60.0])
        best = store.confirm(confirmation(task_id, {0: 90.0, 1: 51.0, 2: 55.0}))
        assert best is not None
        assert best.trial_id == trial_id(task_id, 1)
        assert best.timing == timing(51.0)
        assert best.default_seconds == timing(90.0).median_seconds
        assert best.candidate == candidate("1")
        assert best.source_digest == f"k1-{best.trial_id}"
        assert store.best(best.workload_key, best.target_key, best.toolchain_key) == (best,)
        assert store.best(best.workload_key) == (best,)
        rows = store.measurements(best.trial_id)
        assert [(r.purpose, r.measurement.timing) for r in rows] == [
            ("search", timing(50.0)),
            ("confirm", timing(51.0)),
        ]

    def test_repeated_confirm_changes_nothing(self, store: Store) -> None:
        task_id = measured_task(store, [100.0])
        run = confirmation(task_id, {0: 90.0})
        best = store.confirm(run)
        assert store.confirm(run) == best
        assert len(store.measurements(trial_id(task_id, 0))) == 2

    def test_standing_best_falls_only_to_a_faster_one(self, store: Store) -> None:
        first = measured_task(store, [100.0, 50.0])
        standing = store.confirm(confirmation(first, {0: 90.0, 1: 50.0}))
        assert standing is not None
        second = measured_task(store, [100.0, 50.0, 60.0, 40.0], seed=1)
        assert store.confirm(confirmation(second, {0: 90.0, 2: 60.0})) is None
        assert store.best(standing.workload_key) == (standing,)
        faster = store.confirm(confirmation(second, {0: 90.0, 3: 40.0}))
        assert faster is not None
        assert store.best(standing.workload_key) == (faster,)

    def test_one_run_outweighs_stored_times(self, store: Store) -> None:
        first = measured_task(store, [100.0, 50.0])
        standing = store.confirm(confirmation(first, {0: 90.0, 1: 50.0}))
        assert standing is not None
        second = measured_task(store, [100.0, 50.0, 60.0], seed=1)
        slow_day = confirmation(second, {0: 190.0, 2: 98.0}, others={standing.trial_id: 99.0})
        best = store.confirm(slow_day)
        assert best is not None
        assert best.trial_id == trial_id(second, 2)

    def test_standing_best_that_wins_again_is_renewed(self, store: Store) -> None:
        first = measured_task(store, [100.0, 50.0])
        standing = store.confirm(confirmation(first, {0: 90.0, 1: 50.0}))
        assert standing is not None
        second = measured_task(store, [100.0, 50.0, 60.0], seed=1)
        again = store.confirm(
            confirmation(second, {0: 190.0, 2: 120.0}, others={standing.trial_id: 99.0})
        )
        assert again is not None
        assert (again.trial_id, again.timing) == (standing.trial_id, timing(99.0))
        assert again.default_seconds == timing(190.0).median_seconds

    def test_only_valid_trials_of_the_setting_are_confirmed(self, store: Store) -> None:
        task_id = open_task(store)
        store.propose(task_id, 0, [trial(task_id, n) for n in range(3)])
        store.close(task_id, 0, ok())
        store.close(task_id, 1, failed(Outcome.WRONG_RESULT))
        other = open_job(store, job_spec(toolchain_key="c1-clang")).tasks[0][0]
        store.propose(other, 0, [trial(other, 0)])
        store.close(other, 0, ok())
        for strange in (
            confirmation(task_id, {0: 2.0, 1: 1.0}),
            confirmation(task_id, {0: 2.0, 2: 1.0}),
            confirmation(task_id, {0: 2.0}, others={trial_id(other, 0): 1.0}),
            confirmation(task_id, {1: 1.0}),
            replace(confirmation(task_id, {0: 1.0}), winner="none.0"),
        ):
            with pytest.raises(ValueError, match="trial"):
                store.confirm(strange)
        assert store.best(task_spec().workload_key) == ()
        assert len(store.measurements(trial_id(task_id, 0))) == 1

    def test_family_finds_other_shapes(self, store: Store) -> None:
        task_id = measured_task(store, [100.0])
        best = store.confirm(confirmation(task_id, {0: 90.0}))
        assert best is not None
        family = family_key(workload_text(640, 32))
        assert store.family_best(family) == (Relative(best, workload_text()),)
        assert store.family_best("f1-none") == ()

    def test_family_is_read_from_the_nearest_size_on(self, store: Store) -> None:
        for rows in (1, 8, 32, 64, 128, 512):
            task_id = open_job(store, tasks=[task_spec(rows)], spec=job_spec(seed=rows)).tasks[0][0]
            store.propose(task_id, 0, [trial(task_id, 0)])
            store.close(task_id, 0, ok())
            store.confirm(confirmation(task_id, {0: 90.0}))
        asked = workload_text(60)
        near = store.family_best(family_key(asked), log2_size=log2_size(asked), limit=4)
        assert [r.workload_text for r in near] == [workload_text(n) for n in (64, 32, 128, 8)]


class HistoryContract:
    """What a search starts from."""

    def test_newest_first_without_pruned_and_reused(self, store: Store) -> None:
        first = measured_task(store, [100.0, 50.0])
        second = open_task(store, seed=1)
        pruned = replace(trial(second, 5), measurement=failed(Outcome.PRUNED))
        store.propose(second, 0, [trial(second, 1), pruned, trial(second, 6), trial(second, 7)])
        store.close(second, 7, failed(Outcome.CRASHED))
        found = store.history(TARGET.isa)
        assert [r.trial_id for r in found] == [
            trial_id(second, 7),
            trial_id(first, 1),
            trial_id(first, 0),
        ]
        assert (found[0].outcome, found[0].median_seconds) == (Outcome.CRASHED, None)
        assert found[1].median_seconds == timing(50.0).median_seconds
        assert found[1].features == trial(first, 1).features
        assert found[1].features_schema == "x1-test"
        assert found[1].candidate == candidate("1")
        assert store.history(TARGET.isa, limit=1) == found[:1]

    def test_filters(self, store: Store) -> None:
        measured_task(store, [100.0])
        assert store.history("aarch64") == ()
        assert store.history(TARGET.isa, workload_key="w1-none") == ()
        assert len(store.history(TARGET.isa, workload_key=task_spec().workload_key)) == 1

    def test_targets_of_one_isa_share_history(self, store: Store) -> None:
        wider: Target = replace(TARGET, features=("avx512f",), core_kind="znver4")
        for target in (TARGET, wider):
            task_id = open_job(store, target=target).tasks[0][0]
            store.propose(task_id, 0, [trial(task_id, 0)])
            store.close(task_id, 0, ok())
        assert [r.target_key for r in store.history(TARGET.isa)] == [wider.key, TARGET.key]

    def test_records_in_the_order_asked(self, store: Store) -> None:
        task_id = measured_task(store, [100.0, 50.0, 25.0])
        store.propose(task_id, 1, [trial(task_id, 3, round=1)])
        asked = [trial_id(task_id, n) for n in (2, 3, 0, 9)]
        assert [r.trial_id for r in store.records([*asked, "none"])] == [asked[0], asked[2]]


class StoreContract(JobContract, TrialContract, ReuseContract, BestContract, HistoryContract):
    """The whole suite; subclass it with a `store` fixture."""
