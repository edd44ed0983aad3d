"""Older (and newer) forms of ONNX operators -> opset 17, as two tables of moved parameters and a few rewrites.

Clip(x) {min, max}        (below 11)  ->  Clip(x, min, max)
Softmax(x) {axis}         (below 13)  ->  Reshape(Softmax(Flatten(x) {axis}) {-1}, Shape(x)): it worked on two dimensions
Dropout(x)                            ->  Identity(x): a graph is run for inference
ReduceMean(x, axes)       (from 18)   ->  ReduceMean(x) {axes}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from autosched.errors import InvalidInput
from autosched.graph.graph import Array, Draft, Node
from autosched.graph.structure import describe

NEWEST_OPSET = 28

ATTRIBUTES_TO_INPUTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "Clip": (11, ("min", "max")),
    "Pad": (11, ("pads", "value")),
    "Reshape": (5, ("shape",)),
    "ReduceSum": (13, ("axes",)),
    "Slice": (10, ("starts", "ends", "axes")),
    "Split": (13, ("split",)),
    "Squeeze": (13, ("axes",)),
    "Unsqueeze": (13, ("axes",)),
}
"""Operator -> (first opset where these attributes are inputs 1, 2, ..., their names in that order)."""

INPUTS_TO_ATTRIBUTES: Mapping[str, tuple[int, tuple[str, ...]]] = dict.fromkeys(
    (
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSumSquare",
    ),
    (18, ("axes",)),
)
"""Operator -> (first opset where these attributes became inputs 1, 2, ..., their names)."""

DROPPED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "BatchNormalization": ("is_test", "momentum", "spatial", "consumed_inputs", "training_mode"),
    "Reshape": ("consumed_inputs",),
}
FLOAT_PARAMETERS = ("min", "max", "value")


@dataclass(frozen=True)
class Raised:
    """What one node becomes: nodes and new constants."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Array] = field(default_factory=dict)


def raise_opset(draft: Draft) -> Draft:
    """The draft with every ONNX operator in its opset-17 form."""
    version = _version(draft)
    if not 1 <= version <= NEWEST_OPSET:
        raise InvalidInput(f"the model uses ONNX opset {version}: 1 to {NEWEST_OPSET} are known")
    nodes: list[Node] = []
    constants = dict(draft.constants)
    for node in draft.nodes:
        raised = _raised(node, draft)
        nodes.extend(raised.nodes)
        for name, array in raised.constants.items():
            if name in constants:
                raise InvalidInput(f"tensor {name!r} is made twice: one producer is allowed")
            constants[name] = array
    return replace(draft, nodes=tuple(nodes), constants=constants)


def _version(draft: Draft) -> int:
    return draft.versions[""]


def _raised(node: Node, draft: Draft) -> Raised:
    if node.domain:
        return Raised((node,))
    _check_operands(node)
    rewrite = REWRITES.get(node.op)
    if rewrite is not None and _version(draft) < rewrite[0]:
        return rewrite[1](node, draft)
    node = _with_output_count(_without_dropped(node))
    moved = ATTRIBUTES_TO_INPUTS.get(node.op)
    if moved is not None and _version(draft) < moved[0]:
        return _attributes_to_inputs(node, moved[1])
    moved = INPUTS_TO_ATTRIBUTES.get(node.op)
    if moved is not None and _version(draft) >= moved[0]:
        return _inputs_to_attributes(node, moved[1], draft)
    return Raised((node,))


def _check_operands(node: Node) -> None:
    """What is moved or rewritten below has a first output, and a first input unless it is a constant."""
    if not node.makes:
        raise InvalidInput(f"{describe(node)} makes no tensor: at least one output is needed")
    changed = node.op in (*ATTRIBUTES_TO_INPUTS, *INPUTS_TO_ATTRIBUTES, *REWRITES)
    if changed and node.op != "Constant" and not (node.inputs and node.inputs[0]):
        raise InvalidInput(f"{describe(node)} has no first input: it works on one")


def _without_dropped(node: Node) -> Node:
    dropped = DROPPED_ATTRIBUTES.get(node.op, ())
    return replace(node, attributes={k: v for k, v in node.attributes.items() if k not in dropped})


def _with_output_count(node: Node) -> Node:
    """Split(x) without sizes -> Split(x) {num_outputs}: how many equal parts, which opset 17 leaves to be counted."""
    if node.op != "Split" or len(node.inputs) > 1 or "split" in node.attributes:
        return node
    return replace(node, attributes={**node.attributes, "num_outputs": len(node.outputs)})


def _attributes_to_inputs(node: Node, names: tuple[str, ...]) -> Raised:
    """The attributes named become constant inputs 1, 2, ...; a missing one becomes an absent input."""
    constants: dict[str, Array] = {}
    inputs = [node.inputs[0]]
    for name in names:
        tensor = ""
        if name in node.attributes:
            tensor = f"{node.outputs[0]}/{name}"
            dtype = np.float32 if name in FLOAT_PARAMETERS else np.int64
            constants[tensor] = np.asarray(node.attributes[name], dtype)
        inputs.append(tensor)
    while inputs[-1] == "":
        inputs.pop()
    rest = {k: v for k, v in node.attributes.items() if k not in names}
    return Raised((replace(node, inputs=tuple(inputs), attributes=rest),), constants)


