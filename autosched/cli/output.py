"""How results look on a terminal: units, tables, one line for an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autosched.cli.streams import open_closed_streams
from autosched.plain import shown, shown_json

FILE_WIDTH = 160
"""Columns of a table that is written to a file or a pipe."""

open_closed_streams()


class PlainConsole(Console):
    """What others wrote (a server, a file, a compiler) shows itself and does nothing: a terminal obeys what it is sent."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(shown(text), **options)


OUT = PlainConsole(
    highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH
)
ERR = PlainConsole(stderr=True, highlight=False, soft_wrap=True)


def print_json(document: BaseModel) -> None:
    """One JSON object on stdout, nothing else."""
    print(shown_json(document.model_dump_json(indent=2)))


def print_error(message: str) -> None:
    """An error as plain text: what a user wrote is never read as markup."""
    ERR.print(f"error: {message}", markup=False)


def say_untuned(source: str, matches: Sequence[str], server: str | None = None) -> None:
    """On stderr, where workloads have no tuned kernel, how to have one."""
    missing = sum(m == "default" for m in matches)
    place, option = ("here", "") if server is None else ("there", f" --server {server}")
    if missing:
        ERR.print(
            f"{missing} of {counted(len(matches), 'workload')} have no tuned kernel {place} and take the default "
            f"schedule: autosched tune {source} --trials N{option} finds faster ones",
            markup=False,
        )


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> Table:
    """A table whose first column and `texts` are words and whose others are numbers; `whole` ones are never broken."""
    made = Table(title=title, title_justify="left", pad_edge=False)
    for i, column in enumerate(columns):
        is_text = i == 0 or column in texts
        made.add_column(
            column,
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=column in whole,
            min_width=max((len(r[i]) for r in rows), default=0) if column in whole else None,
        )
    for row in rows:
        made.add_row(*(_plain(cell) for cell in row))
    return made


def say_empty(rows: Sequence[object], noun: str) -> None:
    """On stderr, that a list has nothing in it: "no jobs"."""
    if not rows:
        ERR.print(f"no {noun}s", markup=False)


def ended_text(state: str, why: str | None) -> str:
    """failed (no_valid_candidate); a reason that says the same again is left out."""
    return f"{state} ({why})" if why and why != state else state


def _plain(cell: str) -> str:
    return cell.replace("[", r"\[")


def counted(n: int, noun: str) -> str:
    """1 kernel, 2 kernels."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def time_text(seconds: float | None) -> str:
    """1.23 ms, 456 us; a dash for none."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def moment_text(moment: datetime | None) -> str:
    """2026-01-31 12:00:00 UTC; nothing for none. In UTC, as every time of the service is."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def ratio_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def share_text(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
