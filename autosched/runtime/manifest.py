"""The manifest of a built directory: what was built, for which machine, from which trials. Plain JSON both ways."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.graph.graph import TensorType
from autosched.graph.partition.plan import Call, Plan
from autosched.runtime.memory import Array


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BufferEntry(Strict):
    name: str
    dtype: str
    elements: int


class RegionEntry(Strict):
    symbol: str
    tasks: int
    scratch_bytes: int


class KernelEntry(Strict):
    """One kernel: `source` and `object` are files of the directory, `digest` is of the text."""

    workload_key: str
    match: str
    trial: str | None
    median_us: float | None
    source: str
    object: str
    digest: str
    operations: int
    inputs: list[BufferEntry]
    outputs: list[BufferEntry]
    packed: list[BufferEntry]
    workspaces: list[BufferEntry]
    prepare: list[RegionEntry]
    regions: list[RegionEntry]


class TensorEntry(Strict):
    dtype: str
    shape: list[int]


class CallEntry(Strict):
    workload_key: str
    inputs: list[str]
    outputs: list[str]
    nodes: list[str]
    joins: list[str] = []


class Manifest(Strict):
    """`target` has every field of the machine that was built for; `views` map tensors to those whose memory they
    have."""

    autosched_module: Literal[1]
    name: str
    target: dict[str, Any]
    target_key: str
    toolchain: dict[str, Any]
    toolchain_key: str
    inputs: list[str]
    outputs: list[str]
    weights_are_inputs: bool
    tensors: dict[str, TensorEntry]
    views: dict[str, str]
    calls: list[CallEntry]
    kernels: list[KernelEntry]
    constants: list[str]


def kernel_entry(kernel: Kernel, stem: str, **winner: Any) -> KernelEntry:
    """The entry of a kernel whose files are named after `stem`."""
    return KernelEntry(
        source=f"kernels/{stem}.c",
        object=f"kernels/{stem}.so",
        digest=kernel.digest,
        operations=kernel.operations,
        inputs=_buffers(kernel.inputs),
        outputs=_buffers(kernel.outputs),
        packed=_buffers(kernel.packed),
        workspaces=_buffers(kernel.workspaces),
        prepare=_regions(kernel.prepare),
        regions=_regions(kernel.regions),
        **winner,
    )


def kernel_of(entry: KernelEntry, source: str) -> Kernel:
    """The kernel again, with its text."""
    return Kernel(
        name=entry.object,
        language="c",
        source=source,
        inputs=_specs(entry.inputs),
        outputs=_specs(entry.outputs),
        packed=_specs(entry.packed),
        workspaces=_specs(entry.workspaces),
        prepare=_region_specs(entry.prepare),
        regions=_region_specs(entry.regions),
        operations=entry.operations,
    )


def plan_entries(plan: Plan) -> dict[str, Any]:
    """The manifest's fields that say how to run the graph."""
    return {
        "inputs": list(plan.inputs),
        "outputs": list(plan.outputs),
        "tensors": {
            n: TensorEntry(dtype=t.dtype, shape=list(t.shape)) for n, t in plan.types.items()
        },
        "views": dict(plan.views),
        "calls": [
            CallEntry(
                workload_key=c.workload_key,
                inputs=list(c.inputs),
                outputs=list(c.outputs),
                nodes=list(c.nodes),
                joins=list(c.joins),
            )
            for c in plan.calls
        ],
    }


def plan_of(manifest: Manifest, constants: dict[str, Array]) -> Plan:
    """The plan again, with its constants."""
    return Plan(
        inputs=tuple(manifest.inputs),
        outputs=tuple(manifest.outputs),
        calls=tuple(
            Call(c.workload_key, *map(tuple, (c.inputs, c.outputs, c.nodes, c.joins)))
            for c in manifest.calls
        ),
        views=manifest.views,
        types={n: TensorType(tuple(t.shape), t.dtype) for n, t in manifest.tensors.items()},
        constants=constants,
    )


def _buffers(specs: tuple[BufferSpec, ...]) -> list[BufferEntry]:
    return [BufferEntry(name=s.name, dtype=s.dtype, elements=s.elements) for s in specs]


def _regions(specs: tuple[RegionSpec, ...]) -> list[RegionEntry]:
    return [
        RegionEntry(symbol=s.symbol, tasks=s.tasks, scratch_bytes=s.scratch_bytes) for s in specs
    ]


def _specs(entries: list[BufferEntry]) -> tuple[BufferSpec, ...]:
    return tuple(BufferSpec(e.name, e.dtype, e.elements) for e in entries)


def _region_specs(entries: list[RegionEntry]) -> tuple[RegionSpec, ...]:
    return tuple(RegionSpec(e.symbol, e.tasks, e.scratch_bytes) for e in entries)
