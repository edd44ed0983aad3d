"""The export file: JSON lines, one record a line, with a version and an end.

    {"kind": "header", "autosched_export": 2, "schema_version": "0002", "exported_at": ...}
    {"kind": "target", "key": ..., "fields": {...}}         then toolchain, workload, calibration
    {"kind": "job", "id": ..., ..., "history": [trial id...]}         then task
    {"kind": "trial", "task_id": ..., "number": 0, ...}     in the order they were proposed
    {"kind": "measurement", "trial_id": ..., "purpose": "search", ...}
    {"kind": "best", "workload_key": ..., ...}
    {"kind": "end", "lines": 1234}

Every line is checked against its model here: unknown fields, outcomes and purposes are refused, as are numbers that are
not finite. Ids of trials are `<task id>.<number>`; row numbers of a database never leave it. Open trials are not
exported, for they are no results; nor are leases, events, turns, workers and tokens, which mean nothing elsewhere.

Version 2 added what a submitted job says beyond a local command's, all with defaults: files of version 1 are read.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from autosched.plain import PLAIN_PATTERN
from autosched.records.outcome import Outcome
from autosched.records.record import Mode, Purpose, trial_id
from autosched.records.store import JobState

EXPORT_VERSION = 2
READABLE_VERSIONS = (1, 2)
KEY_PATTERN = r"^[A-Za-z0-9._~-]{1,80}$"


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


Key = Annotated[str, Field(pattern=KEY_PATTERN)]
OptionalKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{0,80}$")]
Count = Annotated[int, Field(ge=0, lt=2**31)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Seconds = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Plain = Annotated[str, Field(pattern=PLAIN_PATTERN)]
Time = Annotated[AwareDatetime, AfterValidator(_utc)]


class Line(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class HeaderLine(Line):
    kind: Literal["header"] = "header"
    autosched_export: int
    schema_version: str
    exported_at: Time


class EndLine(Line):
    """`lines` counts all of them, header and end too: a file cut short is seen."""

    kind: Literal["end"] = "end"
    lines: int


class TargetLine(Line):
    kind: Literal["target"] = "target"
    key: Key
    fields: dict[str, Any]


class ToolchainLine(Line):
    kind: Literal["toolchain"] = "toolchain"
    key: Key
    fields: dict[str, Any]


class WorkloadLine(Line):
    kind: Literal["workload"] = "workload"
    key: Key
    text: str


class CalibrationLine(Line):
    kind: Literal["calibration"] = "calibration"
    target_key: Key
    values: dict[Key, Positive]


class JobLine(Line):
    """The columns of a job; `seed` as text, for JSON readers round large integers."""

    kind: Literal["job"] = "job"
    id: Key
    source: Plain
    source_key: Key
    target_key: Key
    toolchain_key: Key
    threads: Count
    seed: Annotated[str, Field(pattern=r"^-?[0-9]{1,79}$")]
    trials: Whole
    state: JobState
    end_reason: Plain
    created_at: Time
    ended_at: Time | None
    history: list[Key]
    owner: Key | None = None
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    labels: dict[Plain, Plain] = {}
    seconds: Positive | None = None
    policy: Annotated[str, Field(max_length=20)] = "evolutionary"
    started_at: Time | None = None
    spent_seconds: Seconds = 0.0
    error: str = ""


class StandingObject(Line):
    """The last side-by-side run of a task: its winner and the default's time."""

    trial_id: Key
    side_by_side: Key
    default_seconds: Positive


class TaskLine(Line):
    kind: Literal["task"] = "task"
    id: Key
    job_id: Key
    position: Count
    name: Plain
    workload_key: Key
    weight: Count
    reference: str = ""
    operations: Seconds | None = None
    bound_seconds: Seconds | None = None
    forgotten: dict[Annotated[Outcome, Field(strict=False)], Whole] = {}
    standing: StandingObject | None = None


class StepObject(Line):
    """One step of a derivation."""

    rule: Name
    version: Count
    stage: str
    arguments: dict[str, Any]


class TrialLine(Line):
    """A closed trial; its result is its search measurement, or that of `reused_from`."""

    kind: Literal["trial"] = "trial"
    task_id: Key
    number: Count
    round: Count
    attempt: Annotated[int, Field(ge=1, lt=2**31)]
    candidate_key: Key
    derivation: list[StepObject]
    values: dict[Name, Whole]
    space_version: OptionalKey
    features: list[float | None]
    features_schema: OptionalKey
    reused_from: Key | None
    proposed_at: Time
    closed_at: Time

    @property
    def id(self) -> str:
        return trial_id(self.task_id, self.number)


class TimingObject(Line):
    """Seconds a call."""

    median_seconds: Positive
    spread_seconds: Seconds
    n_samples: Count
    contended_share: Share
    threads: Count
    mode: Mode


class MeasurementLine(Line):
    kind: Literal["measurement"] = "measurement"
    trial_id: Key
    purpose: Purpose
    side_by_side: Key | None
    outcome: Annotated[Outcome, Field(strict=False)]
    timing: TimingObject | None
    error: str
    log: str
    build_seconds: Seconds
    run_seconds: Seconds
    source_digest: OptionalKey
    max_error: float | None
    early_stopped: bool
    environment: dict[str, Any]
    measured_at: Time


class BestLine(Line):
    """A winner; its timing is that of its measurement in the run `side_by_side`."""

    kind: Literal["best"] = "best"
    workload_key: Key
    target_key: Key
    toolchain_key: Key
    trial_id: Key
    side_by_side: Key
    space_version: OptionalKey
    source_digest: OptionalKey
    default_seconds: Positive
    measured_at: Time


AnyLine = (
    HeaderLine
    | TargetLine
    | ToolchainLine
    | WorkloadLine
    | CalibrationLine
    | JobLine
    | TaskLine
    | TrialLine
    | MeasurementLine
    | BestLine
    | EndLine
)

LINE: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="kind")])
