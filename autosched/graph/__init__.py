"""Operator graphs: what a model computes, brought to one form and cut into workloads.

In: ONNX bytes or `graph.json`. Out: a `Graph` at opset 17, rewritten by `passes`, and its `Partition`: fused workloads
with content keys, their order of execution and the reason of every fusion. It must not know sketches, loops, machines
or databases; kernels reach it only as a callable.
"""