def _inputs_to_attributes(node: Node, names: tuple[str, ...], draft: Draft) -> Raised:
    attributes = dict(node.attributes)
    for position, name in enumerate(names, start=1):
        if position < len(node.inputs) and node.inputs[position]:
            attributes[name] = _constant(node, node.inputs[position], name, draft)
    if attributes.pop("noop_with_empty_axes", 0) and not attributes.get("axes"):
        return Raised((replace(node, op="Identity", inputs=node.inputs[:1], attributes={}),))
    if not attributes.get("axes", True):
        del attributes["axes"]
    return Raised((replace(node, inputs=node.inputs[:1], attributes=attributes),))


def _constant(node: Node, tensor: str, name: str, draft: Draft) -> tuple[int, ...]:
    array = draft.constants.get(tensor)
    if array is None:
        for other in draft.nodes:
            if other.op == "Constant" and tensor in other.outputs:
                array = constant_value(other)
    if array is None:
        raise InvalidInput(f"{describe(node)}: {name} is tensor {tensor!r}, which must be constant")
    return tuple(int(v) for v in np.asarray(array).ravel())


def constant_value(node: Node) -> Array:
    """The array of a `Constant` node."""
    for name, dtype in (("value", None), ("value_int", np.int64), ("value_ints", np.int64)):
        if name in node.attributes:
            return np.asarray(node.attributes[name], dtype)
    for name in ("value_float", "value_floats"):
        if name in node.attributes:
            return np.asarray(node.attributes[name], np.float32)
    raise InvalidInput(
        f"{describe(node)} holds {sorted(node.attributes)}: a dense tensor is needed"
    )


def _two_dimensional(node: Node, draft: Draft) -> Raised:
    """Softmax below opset 13 flattens to two dimensions at `axis` (default 1) and works along the second."""
    x, y = node.inputs[0], node.outputs[0]
    flat, done, shape = f"{y}/flat", f"{y}/flat_{node.op.lower()}", f"{y}/shape"
    return Raised(
        (
            Node(
                f"{node.name}/flatten",
                "Flatten",
                (x,),
                (flat,),
                {"axis": node.attributes.get("axis", 1)},
            ),
            replace(node, inputs=(flat,), outputs=(done,), attributes={"axis": -1}),
            Node(f"{node.name}/shape", "Shape", (x,), (shape,)),
            Node(f"{node.name}/reshape", "Reshape", (done, shape), (y,)),
        )
    )


def _inference_dropout(node: Node, draft: Draft) -> Raised:
    """Dropout(x) -> Identity(x). The mask must be unused: it has no meaning in inference."""
    training = node.inputs[2] if len(node.inputs) > 2 else ""
    if training and any(_constant(node, training, "training_mode", draft)):
        raise InvalidInput(f"{describe(node)} has training_mode 1: a graph is run for inference")
    mask = node.outputs[1] if len(node.outputs) > 1 else ""
    if mask and (mask in draft.outputs or any(mask in n.reads for n in draft.nodes)):
        raise InvalidInput(
            f"{describe(node)}: the mask {mask!r} is used; only its first output is known"
        )
    return Raised((Node(node.name, "Identity", node.inputs[:1], node.outputs[:1]),))


def _inference_batch_norm(node: Node, draft: Draft) -> Raised:
    """BatchNormalization -> its inference form with one output."""
    if node.attributes.get("spatial", 1) != 1:
        raise InvalidInput(f"{describe(node)} has spatial 0: statistics are per channel")
    if node.attributes.get("training_mode", 0):
        raise InvalidInput(f"{describe(node)} has training_mode 1: a graph is run for inference")
    return Raised((replace(_without_dropped(node), outputs=node.outputs[:1]),))


def _broadcast_by_axis(node: Node, draft: Draft) -> Raised:
    """Add(a, b) {broadcast, axis} below opset 7 aligned b at `axis` of a; equal trailing alignment is kept."""
    if "axis" in node.attributes:
        raise InvalidInput(
            f"{describe(node)} broadcasts at an axis, the form of opset 6: convert the model to 7 or later"
        )
    return Raised((replace(node, attributes={}),))


def _constant_node(node: Node, draft: Draft) -> Raised:
    """Constant {value} -> a constant of the graph."""
    return Raised((), {node.outputs[0]: constant_value(node)})


ANY = NEWEST_OPSET + 1
REWRITES: Mapping[str, tuple[int, Callable[[Node, Draft], Raised]]] = {
    "BatchNormalization": (ANY, _inference_batch_norm),
    "Constant": (ANY, _constant_node),
    "Dropout": (ANY, _inference_dropout),
    "LogSoftmax": (13, _two_dimensional),
    "Softmax": (13, _two_dimensional),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow"), (7, _broadcast_by_axis)),
}
"""Operator -> (first opset that needs no rewrite, the rewrite)."""
