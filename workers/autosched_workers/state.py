"""What a dispatcher knows: the devices and jobs it holds. Frozen; `decide` makes the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autosched.jobs.queue import Claim
from autosched.jobs.record import SetupKey
from autosched_workers.messages import JobEnd, StopWhy


@dataclass(frozen=True)
class Options:
    """`slots`: jobs held at once. `lease_seconds`: of jobs and devices. `quantum_seconds`: how long a job is held at
    least before it yields to an owner who has had less. `grace_seconds`: between asking a process to stop and ending
    it; `drain_seconds`: where its host is to go, which waits for a little longer than that. `deaths`: of a job's
    process, one after the other without any progress, that fail the job. `spreads`: a turn takes all devices that
    nobody else asks for."""

    slots: int = 4
    lease_seconds: float = 15.0
    quantum_seconds: float = 30.0
    grace_seconds: float = 3.0
    drain_seconds: float = 50.0
    deaths: int = 3
    spreads: bool = False


@dataclass(frozen=True)
class Held:
    """A claimed job and its process. `since`, `asked_at`, `devices_since`, `kill_at`: times; `asked_at` is that of an
    unanswered request for devices, `devices` those of its turn. `end` and `is_clean` are what the process said last.
    `progressed`: it has used a device."""

    claim: Claim
    since: float
    asked_at: float | None = None
    devices: tuple[str, ...] = ()
    devices_since: float = 0.0
    stop: StopWhy | None = None
    kill_at: float | None = None
    has_answered: bool = False
    is_clean: bool = False
    end: JobEnd | None = None
    progressed: bool = False

    @property
    def job_id(self) -> str:
        return self.claim.submitted.id

    @property
    def owner(self) -> str:
        return self.claim.submitted.owner

    @property
    def priority(self) -> int:
        return self.claim.submitted.priority

    @property
    def setup(self) -> SetupKey:
        return self.claim.submitted.setup

    @property
    def fence(self) -> int:
        return self.claim.fence


@dataclass(frozen=True)
class State:
    """`devices`: those leased to us, with the jobs that they serve; the one that was used last comes last. `held`: by
    job id. `use`: device seconds by owner. `renewed_at`: when the last heartbeat that was answered had been sent.
    `deaths`: by job id."""

    options: Options
    now: float = 0.0
    renewed_at: float = 0.0
    devices: Mapping[str, frozenset[SetupKey]] = field(default_factory=dict)
    held: Mapping[str, Held] = field(default_factory=dict)
    use: Mapping[str, float] = field(default_factory=dict)
    deaths: Mapping[str, int] = field(default_factory=dict)
    is_stopping: bool = False

    def with_held(self, job_id: str, **changes: Any) -> State:
        """The state with one held job changed."""
        return replace(self, held={**self.held, job_id: replace(self.held[job_id], **changes)})

    def without(self, job_id: str) -> State:
        """The state when a job is held no more."""
        return replace(self, held={k: h for k, h in self.held.items() if k != job_id})

    def with_deaths(self, job_id: str, n: int) -> State:
        """The state when a job's process has ended so many times in a row without progress."""
        others = {k: d for k, d in self.deaths.items() if k != job_id}
        return replace(self, deaths=others | ({job_id: n} if n else {}))

    def after_use_of(self, devices: Sequence[str]) -> State:
        """The state in which all other devices come first."""
        others = {d: setups for d, setups in self.devices.items() if d not in devices}
        used = {d: setups for d, setups in self.devices.items() if d in devices}
        return replace(self, devices={**others, **used})

    @property
    def free_devices(self) -> list[str]:
        """The one that has rested longest first."""
        used = {d for h in self.held.values() for d in h.devices}
        return [d for d in self.devices if d not in used]

    def serving(self, setup: SetupKey) -> frozenset[str]:
        """The devices for such a job."""
        return frozenset(d for d, setups in self.devices.items() if setup in setups)

    def spare(self, setup: SetupKey, more: Sequence[SetupKey] = ()) -> int:
        """How many more devices serve a job than there are jobs for them, those held and `more`; below 0: jobs wait."""
        ours = self.serving(setup)
        held = [h.setup for h in self.held.values()]
        return len(ours) - sum(not ours.isdisjoint(self.serving(s)) for s in [*held, *more])

    @property
    def is_lapsing(self) -> bool:
        """Half of the lease is over since the last heartbeat: another may soon hold what we do."""
        return self.now - self.renewed_at >= self.options.lease_seconds / 2
