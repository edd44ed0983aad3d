"""What a caller hands to a module, checked: inputs as arrays, and arrays for the outputs to be written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import TensorType
from autosched.graph.partition.plan import Plan
from autosched.runtime.memory import Array
from autosched.te.dtype import numpy_dtype


def by_name(plan: Plan, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by name, of those given in the graph's order and those given by name."""
    if len(arrays) > len(plan.inputs):
        raise InvalidInput(
            f"{len(arrays)} inputs given, the graph has {len(plan.inputs)}: {', '.join(plan.inputs)}"
        )
    given = dict(zip(plan.inputs, arrays, strict=False))
    twice = sorted(given.keys() & named.keys())
    if twice:
        raise InvalidInput(f"input {twice[0]!r} is given twice, by position and by name")
    return {**given, **named}


def checked_inputs(plan: Plan, given: Mapping[str, Any]) -> dict[str, Array]:
    """Every input as a contiguous array, the caller's own where it is one. InvalidInput names one that is missing,
    unknown, or of another shape or dtype."""
    _refuse_unknown("input", given, plan.inputs)
    return {name: _input(name, plan.types[name], given) for name in plan.inputs}


def checked_outputs(
    plan: Plan, out: Mapping[str, Array], inputs: Mapping[str, Array]
) -> Mapping[str, Array]:
    """Arrays for some of the outputs. InvalidInput names one that is unknown, of another shape or dtype, not
    contiguous, read-only, or in the memory of an input or of another."""
    _refuse_unknown("output", out, plan.outputs)
    others = {f"input {name!r}": array for name, array in inputs.items()}
    for name, array in out.items():
        _check_output(name, plan.types[name], array)
        for other, memory in others.items():
            if np.may_share_memory(array, memory):
                raise InvalidInput(f"output {name!r} has the memory of {other}: must be apart")
        others[f"output {name!r}"] = array
    return out


def as_array(value: Any) -> Array:
    """A NumPy view of an array of any library, by `__array_interface__` or DLPack."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__array_interface__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _input(name: str, kind: TensorType, given: Mapping[str, Any]) -> Array:
    if name not in given:
        raise InvalidInput(f"input {name!r} ({kind}) is missing")
    try:
        array = as_array(given[name])
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"input {name!r} ({kind}) cannot be read as an array: {error}"
        ) from error
    _check_kind(f"input {name!r}", kind, array)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.require(array, requirements=("C", "A"))


def _check_output(name: str, kind: TensorType, array: Array) -> None:
    what = f"output {name!r}"
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{what} is a {type(array).__name__}: must be a NumPy array")
    _check_kind(what, kind, array)
    if not (array.flags.c_contiguous and array.flags.aligned and array.flags.writeable):
        raise InvalidInput(f"{what} must be contiguous, aligned and writable")


def _check_kind(what: str, kind: TensorType, array: Array) -> None:
    if array.shape != kind.shape or array.dtype != numpy_dtype(kind.dtype):
        raise InvalidInput(f"{what} is {array.dtype}{list(array.shape)}, the graph needs {kind}")


def _refuse_unknown(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    strange = sorted(set(given) - set(known))
    if strange:
        raise InvalidInput(f"{what} {strange[0]!r}: the graph has {', '.join(known)}")
