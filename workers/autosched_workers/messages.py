"""What the state machine hears and what it wants done: plain values.

Times are seconds of the dispatcher's monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autosched.jobs.queue import Claim, Renewal, Survey
from autosched.jobs.record import EndReason, SetupKey
from autosched.records.store import JobState

StopWhy = Literal["cancelled", "yield", "shutdown", "lapsed", "withdrawn"]
"""Why a job's process is to stop: its owner cancelled it, another owner's turn has come, the dispatcher ends, the lease
is no longer ours for certain, or no device is left that serves it."""


@dataclass(frozen=True)
class JobEnd:
    """How a job ended by itself."""

    state: JobState
    reason: EndReason
    error: str = ""


# Events.


@dataclass(frozen=True)
class Tick:
    now: float


@dataclass(frozen=True)
class Renewed:
    """A heartbeat that was sent `at` has been answered."""

    at: float
    renewal: Renewal


@dataclass(frozen=True)
class DeviceLeased:
    """`setups`: the jobs that it serves."""

    device: str
    setups: frozenset[SetupKey]


@dataclass(frozen=True)
class DeviceWithdrawn:
    """Its host is gone; or it `is_draining`: it is to go, and lets what is under way be finished."""

    device: str
    is_draining: bool = False


@dataclass(frozen=True)
class QueueSeen:
    survey: Survey


@dataclass(frozen=True)
class Claimed:
    claim: Claim


@dataclass(frozen=True)
class DeviceAsked:
    job_id: str


@dataclass(frozen=True)
class DeviceReturned:
    job_id: str


@dataclass(frozen=True)
class Ended:
    """The process says how its job ended; None: it was stopped. `is_clean`: all that it ran is committed."""

    job_id: str
    end: JobEnd | None
    is_clean: bool = True


@dataclass(frozen=True)
class Exited:
    """A process is gone; `how` in words."""

    job_id: str
    how: str


@dataclass(frozen=True)
class StopAsked:
    """The dispatcher is to end."""


Event = (
    Tick
    | Renewed
    | DeviceLeased
    | DeviceWithdrawn
    | QueueSeen
    | Claimed
    | DeviceAsked
    | DeviceReturned
    | Ended
    | Exited
    | StopAsked
)


# Commands.


@dataclass(frozen=True)
class ClaimJob:
    job_id: str


@dataclass(frozen=True)
class StartProcess:
    claim: Claim


@dataclass(frozen=True)
class Grant:
    """A turn on one device or more."""

    job_id: str
    devices: tuple[str, ...]


@dataclass(frozen=True)
class Reassure:
    """Tells a process that its lease held when the heartbeat was sent."""

    job_id: str
    at: float


@dataclass(frozen=True)
class StopProcess:
    job_id: str
    why: StopWhy


@dataclass(frozen=True)
class KillProcess:
    job_id: str


@dataclass(frozen=True)
class NoteTurn:
    """A device was used for so long."""

    job_id: str
    owner: str
    device: str
    seconds: float


@dataclass(frozen=True)
class ReleaseJob:
    """Hands a job over. Not `is_clean`: a run may have been under way, so what is open counts another attempt."""

    job_id: str
    fence: int
    is_clean: bool


@dataclass(frozen=True)
class EndJob:
    job_id: str
    fence: int
    end: JobEnd


@dataclass(frozen=True)
class Finish:
    """Nothing is held any more; the dispatcher may go."""


Command = (
    ClaimJob
    | StartProcess
    | Grant
    | Reassure
    | StopProcess
    | KillProcess
    | NoteTurn
    | ReleaseJob
    | EndJob
    | Finish
)
