"""What an operator is: one record, with all that the rest of the system asks of it.

Inputs are given by position, None for one left out. ONNX passes some parameters (a shape, axes, pads) as inputs; they
have to be known when the graph is built, so `static_inputs` names the attribute that such an input's value becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod, sqrt
from operator import index
from typing import Any

import numpy as np

from autosched.errors import InvalidInput
from autosched.te.dtype import DTYPES, is_float, n_bytes
from autosched.te.workload import Tensor

Array = np.ndarray[Any, Any]
Attributes = Mapping[str, Any]

MAX_ELEMENTS = 1 << 40
TOLERANCE_ULPS = 8.0


@dataclass(frozen=True)
class TensorType:
    """Shape and dtype of a tensor of a graph; every dimension is known."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def n_bytes(self) -> int:
        return self.elements * n_bytes(self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


Types = Sequence[TensorType | None]
Tensors = Sequence[Tensor | None]
Arrays = Sequence[Array | None]


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "int": lambda v: index(v.item() if isinstance(v, np.ndarray) else v),
    "float": lambda v: float(np.float32(np.asarray(v).reshape(()))),
    "string": lambda v: v.decode() if isinstance(v, bytes) else str(v),
    "ints": lambda v: tuple(index(x) for x in np.asarray(v).reshape(-1).tolist()),
    "number": lambda v: np.asarray(v).reshape(-1)[0].item(),
    "tensor": np.asarray,
}


@dataclass(frozen=True)
class Attribute:
    """A parameter: its kind, its default (`REQUIRED`, or None for optional), the values it may have (all if empty)."""

    name: str
    kind: str
    default: Any = None
    allowed: tuple[Any, ...] = ()

    def value(self, given: Any) -> Any:
        """The given value converted and checked; the default where None is given."""
        if given is None:
            if self.default is REQUIRED:
                raise InvalidInput(f"attribute {self.name} is required")
            return self.default
        try:
            value = _CONVERSIONS[self.kind](given)
        except (TypeError, ValueError, IndexError):
            raise InvalidInput(
                f"attribute {self.name} is {given!r}, not of kind {self.kind}"
            ) from None
        if self.allowed and value not in self.allowed:
            choices = ", ".join(repr(a) for a in self.allowed)
            raise InvalidInput(f"attribute {self.name} is {value!r}; supported: {choices}")
        return value


@dataclass(frozen=True)
class Sample:
    """One application to test with: float inputs are rounded to the dtype they are given in."""

    label: str
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Operator:
    """One operator. `te` and `reference` take what `infer` accepted, with complete attributes.

    `n_inputs` is the least and the largest number of inputs, static ones included. `reduction_length` is how many
    elements one output element sums.
    """

    name: str
    infer: Callable[[Types, Attributes], tuple[TensorType, ...]]
    te: Callable[[Tensors, Attributes], tuple[Tensor, ...]]
    reference: Callable[[Arrays, Attributes], tuple[Array, ...]]
    samples: Callable[[np.random.Generator], tuple[Sample, ...]]
    attributes: tuple[Attribute, ...] = ()
    n_inputs: tuple[int, float] = (1, 1)
    static_inputs: Mapping[int, str] = field(default_factory=dict)
    reduction_length: Callable[[Types, Attributes], int] = lambda types, attributes: 1

    def complete(self, attributes: Attributes, node: str = "") -> dict[str, Any]:
        """The attributes checked, with defaults; InvalidInput names the node, the value and the rule."""
        known = {a.name: a for a in self.attributes}
        with _naming(node or self.name, self.name):
            for name in attributes:
                if name not in known:
                    rule = f"known: {', '.join(known) or 'none'}"
                    raise InvalidInput(f"unknown attribute {name}; {rule}")
            return {name: a.value(attributes.get(name)) for name, a in known.items()}

    def inferred(
        self, inputs: Types, attributes: Attributes, node: str = ""
    ) -> tuple[TensorType, ...]:
        """Types of the outputs; InvalidInput names the node, the value and the rule."""
        complete = self.complete(attributes, node)
        with _naming(node or self.name, self.name):
            least, most = self.n_inputs
            if not least <= len(inputs) <= most:
                wanted = f"{least}" if least == most else f"{least} to {most}"
                raise InvalidInput(f"{len(inputs)} inputs given, {wanted} wanted")
            missing = [p for p, t in enumerate(inputs[:least]) if t is None]
            if set(missing) - set(self.static_inputs):
                raise InvalidInput(f"input {missing[0]} is missing")
            outputs = self.infer(inputs, complete)
            for output in outputs:
                _check_size(output)
            return outputs


class _naming:  # noqa: N801
    """Puts the node and its operator before the message of an InvalidInput."""

    def __init__(self, node: str, operator: str) -> None:
        self.prefix = node if node == operator else f"{node} ({operator})"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, InvalidInput):
            raise InvalidInput(f"{self.prefix}: {error}") from None


def _check_size(output: TensorType) -> None:
    elements = 1
    for extent in output.shape:
        if extent < 0:
            raise InvalidInput(f"output {output} has a negative dimension")
        elements *= extent
    if elements > MAX_ELEMENTS:
        raise InvalidInput(f"output {output} has {elements} elements, more than {MAX_ELEMENTS}")


def type_of(tensor: Tensor | None) -> TensorType | None:
    return None if tensor is None else TensorType(tensor.static_shape, tensor.dtype)


def array_type(array: Array | None) -> TensorType | None:
    if array is None:
        return None
    names = {np.dtype(d.numpy): name for name, d in DTYPES.items()}
    return TensorType(tuple(array.shape), names[array.dtype])


def given(inputs: Sequence[Any], position: int) -> Any:
    """The input at a position; None where it is left out."""
    return inputs[position] if position < len(inputs) else None


def float_type(value: TensorType) -> TensorType:
    """The type, if it is a float one."""
    if not is_float(value.dtype):
        raise InvalidInput(f"input {value} has to be a float tensor")
    return value


def normalized_axis(axis: int, rank: int, rule: str = "axis") -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise InvalidInput(f"{rule} {axis} is out of range for {rank} dimensions")
    return axis % rank


def relative_tolerance(dtype: str, reduction_length: int) -> float:
    """Error allowed, relative to the root mean square of the expected values: 8 eps sqrt(K); 0 for integers."""
    if not is_float(dtype):
        return 0.0
    eps = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
    return TOLERANCE_ULPS * eps[dtype] * sqrt(max(reduction_length, 1))


UNLIMITED = inf
