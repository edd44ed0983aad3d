"""Records made up for tests: small, valid and different where they are named differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from autosched.records.outcome import Outcome
from autosched.records.record import Candidate, Measurement, Timing, Trial, trial_id
from autosched.records.store import Confirmation, Job, JobSpec, TaskSpec, TuningStore
from autosched.target.target import Target
from autosched.te.workload import text_key

TARGET = Target(
    kind="cpu",
    isa="x86-64",
    features=("avx", "avx2", "fma"),
    core_kind="znver3",
    threads=2,
    vector_bytes=32,
    vector_registers=16,
    l1_bytes=32 << 10,
    l2_bytes=512 << 10,
    l3_bytes=32 << 20,
)
TOOLCHAIN = {"name": "gcc", "version": "12.2.0", "flags": ["-O2"]}
TOOLCHAIN_KEY = "c1-gcc-12.2.0"


def workload_text(rows: int = 64, columns: int = 64) -> str:
    """A made-up canonical text; texts of all extents are one family."""
    return "\n".join(
        (
            f"a: float32[{rows}, {columns}]",
            f"s0: float32[i0<{rows}] = a[i0, r0] over r0<{columns} by sum",
            "return s0",
        )
    )


def task_spec(rows: int = 64, *, weight: int = 1) -> TaskSpec:
    text = workload_text(rows)
    return TaskSpec(f"rows{rows}", text_key(text), text, weight)


def job_spec(
    *, seed: int = 0, target: Target = TARGET, toolchain_key: str = TOOLCHAIN_KEY, trials: int = 64
) -> JobSpec:
    return JobSpec(
        "suite:GMM/1@1", "g1-gmm", target.key, target.threads, toolchain_key, seed, trials
    )


def open_job(
    store: TuningStore,
    spec: JobSpec | None = None,
    *,
    target: Target = TARGET,
    tasks: Sequence[TaskSpec] = (),
    history: Sequence[str] = (),
) -> Job:
    """A job of one task, unless told otherwise."""
    wanted = job_spec(target=target) if spec is None else spec
    return store.open_job(wanted, tasks or (task_spec(),), asdict(target), TOOLCHAIN, history)


def open_task(store: TuningStore, *, seed: int = 0) -> str:
    """The id of the only task of a job."""
    return open_job(store, job_spec(seed=seed)).tasks[0][0]


def candidate(name: str, *, tile: int = 4) -> Candidate:
    step = {"rule": "tile", "version": 1, "stage": "s0", "arguments": {"axis": "i0", "levels": 2}}
    return Candidate((step,), {"s0.i0.r": tile, "s0.r0.u": 8}, f"n1-{name}")


def trial(task_id: str, number: int, *, name: str = "", round: int = 0) -> Trial:
    """An open trial; the candidate's name defaults to the number."""
    return Trial(
        task_id,
        number,
        round,
        candidate(name or str(number)),
        features=(0.5 * number, 1.0, -2.25),
        features_schema="x1-test",
        space_version="1",
    )


def ok(microseconds: float = 100.0) -> Measurement:
    return Measurement(
        Outcome.OK,
        timing(microseconds),
        build_seconds=0.25,
        run_seconds=0.125,
        source_digest="k1-text",
        max_error=1e-6,
    )


def failed(outcome: Outcome, *, error: str = "it failed") -> Measurement:
    return Measurement(outcome, error=error, log="line 1\nline 2")


def timing(microseconds: float) -> Timing:
    return Timing(microseconds * 1e-6, microseconds * 1e-8, 50, 0.02, 2)


def measured_task(store: TuningStore, microseconds: Sequence[float], *, seed: int = 0) -> str:
    """A task whose trials 0, 1, ... were measured with these medians; its id."""
    task_id = open_task(store, seed=seed)
    store.propose(task_id, 0, [trial(task_id, n) for n in range(len(microseconds))])
    for number, median in enumerate(microseconds):
        store.close(task_id, number, ok(median))
    return task_id


def confirmation(
    task_id: str, microseconds: dict[int, float], *, others: dict[str, float] | None = None
) -> Confirmation:
    """A side-by-side run of trials of the task and `others`; the fastest wins."""
    medians = {trial_id(task_id, n): m for n, m in microseconds.items()} | (others or {})
    winner = min(medians, key=lambda i: medians[i])
    timings = {i: timing(m) for i, m in medians.items()}
    return Confirmation(task_id, timings, winner, f"k1-{winner}", "1")
