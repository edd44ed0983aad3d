"""A whole graph, ready to run: static arrays for every tensor, kernels called one after another from Python.

module(x) or module(input_name=x) returns the outputs by name. One call at a time; calls from several threads wait for
one another.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.partition.plan import Plan
from autosched.runtime.bound import BoundKernel, LoadedKernel, Machine
from autosched.runtime.memory import Array, aligned_array
from autosched.te.dtype import numpy_dtype


class Module:
    """Kernels bound to the tensors of a plan. `packed` holds, for each call in order, constants packed earlier.
    `weights_are_inputs`: constants without data were made graph inputs, so they are packed anew at every call."""

    def __init__(
        self,
        plan: Plan,
        kernels: Mapping[str, LoadedKernel],
        machine: Machine,
        packed: Sequence[Sequence[Array]] | None = None,
        *,
        weights_are_inputs: bool = False,
    ) -> None:
        self.plan = plan
        self._weights_are_inputs = weights_are_inputs
        self._lock = threading.Lock()
        self._tensors: dict[str, Array] = {}
        for name in (*plan.inputs, *(n for call in plan.calls for n in call.outputs)):
            kind = plan.types[name]
            self._tensors.setdefault(name, aligned_array(kind.elements, kind.dtype))
        for name, array in plan.constants.items():
            self._tensors[name] = np.ascontiguousarray(array).reshape(-1)
        self.calls = [
            BoundKernel(
                kernels[call.workload_key],
                machine,
                [self._memory(n) for n in call.inputs],
                [self._memory(n) for n in call.outputs],
                None if packed is None else packed[i],
            )
            for i, call in enumerate(plan.calls)
        ]

    def __call__(self, *arrays: Any, **named: Any) -> dict[str, Array]:
        """The outputs by name. Arrays are anything with `__array_interface__` or DLPack, in the graph's order or by
        name; InvalidInput names one that is missing or of another shape or dtype."""
        if len(arrays) > len(self.plan.inputs):
            raise InvalidInput(
                f"{len(arrays)} inputs given, the graph has {len(self.plan.inputs)}: {', '.join(self.plan.inputs)}"
            )
        given = {**dict(zip(self.plan.inputs, arrays, strict=False)), **named}
        with self._lock:
            self.set_inputs(given)
            self.run()
            return {name: self.tensor(name).copy() for name in self.plan.outputs}

    def set_inputs(self, given: Mapping[str, Any]) -> None:
        """Copies the inputs in; every one must be given."""
        strange = sorted(set(given) - set(self.plan.inputs))
        if strange:
            raise InvalidInput(f"input {strange[0]!r}: the graph has {', '.join(self.plan.inputs)}")
        for name in self.plan.inputs:
            self._tensors[name][: self.plan.types[name].elements] = self._checked(name, given)
        if self._weights_are_inputs:
            for call in self.calls:
                call.prepare()

    def run(self) -> None:
        """Every kernel in order, on the inputs as they are."""
        for call in self.calls:
            call.run()

    def tensor(self, name: str) -> Array:
        """A tensor in its own shape; shares memory with the module."""
        kind = self.plan.types[name]
        return self._memory(name)[: kind.elements].reshape(kind.shape)

    def _memory(self, name: str) -> Array:
        return self._tensors[self.plan.root(name)]

    def _checked(self, name: str, given: Mapping[str, Any]) -> Array:
        kind = self.plan.types[name]
        if name not in given:
            raise InvalidInput(f"input {name!r} ({kind}) is missing")
        array = as_array(given[name])
        if array.shape != kind.shape or array.dtype != numpy_dtype(kind.dtype):
            raise InvalidInput(
                f"input {name!r} is {array.dtype}{list(array.shape)}, the graph needs {kind}"
            )
        return array.reshape(-1)


def as_array(value: Any) -> Array:
    """A NumPy view of an array of any library, by `__array_interface__` or DLPack."""
    if hasattr(value, "__array_interface__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)
