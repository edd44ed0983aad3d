"""Kernels in this process, a workload at a time or a whole plan: what verification runs a model with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autosched.entry.build import compiled
from autosched.entry.machine import Setup
from autosched.entry.winners import Chosen
from autosched.entry.work import plan_of_workloads
from autosched.graph.partition.plan import Plan
from autosched.measure.pool import pool_library
from autosched.runtime.machine import LoadedKernel, Machine
from autosched.runtime.memory import Array
from autosched.runtime.module import Module


class Kernels:
    """The chosen kernels on one machine. Every call packs its constants anew."""

    def __init__(self, chosen: Sequence[Chosen], setup: Setup) -> None:
        artefacts = compiled(chosen, setup)
        self._loaded = {
            c.subject.workload.key: LoadedKernel.from_bytes(a.kernel, a.shared_object)
            for c, a in zip(chosen, artefacts, strict=True)
        }
        self._workloads = {c.subject.workload.key: c.subject.workload for c in chosen}
        library = pool_library(setup.toolchain)
        self._machine = Machine(library, setup.target.threads, list(self._loaded.values()))

    def run(self, workload_key: str, arrays: Sequence[Array]) -> list[Array]:
        """A workload's outputs in its order."""
        plan = plan_of_workloads({"": self._workloads[workload_key]})
        shaped = (
            np.reshape(a, plan.types[n].shape) for n, a in zip(plan.inputs, arrays, strict=True)
        )
        module = Module(plan, self._loaded, self._machine, weights_are_inputs=True)
        outputs = module(*shaped)
        return [outputs[name] for name in plan.outputs]

    def run_plan(self, plan: Plan, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """A plan's outputs by name, run as a built directory runs it."""
        return Module(plan, self._loaded, self._machine)(**inputs)
