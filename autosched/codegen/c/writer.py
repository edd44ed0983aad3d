"""Lines of C with indentation, and slots: places whose lines are known only later (declarations)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Slot:
    """A place in the text; lines added to it appear there, at its indentation."""

    indent: str
    lines: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)


class Writer:
    """Collects text in order; temporaries are numbered in order of appearance, so equal input gives equal text."""

    def __init__(self) -> None:
        self._parts: list[str | Slot] = []
        self._indent = ""
        self._temporaries = 0
        self._rows = 0

    def line(self, text: str) -> None:
        self._parts.append(self._indent + text)

    def slot(self) -> Slot:
        slot = Slot(self._indent)
        self._parts.append(slot)
        return slot

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def row(self) -> str:
        """The name of a pointer into a buffer."""
        self._rows += 1
        return f"a{self._rows}"

    @contextmanager
    def block(self, head: str = "") -> Iterator[None]:
        """`head {` ... `}`"""
        self.line(f"{head} {{" if head else "{")
        self._indent += "  "
        yield
        self._indent = self._indent[:-2]
        self.line("}")

    def text(self) -> str:
        lines: list[str] = []
        for part in self._parts:
            if isinstance(part, Slot):
                lines.extend(part.lines)
            else:
                lines.append(part)
        return "\n".join(lines) + "\n"
