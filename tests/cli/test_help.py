"""Every option says what it is for, and what it is if nobody says."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from autosched_api.__main__ import main as api
from autosched_api.settings import Settings
from autosched_workers.__main__ import program_parser
from autosched_workers.cluster.__main__ import program_parser as cluster_parser

from autosched.cli.app import app, run_command

DISPATCHER = program_parser()


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {word}")


COMMANDS = dict(commands(typer.main.get_command(app), "autosched"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_each_of_its_options_has_a_text(name: str) -> None:
    assert COMMANDS[name].help
    lacking = [p.name for p in COMMANDS[name].params if not p.help]
    assert lacking == []


def test_every_setting_of_the_api_has_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert [n for n, field in Settings.model_fields.items() if not field.description] == []
    with pytest.raises(SystemExit):
        api(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "--db str database URL, or path of a file; null: that of AUTOSCHED_DB, or else" in out
    assert "{str,null}" not in out


@pytest.mark.parametrize("action", DISPATCHER._actions, ids=lambda a: a.dest)
def test_every_option_of_a_dispatcher_has_a_text_and_shows_its_default(
    action: argparse.Action,
) -> None:
    assert action.help
    has_default = action.default not in (None, False, argparse.SUPPRESS)
    assert ("%(default)s" in action.help) == (has_default and action.dest != "db")


SHOWN = [
    ("worker", "either name is good"),
    ("serve", "default: a file in the user's data directory."),
    ("token create", "default: a file in the user's data directory."),
]


@pytest.mark.parametrize(("command", "words"), SHOWN)
def test_texts_are_shown_whole(
    command: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run_command([*command.split(), "--help"]) == 0
    assert words in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_every_program_of_a_cluster_and_each_of_its_options_has_a_text() -> None:
    (programs,) = [
        a for a in cluster_parser()._actions if isinstance(a, argparse._SubParsersAction)
    ]
    assert {a.dest for a in programs._choices_actions if a.help} == set(programs.choices)
    for name, program in programs.choices.items():
        assert [(name, a.dest) for a in program._actions if not a.help] == []
