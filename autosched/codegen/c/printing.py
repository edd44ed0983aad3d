"""The state of printing one region: where text goes, what is known, what has been loaded already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from autosched.codegen.c.prelude import ELEMENTS, Prelude
from autosched.codegen.c.registers import RegisterBuffer, RegisterUse, written
from autosched.codegen.c.scope import Scope
from autosched.codegen.c.writer import Writer
from autosched.nest.nodes import Body, Buffer, walk
from autosched.te.integer import Int

LoadKey = tuple[Buffer, str, int, int, int | None]


@dataclass
class Printing:
    """`lanes` is the number of elements in one vector; `pointers` names the base of every buffer in memory; `rows`
    names pointers into them; `in_tail` says that the text at hand runs at the end of an axis only."""

    writer: Writer
    scope: Scope
    prelude: Prelude
    lanes: int
    uses: dict[Buffer, RegisterUse]
    pointers: dict[Buffer, str] = field(default_factory=dict)
    registers: dict[Buffer, RegisterBuffer] = field(default_factory=dict)
    read_only: set[Buffer] = field(default_factory=set)
    rows: dict[tuple[str, str], str] = field(default_factory=dict)
    loaded: dict[LoadKey, str] = field(default_factory=dict)
    in_tail: bool = False
    scratch_top: int = 0
    scratch_bytes: int = 0
    _strides: dict[Buffer, tuple[Int, ...]] = field(default_factory=dict)
    _changes: dict[Body, set[Buffer]] = field(default_factory=dict)

    def strides(self, buffer: Buffer) -> tuple[Int, ...]:
        found = self._strides.get(buffer)
        if found is None:
            found = tuple(self.scope.concrete(s) for s in buffer.strides)
            self._strides[buffer] = found
        return found

    def elements(self, buffer: Buffer) -> int:
        """Elements of memory for a buffer; our own buffers end in room for one more vector, to load whole ones."""
        exact = self.scope.upper(buffer.elements, f"the size of {buffer.name}")
        return exact if is_external(buffer) else exact + self.lanes

    def row(self, buffer: Buffer, base: str) -> str:
        """A pointer to the element at `base` of a buffer, named where it is first asked for and known to the end of
        that C block."""
        key = self.pointers[buffer], base
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = self.writer.row()
            qualifier = "const " if buffer in self.read_only else ""
            element = ELEMENTS[buffer.dtype].stored
            self.writer.line(f"{qualifier}{element} *{found} = {key[0]} + {base};")
        return found

    def stored_to(self, buffer: Buffer) -> None:
        """What was loaded from a buffer is stale."""
        for key in [k for k in self.loaded if k[0] is buffer]:
            del self.loaded[key]

    def _written(self, body: Body) -> set[Buffer]:
        """Every buffer that a body writes."""
        found = self._changes.get(body)
        if found is None:
            found = {b for node in walk(body) for b in written(node)}
            self._changes[body] = found
        return found

    @contextmanager
    def nested(self, body: Body, head: str = "") -> Iterator[None]:
        """A C block: loads made inside are unknown outside, those from buffers the body writes unknown inside."""
        changed = self._written(body)
        outside = {k: v for k, v in self.loaded.items() if k[0] not in changed}
        self.loaded = dict(outside)
        rows = dict(self.rows)
        top = self.scratch_top
        with self.writer.block(head):
            yield
        self.scratch_top = top
        self.loaded = outside
        self.rows = rows


def is_external(buffer: Buffer) -> bool:
    """Whether the caller owns the memory: nothing past the last element may be touched."""
    return buffer.role in ("input", "output")
