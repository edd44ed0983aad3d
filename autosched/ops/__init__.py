"""Operators: one record each, with attributes, inference, meaning in te, NumPy reference and samples.

In: te alone. Out: `OPS`, the ONNX operators at opset 17 by name, and the named cases of the shipped suite. It must not
know graphs, loops or machines.
"""
