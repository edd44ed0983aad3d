"""`autosched run`: a built directory on arrays from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autosched.cli import options
from autosched.cli.output import ERR
from autosched.cli.status import DONE


def run(
    directory: options.Directory,
    input: Annotated[Path, typer.Option("--input", metavar="IN.npz", help="Arrays by input name.")],
    output: Annotated[
        Path, typer.Option("--output", metavar="OUT.npz", help="Arrays by output name.")
    ],
    threads: options.Threads = None,
) -> int:
    """Run a built module on the arrays of an .npz file."""
    import numpy as np

    from autosched.entry.load import load
    from autosched.errors import InvalidInput

    module = load(directory, threads=threads)
    try:
        with np.load(input, allow_pickle=False) as arrays:
            given = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"input {str(input)!r} cannot be read: {error}") from None
    results = module(**given)
    try:
        np.savez(output, allow_pickle=False, **results)
    except OSError as error:
        raise InvalidInput(f"output {str(output)!r} cannot be written: {error.strerror}") from None
    ERR.print(
        f"{output}: {', '.join(f'{n} {a.dtype}{list(a.shape)}' for n, a in results.items())}",
        markup=False,
    )
    return DONE
