"""Checks of whole models against an independent meaning, with kernels given as a callable.

In: a model, its partition, expected tensors or a seed, and `run(workload_key, arrays) -> arrays`. Out: a report of
every comparison. It must not know where kernels come from.
"""
