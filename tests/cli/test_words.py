"""What a person reads: where a job is, what is missing and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from autosched.cli.app import run_command
from autosched.cli.progress import ProgressView
from autosched.entry.product_version import product_version
from autosched.records.outcome import Outcome
from autosched.tuning.events import JobStanding, JobStarted, TaskConfirmed, TrialFinished


def finished(number: int) -> TrialFinished:
    return TrialFinished("n0", number, Outcome.OK, 1e-6, 1e-6, "")


def test_progress_says_which_part_of_a_job_it_is() -> None:
    view = ProgressView(Console(quiet=True))
    assert "waiting" in view.line()
    view(JobStarted("job", ("n0", "n1"), 2, 0, 0))
    view(finished(0))
    assert "0/2 trials  measuring default schedules, 1/2" in view.line()
    view(finished(0))
    view(finished(1))
    assert "1/2 trials" in view.line()
    assert "trials/s" in view.line()
    view(finished(2))
    view(TaskConfirmed("n0", "t", 2e-6, 1e-6))
    assert "side by side" in view.line()


def test_the_fastest_run_only_falls_and_what_is_confirmed_has_its_own_name() -> None:
    view = ProgressView(Console(quiet=True))
    view(JobStarted("job", ("n0",), 9, 0, 0))
    view(TrialFinished("n0", 1, Outcome.OK, 5e-6, 5e-6, ""))
    assert view.line().endswith("n0: fastest run so far 5 us")
    view(TaskConfirmed("n0", "t", 9e-6, 6e-6))
    assert view.line().endswith("n0: fastest run so far 5 us, confirmed 6 us")
    view(JobStanding(9, 2, task="n0", best_seconds=6e-6))
    assert view.line().endswith("n0: fastest run so far 5 us, confirmed 6 us")


@pytest.mark.parametrize(
    "command", ["db stats", "db export out.jsonl", "db prune --days 1", "trial t.0"]
)
def test_whoever_only_reads_makes_no_database(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "typo" / "runs.db"
    assert run_command([*command.split(), "--db", str(database)]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert not database.parent.exists()


def test_an_untuned_source_is_answered_with_how_to_tune_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["best", "suite:NRM/1@1", "--db", str(tmp_path / "runs.db")]) == 0
    assert "autosched tune suite:NRM/1@1 --trials N" in capsys.readouterr().err


def test_who_names_a_job_instead_of_a_trial_is_told_what_trials_are_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = "019a7c1e-7b1a-7cc3-9d6e-0f6a5b4c3d2e"
    for more in ([], ["--server", "http://127.0.0.1:9"]):
        assert run_command(["trial", job, *more]) == 2
        assert "JOB.TASK.N" in capsys.readouterr().err


def test_version_and_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out == f"autosched {product_version()}\n"
    assert run_command(["tune", "-h"]) == 0
    assert "--trials" in capsys.readouterr().out


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_a_simulated_run_takes_no_impossible_time(
    seconds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "runs.db"
    command = ["serve", f"--simulate={seconds}", "--db", str(database)]
    assert run_command(command) == 2
    assert "--simulate" in capsys.readouterr().err
    assert not database.exists()
