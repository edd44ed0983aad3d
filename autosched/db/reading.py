"""An export file read and checked whole, before anything of it is stored.

Checked here: version and end, the form of every line (see `exchange`), that keys are those of their content, that
every id referred to is in the file, that every trial has one result, and that a winner was timed side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from autosched.db import exchange
from autosched.errors import InvalidInput
from autosched.records.outcome import Outcome
from autosched.records.record import Setting
from autosched.records.rules import UNMEASURED
from autosched.target.files import target_of_fields
from autosched.te.workload import text_key

Kind = TypeVar("Kind", bound=exchange.Line)


@dataclass
class ExportFile:
    """The lines of a checked file, and what they are looked up by."""

    lines: dict[type[exchange.Line], list[Any]] = field(default_factory=dict)
    jobs: dict[str, exchange.JobLine] = field(default_factory=dict)
    tasks: dict[str, exchange.TaskLine] = field(default_factory=dict)
    trials: dict[str, exchange.TrialLine] = field(default_factory=dict)
    results: dict[str, exchange.MeasurementLine] = field(default_factory=dict)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return self.lines.get(kind, [])

    def setting(self, trial: exchange.TrialLine) -> Setting:
        """Workload, target and toolchain of a trial."""
        task = self.tasks[trial.task_id]
        job = self.jobs[task.job_id]
        return task.workload_key, job.target_key, job.toolchain_key

    def result(self, trial: exchange.TrialLine) -> exchange.MeasurementLine:
        """The search run of the trial, or of the one it reused."""
        return self.results[trial.reused_from or trial.id]


def read_file(path: Path) -> ExportFile:
    """The checked file; InvalidInput names file, line and rule."""
    file = ExportFile()
    try:
        with path.open(encoding="utf-8") as text:
            _read_lines(text, file)
        _check_references(file)
    except OSError as error:
        raise InvalidInput(f"export file {str(path)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"export file {str(path)!r} is not UTF-8: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"export file {str(path)!r}: {error}") from None
    return file


def _read_lines(text: Iterator[str], file: ExportFile) -> None:
    number, line = 0, None
    for number, raw in enumerate(text, 1):
        if isinstance(line, exchange.EndLine):
            raise InvalidInput(f"line {number} follows the end")
        line = _parse(raw, number)
        if isinstance(line, exchange.HeaderLine) != (number == 1):
            raise InvalidInput(f"line {number}: the header must be line 1 and only there")
        file.lines.setdefault(type(line), []).append(line)
    if not isinstance(line, exchange.EndLine):
        raise InvalidInput(f"cut short after line {number}: the end is missing")
    if line.lines != number:
        raise InvalidInput(f"has {number} lines, and {line.lines} when it was written")


def _parse(raw: str, number: int) -> exchange.AnyLine:
    try:
        data = json.loads(raw, parse_constant=_refuse_constant)
        if number == 1:
            _check_version(data)
        return exchange.LINE.validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        given = str(first["input"])[:80]
        raise InvalidInput(f"line {number}: {where} is {given!r}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"line {number} is not JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _check_version(header: object) -> None:
    version = header.get("autosched_export") if isinstance(header, dict) else None
    if not isinstance(version, int):
        raise InvalidInput("line 1 is not the header of an export file")
    if version not in exchange.READABLE_VERSIONS:
        known = " and ".join(map(str, exchange.READABLE_VERSIONS))
        raise InvalidInput(f"is of export version {version}, and this autosched reads {known}")


def _check_references(file: ExportFile) -> None:
    targets = _by(file.of(exchange.TargetLine), lambda t: t.key, "target")
    toolchains = _by(file.of(exchange.ToolchainLine), lambda t: t.key, "toolchain")
    workloads = _by(file.of(exchange.WorkloadLine), lambda w: w.key, "workload")
    file.jobs = _by(file.of(exchange.JobLine), lambda j: j.id, "job")
    file.tasks = _by(file.of(exchange.TaskLine), lambda t: t.id, "task")
    file.trials = _by(file.of(exchange.TrialLine), lambda t: t.id, "trial")
    for target in targets.values():
        _check_target(target)
    for workload in workloads.values():
        _check_workload(workload)
    for job in file.jobs.values():
        _need(job.target_key in targets, f"job {job.id}: target {job.target_key}")
        _need(job.toolchain_key in toolchains, f"job {job.id}: toolchain {job.toolchain_key}")
    for task in file.tasks.values():
        _need(task.job_id in file.jobs, f"task {task.id}: job {task.job_id}")
        _need(task.workload_key in workloads, f"task {task.id}: workload {task.workload_key}")
    _check_trials(file)
    confirmed = {
        (r.trial_id, r.side_by_side) for r in file.of(exchange.MeasurementLine) if r.timing
    }
    for task in file.tasks.values():
        stands = task.standing
        if stands and (stands.trial_id, stands.side_by_side) not in confirmed:
            raise InvalidInput(f"task {task.id}: {stands.trial_id} was never confirmed")
    for best in file.of(exchange.BestLine):
        _check_best(file, best)
        if (best.trial_id, best.side_by_side) not in confirmed:
            raise InvalidInput(f"best of {best.workload_key}: {best.trial_id} was never confirmed")


def _by(lines: list[Kind], key: Callable[[Kind], str], what: str) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for line in lines:
        if key(line) in found:
            raise InvalidInput(f"{what} {key(line)} is there twice")
        found[key(line)] = line
    return found


def _need(there: bool, what: str) -> None:
    if not there:
        raise InvalidInput(f"{what} is not in the file")


def _check_target(line: exchange.TargetLine) -> None:
    found = target_of_fields(line.fields, line.key).key
    if found != line.key:
        raise InvalidInput(f"target {line.key}: its fields have the key {found}")


def _check_workload(line: exchange.WorkloadLine) -> None:
    found = text_key(line.text)
    if found != line.key:
        raise InvalidInput(f"workload {line.key}: its text has the key {found}")


def _check_trials(file: ExportFile) -> None:
    for run in file.of(exchange.MeasurementLine):
        _need(run.trial_id in file.trials, f"measurement of {run.trial_id}: the trial")
        _check_timing(run)
        if run.purpose == "search":
            if run.trial_id in file.results:
                raise InvalidInput(f"trial {run.trial_id} has two search measurements")
            file.results[run.trial_id] = run
    once: dict[tuple[object, ...], str] = {}
    for trial in file.trials.values():
        _need(trial.task_id in file.tasks, f"trial {trial.id}: task {trial.task_id}")
        _check_result(file, trial)
        keys: list[tuple[object, ...]] = [(trial.task_id, trial.candidate_key)]
        outcome = file.result(trial).outcome
        if trial.number > 0 and trial.reused_from is None and outcome not in UNMEASURED:
            keys.append((*file.setting(trial), trial.candidate_key))
        for key in keys:
            if key in once:
                raise InvalidInput(f"trials {once[key]} and {trial.id} measured one candidate")
            once[key] = trial.id


def _check_timing(run: exchange.MeasurementLine) -> None:
    timed = run.timing is not None
    if (run.outcome is Outcome.OK and not timed) or (
        timed and run.outcome not in {Outcome.OK, Outcome.UNSTABLE}
    ):
        raise InvalidInput(f"measurement of {run.trial_id}: {run.outcome}, timing {run.timing}")
    if (run.side_by_side is not None) != (run.purpose == "confirm"):
        raise InvalidInput(f"measurement of {run.trial_id}: side_by_side is that of a confirmation")


def _check_result(file: ExportFile, trial: exchange.TrialLine) -> None:
    source = file.trials.get(trial.reused_from or trial.id)
    _need(source is not None, f"trial {trial.id}: trial {trial.reused_from}, which it reuses,")
    _need((trial.reused_from or trial.id) in file.results, f"trial {trial.id}: its result")
    if source is None or trial.reused_from is None:
        return
    if trial.id in file.results or source.reused_from is not None:
        raise InvalidInput(f"trial {trial.id} reuses a result and has one, or reuses a reused one")
    same = file.setting(source) == file.setting(trial)
    if not same or source.candidate_key != trial.candidate_key:
        raise InvalidInput(f"trial {trial.id} reuses {source.id}, which is something else")


def _check_best(file: ExportFile, best: exchange.BestLine) -> None:
    trial = file.trials.get(best.trial_id)
    if trial is None:
        raise InvalidInput(f"best of {best.workload_key}: trial {best.trial_id} is not in the file")
    setting = (best.workload_key, best.target_key, best.toolchain_key)
    if file.setting(trial) != setting or file.result(trial).outcome is not Outcome.OK:
        raise InvalidInput(f"best of {best.workload_key}: trial {trial.id} is not valid for it")
