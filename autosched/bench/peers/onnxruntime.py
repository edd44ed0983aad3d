"""ONNX Runtime: a one-operator model or the user's own, with inputs and outputs bound once."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from autosched.bench.form import (
    Convolution,
    Form,
    MatrixProduct,
    Norm,
    Scores,
    Softmax,
    random_array,
)
from autosched.bench.subject import CaseSubject, ModelSubject, Prepared, Subject

OPSET = 17


def prepare(subject: Subject, threads: int) -> Prepared | None:
    """A bound session with all optimizations on."""
    if isinstance(subject, ModelSubject):
        return Prepared(run=_bound(onnx.load(subject.path), threads))
    if isinstance(subject, CaseSubject):
        return Prepared(run=_bound(model_of(subject.form), threads))
    return None


def _bound(model: onnx.ModelProto, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for seed, given in enumerate(session.get_inputs()):
        array = random_array(tuple(given.shape), seed)
        if given.type != "tensor(float)":
            array = np.zeros(given.shape, _NUMPY_TYPES[given.type])
        binding.bind_ortvalue_input(given.name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    session.run_with_iobinding(_with_device_outputs(binding, session))
    for made, value in zip(session.get_outputs(), binding.get_outputs(), strict=True):
        binding.bind_ortvalue_output(made.name, value)
    return lambda: session.run_with_iobinding(binding)


_NUMPY_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(double)": np.float64}


def _with_device_outputs(binding: Any, session: Any) -> Any:
    """The first run makes the output arrays; later ones write into them."""
    for made in session.get_outputs():
        binding.bind_output(made.name)
    return binding


def model_of(form: Form) -> onnx.ModelProto:
    """A model whose weights are constants and whose data are inputs."""
    match form:
        case Convolution():
            return _convolution(form)
        case MatrixProduct(left=left, right=right):
            return _model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": left, "b": right})
        case Norm(data=data):
            axes = list(range(1, len(data)))
            node = helper.make_node("ReduceL2", ["x"], ["y"], axes=axes, keepdims=0)
            return _model([node], {"x": data})
        case Softmax(data=data):
            return _model([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], {"x": data})
        case Scores(operand=operand):
            nodes = [
                helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 1, 3]),
                helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
                helper.make_node("MatMul", ["qt", "kt"], ["s"]),
                helper.make_node("Softmax", ["s"], ["y"], axis=-1),
            ]
            return _model(nodes, {"q": operand, "k": operand})


def _convolution(form: Convolution) -> onnx.ModelProto:
    rank = len(form.data) - 2
    attributes: dict[str, Any] = {
        "strides": [form.stride] * rank,
        "pads": [form.padding] * (2 * rank),
        "dilations": [form.dilation] * rank,
        "group": form.groups,
    }
    op = "ConvTranspose" if form.transposed else "Conv"
    constants = {"w": random_array(form.weight, 7)}
    inputs = ["x", "w"]
    if form.bias_and_relu:
        constants["b"] = random_array((form.weight[0],), 8)
        inputs.append("b")
    nodes = [helper.make_node(op, inputs, ["c" if form.bias_and_relu else "y"], **attributes)]
    if form.bias_and_relu:
        nodes.append(helper.make_node("Relu", ["c"], ["y"]))
    return _model(nodes, {"x": form.data}, constants)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, ...]],
    constants: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
