"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autosched.errors import InvalidInput

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="model.onnx, graph.json, onnx:light_resnet50 (shipped with onnx) or suite:C2D/3@1 (* globs).",
    ),
]
Target = Annotated[
    str, typer.Option("--target", help="host, a name in the shipped targets, or a JSON file.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", help="Threads of a kernel; default: the physical cores allowed."),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        envvar="AUTOSCHED_DB",
        help="Database URL or SQLite path; default: a file in the user's data directory.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Fixes the whole search.")]
Trials = Annotated[
    int, typer.Option("--trials", help="Candidates to compile and time, over all tasks.")
]
Compiler = Annotated[
    str | None,
    typer.Option("--compiler", help="C compiler; default: the first of gcc, clang, ziglang."),
]
Journal = Annotated[
    Path | None,
    typer.Option(
        "--journal", help="Log what the runner runs to this file, and keep its objects beside it."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="URL", help="Ask this service instead of working here."),
]
ServiceUrl = Annotated[
    str,
    typer.Option("--server", metavar="URL", envvar="AUTOSCHED_SERVER", help="The service to ask."),
]
DEFAULT_SERVER = "http://127.0.0.1:8700"
"""Where `autosched serve` listens if it is not told otherwise."""
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="AUTOSCHED_TOKEN",
        help="As `token create` printed it; the variable keeps it from the list of processes.",
    ),
]
PlainToken = Annotated[
    bool,
    typer.Option(
        "--allow-plain-token", help="Send the token over plain http to another machine, too."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Keeps the server's answers for when it is away; default: in the user's cache directory.",
    ),
]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A directory made by `build`.")]


def written(context: typer.Context, *names: str) -> list[str]:
    """Those of these options that stand on the command line, not in a variable and not by default."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [n for n, s in sources.items() if s is not None and s.name == "COMMANDLINE"]


def refuse(context: typer.Context, *names: str, because: str) -> None:
    """InvalidInput if one of these options was written."""
    found = written(context, *names)
    if found:
        raise InvalidInput(f"--{found[0].replace('_', '-')} {because}")
