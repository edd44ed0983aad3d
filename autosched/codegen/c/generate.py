"""A whole kernel: every region as a function, the prelude they need, and the data a caller needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autosched.codegen.c.prelude import Prelude
from autosched.codegen.c.regions import RegionText, Signature, print_region, vector_lanes
from autosched.codegen.c.scope import Scope
from autosched.codegen.c.symbols import open_symbols
from autosched.codegen.c.work import operations
from autosched.codegen.kernel import BufferSpec, Kernel
from autosched.nest.nodes import Buffer, Nest, Region
from autosched.target.target import Target
from autosched.te.integer import Int


def generate_c(nest: Nest, env: Mapping[Int, int], target: Target, name: str) -> Kernel:
    """The C kernel of a nest with the decisions of `env`; symbols that `env` lacks become late-bound arguments.

    Args: nest; env: an int for each decision and size that is fixed now; target: a CPU; name: a C identifier that
    every symbol of the text starts with. Equal arguments give equal text.
    Raises: ValueError where the text needs a number (a lane, a register, a buffer size) and has an open symbol.
    """
    base = re.sub(r"\W", "_", name)
    prelude = Prelude()
    late = open_symbols(nest, env)
    lanes = {r.name: vector_lanes(r, target) for r in (*nest.prepare, *nest.regions)}

    def printed(regions: tuple[Region, ...], letter: str, before: bool) -> list[RegionText]:
        inputs = nest.inputs if before else nest.inputs + nest.packed
        outputs = nest.packed if before else nest.outputs + nest.workspaces
        return [
            print_region(
                region,
                Signature(f"{base}_{letter}{i}", inputs, outputs, late),
                env,
                target,
                prelude,
            )
            for i, region in enumerate(regions)
        ]

    prepare = printed(nest.prepare, "p", before=True)
    regions = printed(nest.regions, "r", before=False)
    room = max(lanes.values(), default=1)
    scope = Scope(env, late)
    definitions = prelude.definitions()
    return Kernel(
        name=base,
        language="c",
        source="".join([*definitions, *(f"\n{r.text}" for r in (*prepare, *regions))]),
        inputs=tuple(_spec(scope, b, 0) for b in nest.inputs),
        outputs=tuple(_spec(scope, b, 0) for b in nest.outputs),
        packed=tuple(_spec(scope, b, room) for b in nest.packed),
        workspaces=tuple(_spec(scope, b, room) for b in nest.workspaces),
        prepare=tuple(r.spec for r in prepare),
        regions=tuple(r.spec for r in regions),
        operations=0 if late else operations(nest, env, lanes),
        symbols=tuple(s.name for s in late),
        definitions=definitions,
    )


def _spec(scope: Scope, buffer: Buffer, room: int) -> BufferSpec:
    """A flat array; our own end in `room` elements that whole vectors may read."""
    elements = scope.upper(buffer.elements, f"the size of {buffer.name}")
    return BufferSpec(buffer.name, buffer.dtype, elements + room)
