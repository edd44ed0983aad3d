"""A whole graph, ready to run: one call into C for all of its kernels, on the caller's own arrays.

    outputs = module(x)                       # or module(input_name=x): fresh arrays by name
    module.into({"y": array}, x)              # writes to arrays of the caller's
    module.bind({"input_name": x}); module.run(); module.run()      # checked once, run many times

One run at a time; calls from several threads wait for one another.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence, Set
from typing import Any

from autosched.graph.partition.plan import Plan
from autosched.runtime.arguments import by_name, checked_inputs, checked_outputs
from autosched.runtime.machine import LoadedKernel, Machine
from autosched.runtime.memory import Array, Fresh, address
from autosched.runtime.program import Program


class Module:
    """Kernels bound to the tensors of a plan. `packed`: the caller fills in constants packed earlier.
    `weights_are_inputs`: constants without data were made graph inputs, so they are packed anew whenever inputs are
    bound."""

    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[str, LoadedKernel],
        machine: Machine,
        *,
        weights_are_inputs: bool = False,
        packed: bool = False,
    ) -> None:
        self.plan = plan
        self._machine = machine
        self._program = Program(plan, kernels)
        self._weights_are_inputs = weights_are_inputs
        self._fresh = {n: Fresh(plan.types[n].shape, plan.types[n].dtype) for n in plan.outputs}
        self._made, self._copied = _ways_out(plan, self._program.outside)
        self._lock = threading.Lock()
        self._kept: tuple[Mapping[str, Array], ...] = ()
        self._copies: list[tuple[Array, Array]] = []
        if not packed and not weights_are_inputs:
            machine.run(self._program.prepare)

    def __repr__(self) -> str:
        def typed(names: Sequence[str]) -> str:
            return ", ".join(f"{n}: {self.plan.types[n]}" for n in names)

        return f"<module ({typed(self.plan.inputs)}) -> ({typed(self.plan.outputs)})>"

    @property
    def packed(self) -> dict[int, list[Array]]:
        """The packed constants of each call that is run, by its number in the plan, as bytes that share memory with
        the module."""
        return self._program.packed

    def __call__(self, /, *arrays: Any, **named: Any) -> dict[str, Array]:
        """The outputs by name. Arrays are anything with `__array_interface__` or DLPack, in the graph's order or by
        name; InvalidInput names one that is missing or of another shape or dtype."""
        return self.into({}, *arrays, **named)

    def into(self, out: Mapping[str, Array], /, *arrays: Any, **named: Any) -> dict[str, Array]:
        """The same, the outputs named in `out` written to its arrays: contiguous ones of the graph's shapes and dtypes
        that share no memory with an input or with one another."""
        given = by_name(self.plan, arrays, named)
        with self._lock:
            try:
                outputs = self._bind(given, out)
                self._run()
            finally:
                self._kept = ()
            return outputs

    def bind(
        self, inputs: Mapping[str, Any], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Sets the arrays that `run` reads and writes until the next `bind` or call; returns those of the outputs."""
        with self._lock:
            return self._bind(inputs, out or {})

    def run(self) -> None:
        """Every kernel in order, on the arrays that were bound."""
        with self._lock:
            if not self._kept:
                raise RuntimeError("run without bind")
            self._run()

    def _run(self) -> None:
        self._machine.run(self._program.regions)
        for target, source in self._copies:
            target[...] = source

    def _bind(self, given: Mapping[str, Any], out: Mapping[str, Array]) -> dict[str, Array]:
        inputs = checked_inputs(self.plan, given)
        checked_outputs(self.plan, out, inputs)
        outputs = {n: out[n] if n in out else fresh.array() for n, fresh in self._fresh.items()}
        for name, array in inputs.items():
            self._program.point(name, address(array))
        for root, name in self._made.items():
            self._program.point(root, address(outputs[name]))
        self._copies = [
            (outputs[name], self._source(root, inputs, outputs).reshape(outputs[name].shape))
            for name, root in self._copied
        ]
        self._kept = (inputs, outputs)
        if self._weights_are_inputs:
            self._machine.run(self._program.prepare)
        return outputs

    def _source(
        self, root: str, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Array:
        if root in self._made:
            return outputs[self._made[root]]
        return inputs[root] if root in inputs else self.plan.constants[root]


def _ways_out(plan: Plan, outside: Set[str]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Tensors whose memory is an output's -> that output; and (output, tensor) where it has the memory of an input, of
    a constant or of another output, to be copied after the run. Empty ones are neither."""
    made: dict[str, str] = {}
    copied: list[tuple[str, str]] = []
    for name in plan.outputs:
        root = plan.root(name)
        if root in plan.inputs or root in plan.constants or root in made:
            copied.append((name, root))
        elif root in outside:
            made[root] = name
    return made, copied
