"""The dispatcher's decisions: state and event in, state and commands out. No I/O, no clock, no randomness.

Invariants, which the tests hold over random histories:

* a device has one job at a time, and only while we lease it;
* no device is given and no job is claimed when half of the lease is over without a heartbeat;
* every claim ends in exactly one of `EndJob` and `ReleaseJob`, when its process is gone;
* a process that was told to stop is gone after the grace, that of a host which drains included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autosched.jobs.fair import first
from autosched.jobs.queue import Survey, Waiting
from autosched_workers.messages import (
    Claimed,
    ClaimJob,
    Command,
    DeviceAsked,
    DeviceLeased,
    DeviceReturned,
    DeviceWithdrawn,
    Ended,
    EndJob,
    Event,
    Exited,
    Finish,
    Grant,
    JobEnd,
    KillProcess,
    NoteTurn,
    QueueSeen,
    Reassure,
    ReleaseJob,
    Renewed,
    StartProcess,
    StopAsked,
    StopProcess,
    StopWhy,
    Tick,
)
from autosched_workers.state import Held, State

Decision = tuple[State, list[Command]]


def decide(state: State, event: Event) -> Decision:
    """The state after an event, and what is to be done about it, in order."""
    state, commands = HANDLERS[type(event)](state, event)
    state, grants = _grants(state)
    return state, [*commands, *grants]


def _tick(state: State, event: Tick) -> Decision:
    state = replace(state, now=event.now)
    commands: list[Command] = []
    if state.is_lapsing:
        state = replace(state, devices={})
        state, commands = _stop(state, list(state.held), "lapsed")
    for job_id, held in state.held.items():
        if held.kill_at is not None and held.kill_at <= state.now:
            state = state.with_held(job_id, kill_at=None)
            commands.append(KillProcess(job_id))
    if state.is_stopping and not state.held:
        commands.append(Finish())
    return state, commands


def _renewed(state: State, event: Renewed) -> Decision:
    renewal = event.renewal
    devices = {d: setups for d, setups in state.devices.items() if d in renewal.devices}
    state = replace(state, renewed_at=event.at, devices=devices)
    lost = [j for j in state.held if j not in renewal.jobs]
    state, commands = _stop(state, lost, "lapsed")
    cancelled = [j for j in state.held if j in renewal.cancelled and j not in lost]
    state, more = _stop(state, cancelled, "cancelled")
    kept: list[Command] = [Reassure(j, event.at) for j in state.held if j not in lost]
    return state, [*commands, *more, *kept]


def _device_leased(state: State, event: DeviceLeased) -> Decision:
    return replace(state, devices={**state.devices, event.device: event.setups}), []


def _device_withdrawn(state: State, event: DeviceWithdrawn) -> Decision:
    devices = {d: setups for d, setups in state.devices.items() if d != event.device}
    using = [h.job_id for h in state.held.values() if event.device in h.devices]
    options = state.options
    seconds = options.drain_seconds if event.is_draining else options.grace_seconds
    state = replace(state, devices=devices)
    return _stop(state, [*using, *_stranded(state)], "withdrawn", seconds)


def _stranded(state: State) -> list[str]:
    """Jobs that wait for a device when none of ours serves them: another dispatcher may have one."""
    held = state.held.values()
    return [h.job_id for h in held if not h.devices and not state.serving(h.setup)]


def _queue_seen(state: State, event: QueueSeen) -> Decision:
    survey = event.survey
    state = replace(state, use=dict(survey.use))
    if state.is_stopping or state.is_lapsing or not state.devices:
        return state, []
    state, commands = _stop(state, _stranded(state), "withdrawn")
    chosen = _chosen(state, survey)
    if chosen:
        return state, [*commands, *(ClaimJob(w.job_id) for w in chosen)]
    given = _surplus(state, survey) or _yielding(state, survey)
    state, more = _stop(state, [] if given is None else [given.job_id], "yield")
    return state, [*commands, *more]


def _chosen(state: State, survey: Survey) -> list[Waiting]:
    """The next to claim: of the highest priority, then of owners of whom the fewest jobs are held, then by use. No more
    than there are devices for them; where there is none to spare, and no other dispatcher has one, a single one beyond,
    so that those who come at once share."""
    count = Counter(survey.holding)
    left, chosen = list(survey.waiting), list[Waiting]()
    while left and len(state.held) + len(chosen) < state.options.slots:
        most = max(w.priority for w in left)
        fewest = min(count[w.owner] for w in left if w.priority == most)
        rivals = [w for w in left if w.priority == most and count[w.owner] == fewest]
        best = first(rivals, survey.use)
        assert best is not None
        left.remove(best)
        if state.spare(best.setup, [w.setup for w in chosen]) > 0:
            chosen.append(best)
            count[best.owner] += 1
        elif not chosen and not survey.hungry and state.serving(best.setup):
            return [best]
    return chosen


def _surplus(state: State, survey: Survey) -> Held | None:
    """A job that waits for a device here while another dispatcher has a device and no job: the last one claimed. One
    at a time."""
    if not survey.hungry or survey.waiting or any(h.stop for h in state.held.values()):
        return None
    extra = [h for h in state.held.values() if not h.devices and state.spare(h.setup) < 0]
    return max(extra, key=lambda h: (h.since, h.job_id), default=None)


def _yielding(state: State, survey: Survey) -> Held | None:
    """The held job that makes room: its owner has had a quantum more than one who waits and holds nothing here, or
    who asks with a higher priority. One at a time."""
    is_full = len(state.held) >= state.options.slots
    if not is_full or any(h.stop for h in state.held.values()):
        return None
    quantum = state.options.quantum_seconds
    candidates = [h for h in state.held.values() if state.now - h.since >= quantum]
    if not candidates:
        return None
    richest = max(candidates, key=lambda h: (-h.priority, state.use.get(h.owner, 0.0)))
    if any(w.priority > richest.priority for w in survey.waiting):
        return richest
    ours = {h.owner for h in state.held.values()}
    next_up = first([w for w in survey.waiting if w.owner not in ours], state.use)
    if next_up is None or next_up.priority < richest.priority:
        return None
    ahead = state.use.get(richest.owner, 0.0) - state.use.get(next_up.owner, 0.0)
    return richest if ahead >= quantum else None


def _claimed(state: State, event: Claimed) -> Decision:
    claim = event.claim
    job_id = claim.submitted.id
    if claim.submitted.is_cancel_asked:
        return state, [EndJob(job_id, claim.fence, JobEnd("cancelled", "cancelled"))]
    if state.is_stopping:
        return state, [ReleaseJob(job_id, claim.fence, is_clean=not claim.is_inherited)]
    held = {**state.held, job_id: Held(claim, since=state.now)}
    return replace(state, held=held), [StartProcess(claim)]


def _device_asked(state: State, event: DeviceAsked) -> Decision:
    return state.with_held(event.job_id, asked_at=state.now), []


def _device_returned(state: State, event: DeviceReturned) -> Decision:
    state, commands = _turn_over(state, event.job_id)
    state = state.with_held(event.job_id, progressed=True)
    return state.with_deaths(event.job_id, 0), commands


def _turn_over(state: State, job_id: str) -> Decision:
    held = state.held[job_id]
    if not held.devices:
        return state, []
    seconds = max(0.0, state.now - held.devices_since)
    spent = seconds * len(held.devices)
    use = {**state.use, held.owner: state.use.get(held.owner, 0.0) + spent}
    notes: list[Command] = [NoteTurn(job_id, held.owner, d, seconds) for d in held.devices]
    state = state.after_use_of(held.devices).with_held(job_id, devices=())
    return replace(state, use=use), notes


def _ended(state: State, event: Ended) -> Decision:
    answer: dict[str, Any] = {"has_answered": True, "end": event.end, "is_clean": event.is_clean}
    return state.with_held(event.job_id, **answer), []


def _exited(state: State, event: Exited) -> Decision:
    state, commands = _turn_over(state, event.job_id)
    held = state.held[event.job_id]
    state = state.without(event.job_id)
    if held.end is not None:
        return state, [*commands, EndJob(held.job_id, held.fence, held.end)]
    if held.stop == "cancelled":
        end = JobEnd("cancelled", "cancelled")
        return state, [*commands, EndJob(held.job_id, held.fence, end)]
    if held.has_answered:
        return state, [*commands, ReleaseJob(held.job_id, held.fence, is_clean=held.is_clean)]
    if held.stop is not None:
        return state, [*commands, ReleaseJob(held.job_id, held.fence, is_clean=False)]
    state, last = _died(state, held, event.how)
    return state, [*commands, *last]


def _died(state: State, held: Held, how: str) -> Decision:
    """A process that ended of itself and said nothing: tried again, but not for ever."""
    deaths = 1 if held.progressed else state.deaths.get(held.job_id, 0) + 1
    if deaths >= state.options.deaths:
        error = f"its process ended {deaths} times without any progress, at last {how}"
        end = JobEnd("failed", "error", error)
        return state.with_deaths(held.job_id, 0), [EndJob(held.job_id, held.fence, end)]
    return state.with_deaths(held.job_id, deaths), [
        ReleaseJob(held.job_id, held.fence, is_clean=False)
    ]


def _stop_asked(state: State, event: StopAsked) -> Decision:
    state = replace(state, is_stopping=True)
    state, commands = _stop(state, list(state.held), "shutdown")
    return state, [*commands, *([] if state.held else [Finish()])]


def _stop(
    state: State, job_ids: Sequence[str], why: StopWhy, seconds: float | None = None
) -> Decision:
    """Those not stopping yet are told to; a cancelled one stays cancelled. `seconds`: until they are ended (None: the
    grace); who was given more for another reason has no more than that left."""
    kill_at = state.now + (state.options.grace_seconds if seconds is None else seconds)
    commands: list[Command] = []
    for job_id in job_ids:
        held = state.held[job_id]
        if held.stop is None:
            state = state.with_held(job_id, stop=why, kill_at=kill_at)
            commands.append(StopProcess(job_id, why))
        elif held.kill_at is not None:
            state = state.with_held(job_id, kill_at=min(held.kill_at, kill_at))
    return state, commands


def _grants(state: State) -> Decision:
    """Free devices to those who ask, by fair share; the device that has rested longest first, so that a job alone is
    measured on all of them in turn. Where turns spread, what is left over goes to those who were given one just now."""
    given: dict[str, tuple[str, ...]] = {}
    for device in [] if state.is_lapsing else state.free_devices:
        fitting = [h for h in _asking(state) if h.setup in state.devices[device]]
        chosen = first([h for h in fitting if h.job_id not in given], state.use)
        if chosen is None and state.options.spreads:
            chosen = min(fitting, key=lambda h: len(given[h.job_id]), default=None)
        if chosen is not None:
            given[chosen.job_id] = (*given.get(chosen.job_id, ()), device)
    for job_id, devices in given.items():
        state = state.with_held(job_id, asked_at=None, devices=devices, devices_since=state.now)
    return state, [Grant(job_id, devices) for job_id, devices in given.items()]


def _asking(state: State) -> list[Held]:
    """Who waits for a device, the longest waiting first."""
    asking = [h for h in state.held.values() if h.asked_at is not None and h.stop is None]
    return sorted(asking, key=lambda h: h.asked_at or 0.0)


HANDLERS: Mapping[type, Callable[[State, Any], Decision]] = {
    Tick: _tick,
    Renewed: _renewed,
    DeviceLeased: _device_leased,
    DeviceWithdrawn: _device_withdrawn,
    QueueSeen: _queue_seen,
    Claimed: _claimed,
    DeviceAsked: _device_asked,
    DeviceReturned: _device_returned,
    Ended: _ended,
    Exited: _exited,
    StopAsked: _stop_asked,
}
