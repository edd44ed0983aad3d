"""SqlTuningStore: the protocols of `records` and of `jobs`, one transaction a call.

Each method puts its values into stored form, runs one function of this package in one transaction and returns plain
values; what the calls guarantee stands in `autosched.records.store`. Safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine

from autosched.db import beginning, history, jobs, moves, targets, winners
from autosched.db import trials as trial_rows
from autosched.db.calls import LeaseCalls, QueueCalls, RegistryCalls
from autosched.db.engine import CONNECTIONS, in_read, in_write, open_engine, ping
from autosched.db.location import database_url, require_file
from autosched.db.steady import SteadyReader
from autosched.db.upgrade import upgrade_engine
from autosched.jobs.record import EndReason
from autosched.records.record import Measurement, Trial
from autosched.records.rules import (
    check_confirmation,
    check_round,
    storable_measurement,
    storable_row,
    storable_trial,
)
from autosched.records.store import (
    MAX_ATTEMPTS,
    NEWEST_RECORDS,
    BestRecord,
    Confirmation,
    HistoryRecord,
    Job,
    JobSpec,
    JobState,
    MeasurementRow,
    Relative,
    Stamps,
    TaskSpec,
)

Result = TypeVar("Result")


def connect(
    url: str | None = None, *, must_exist: bool = False, connections: int = CONNECTIONS
) -> SqlTuningStore:
    """The store at a URL or path (None: a file in the user's data directory), made or upgraded if need be, over at most
    so many connections.

    InvalidInput: not a URL, not writable, not a database, of a newer schema than ours, or a file that is not there
    and `must_exist`.
    """
    where = database_url(url)
    if must_exist:
        require_file(where)
    engine = open_engine(where, connections=connections)
    try:
        upgrade_engine(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlTuningStore(engine)


@contextmanager
def open_store(url: str | None = None, *, must_exist: bool = False) -> Iterator[SqlTuningStore]:
    """The store that `connect` gives, its connections closed at the end."""
    store = connect(url, must_exist=must_exist)
    try:
        yield store
    finally:
        store.close_connections()


class SqlTuningStore(QueueCalls, LeaseCalls, RegistryCalls):
    """A store over an engine whose database is at the current schema; `close_connections` when done with it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._steady = SteadyReader(engine)

    def close_connections(self) -> None:
        self._steady.close()
        self.engine.dispose()

    def ping(self) -> None:
        """StoreError: the database does not answer."""
        ping(self.engine)

    def fenced(self, job_id: str, fence: int) -> FencedSqlStore:
        return FencedSqlStore(self.engine, job_id, fence)

    def open_job(
        self,
        spec: JobSpec,
        tasks: Sequence[TaskSpec],
        target: Mapping[str, Any],
        toolchain: Mapping[str, Any],
        history: Sequence[str],
    ) -> Job:
        opening = jobs.Opening(spec, tasks, target, toolchain, history)
        return in_write(self.engine, partial(jobs.open_job, opening=opening))

    def end_job(self, job_id: str, state: JobState, end_reason: str) -> None:
        in_write(self.engine, lambda c: jobs.end_job(c, job_id, state, end_reason))

    def trials(self, task_id: str) -> tuple[Trial, ...]:
        return in_read(self.engine, lambda c: trial_rows.load_trials(c, task_id))

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        check_round(task_id, round, trials)
        stored = [storable_trial(t) for t in trials]
        return in_write(self.engine, lambda c: trial_rows.propose(c, task_id, stored))

    def resend(self, task_id: str, *, attempts: int = MAX_ATTEMPTS) -> tuple[Trial, ...]:
        return in_write(self.engine, lambda c: trial_rows.resend(c, task_id, attempts))

    def next_attempt(
        self, task_id: str, number: int, *, attempts: int = MAX_ATTEMPTS
    ) -> int | None:
        return in_write(
            self.engine, lambda c: trial_rows.next_attempt(c, task_id, number, attempts)
        )

    def close(self, task_id: str, number: int, measurement: Measurement) -> bool:
        stored = storable_measurement(measurement)
        return in_write(self.engine, lambda c: trial_rows.close(c, task_id, number, stored))

    def add_measurement(self, row: MeasurementRow) -> None:
        stored = storable_row(row)
        in_write(self.engine, lambda c: trial_rows.add_measurement(c, stored))

    def confirm(self, confirmation: Confirmation) -> BestRecord | None:
        check_confirmation(confirmation)
        return in_write(self.engine, lambda c: winners.confirm(c, confirmation))

    def history(
        self, target_isa: str, *, workload_key: str | None = None, limit: int = NEWEST_RECORDS
    ) -> tuple[HistoryRecord, ...]:
        return in_read(
            self.engine, lambda c: history.load_history(c, target_isa, workload_key, limit)
        )

    def records(self, trial_ids: Sequence[str]) -> tuple[HistoryRecord, ...]:
        return in_read(self.engine, lambda c: history.load_records(c, trial_ids))

    def best(
        self, workload_key: str, target_key: str | None = None, toolchain_key: str | None = None
    ) -> tuple[BestRecord, ...]:
        return in_read(
            self.engine, lambda c: winners.load_best(c, workload_key, target_key, toolchain_key)
        )

    def bests(self, workload_keys: Sequence[str]) -> Mapping[str, tuple[BestRecord, ...]]:
        """`best` of many workloads at once; those without a winner are left out."""
        return self._steady.read(lambda c: winners.load_bests(c, workload_keys))

    def stamps(self, workload_keys: Sequence[str]) -> Mapping[str, Stamps]:
        """Cheaper than `bests`: whether the winners are still those that one knows."""
        return self._steady.read(lambda c: winners.load_stamps(c, workload_keys))

    def family_best(
        self, family_key: str, *, log2_size: float = 0.0, limit: int = 100
    ) -> tuple[Relative, ...]:
        return in_read(
            self.engine, lambda c: winners.load_family_best(c, family_key, log2_size, limit)
        )

    def job(self, job_id: str) -> Job | None:
        return in_read(self.engine, lambda c: jobs.load_job(c, job_id))

    def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        return in_read(self.engine, lambda c: jobs.load_jobs(c, limit))

    def trial(self, trial_id: str) -> Trial | None:
        return in_read(self.engine, lambda c: trial_rows.load_trial(c, trial_id))

    def measurements(self, trial_id: str) -> tuple[MeasurementRow, ...]:
        return in_read(self.engine, lambda c: trial_rows.load_measurements(c, trial_id))

    def target(self, target_key: str) -> Mapping[str, Any] | None:
        return in_read(self.engine, lambda c: targets.load_target(c, target_key))

    def toolchain(self, toolchain_key: str) -> Mapping[str, Any] | None:
        return in_read(self.engine, lambda c: targets.load_toolchain(c, toolchain_key))

    def calibrate(self, target_key: str, measured: Mapping[str, float]) -> Mapping[str, float]:
        return in_write(self.engine, lambda c: targets.calibrate(c, target_key, measured))

    def calibration(self, target_key: str) -> Mapping[str, float]:
        return in_read(self.engine, lambda c: targets.load_calibration(c, target_key))

    def workload_text(self, workload_key: str) -> str | None:
        return in_read(self.engine, lambda c: targets.load_workload_text(c, workload_key))

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        return in_read(self.engine, targets.load_targets)


class FencedSqlStore(SqlTuningStore):
    """A FencedStore: the same database for the holder of one job, whose decisions check the fence under the job's row
    lock first."""

    def __init__(self, engine: Engine, job_id: str, fence: int) -> None:
        super().__init__(engine)
        self.job_id = job_id
        self.fence = fence

    def begin(
        self, history: Sequence[str], bounds: Mapping[str, tuple[float, float | None]]
    ) -> None:
        self._decide(lambda c: beginning.begin(c, self.job_id, history, bounds))

    def propose(self, task_id: str, round: int, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        check_round(task_id, round, trials)
        stored = [storable_trial(t) for t in trials]
        return self._decide(lambda c: trial_rows.propose(c, task_id, stored))

    def resend(self, task_id: str, *, attempts: int = MAX_ATTEMPTS) -> tuple[Trial, ...]:
        return self._decide(lambda c: trial_rows.resend(c, task_id, attempts))

    def next_attempt(
        self, task_id: str, number: int, *, attempts: int = MAX_ATTEMPTS
    ) -> int | None:
        return self._decide(lambda c: trial_rows.next_attempt(c, task_id, number, attempts))

    def end_job(self, job_id: str, state: JobState, end_reason: str) -> None:
        ending = moves.Ending(state, cast(EndReason, end_reason))
        in_write(self.engine, lambda c: moves.end_claimed(c, job_id, self.fence, ending))

    def _decide(self, work: Callable[[Connection], Result]) -> Result:
        def checked(connection: Connection) -> Result:
            moves.check_fence(connection, self.job_id, self.fence)
            return work(connection)

        return in_write(self.engine, checked)
