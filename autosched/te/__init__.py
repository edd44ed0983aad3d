"""Tensor expressions: what is computed, without saying how.

In: nothing but Python. Out: integer and scalar expressions, stages, workloads with a content key, their canonical form
and their meaning on NumPy arrays. It must not know operators, graphs, loops or machines.
"""
