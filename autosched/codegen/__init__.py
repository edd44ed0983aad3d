"""Nest and integers to text: C for CPUs, CUDA for GPUs.

In: a nest and a value for each decision. Out: a `Kernel`, text with its calling data. It must not choose anything: what
the text does is what the nest says.
"""
