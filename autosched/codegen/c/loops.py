"""Counted loops: no loop where the range says one iteration, none of the body where it says none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from autosched.codegen.c.printing import Printing
from autosched.nest.nodes import Body
from autosched.te.integer import Int, minimum


@dataclass(frozen=True)
class Span:
    """`var` over [start, stop); `extent` bounds `stop` by decisions alone, so that ranges stay finite."""

    var: Int
    extent: Int
    start: Int
    stop: Int


@contextmanager
def counted(printing: Printing, span: Span, body: Body = (), *, unroll: int = 1) -> Iterator[bool]:
    """`for (var = start; var < stop; ++var)` with the range of `var` known inside; yields whether anything runs."""
    scope = printing.scope
    start = scope.concrete(span.start)
    stop = scope.concrete(minimum(span.stop, span.extent))
    low, high = scope.interval(start)[0], scope.interval(stop)[1]
    if high <= low:
        yield False
        return
    certain = scope.interval(stop - start)[0] >= 1
    single = high - low == 1
    with scope.bound({span.var: (low, high - 1)}):
        if single and certain:
            yield True
            return
        if single:
            head = f"if ({scope.text(start)} < {scope.text(stop)})"
        else:
            name = scope.name(span.var)
            head = (
                f"for (int64_t {name} = {scope.text(start)}; {name} < {scope.text(stop)}; ++{name})"
            )
            if unroll > 1:
                printing.writer.line(f"UNROLL({unroll})")
        with printing.nested(body, head):
            yield True
