"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A directory made by `build`.")]
