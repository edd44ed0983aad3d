"""`autosched ops`: the supported operators, and the JSON Schema of graph.json."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from autosched.cli.output import OUT
from autosched.cli.status import DONE


def ops(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of graph.json.")
    ] = False,
) -> int:
    """List the ONNX operators (opset 17) that graphs may hold."""
    from autosched.graph.importers.json import json_schema, operator_names

    if schema:
        print(json.dumps(json_schema(), indent=2))
        return DONE
    for name in operator_names():
        OUT.print(name)
    return DONE
