"""A built directory: written once, loaded on any machine that can run its code, with no compiler needed there.

    manifest.json       see `manifest`
    kernels/*.c, *.so   one text and one shared object a workload
    constants/N.npy     constants that kernels read as they are
    packed/CALL.N.npy   constants in the layout of the kernel that reads them
    pool.so             the thread pool

Arrays are stored as bytes with their dtype in the manifest; nothing is ever unpickled.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from autosched.errors import InvalidInput
from autosched.graph.partition.plan import Plan
from autosched.measure.pool import pool_library
from autosched.measure.protocol import Artefact
from autosched.runtime.machine import LoadedKernel, Machine
from autosched.runtime.manifest import (
    KernelEntry,
    Manifest,
    kernel_entry,
    kernel_of,
    plan_entries,
    plan_of,
)
from autosched.runtime.memory import Array
from autosched.runtime.module import Module
from autosched.target.compare import obstacles
from autosched.target.detect import detect_target
from autosched.target.target import Target
from autosched.target.toolchain import Toolchain
from autosched.te.dtype import numpy_dtype

MANIFEST = "manifest.json"
POOL = "pool.so"


@dataclass(frozen=True)
class Winner:
    """The kernel of a workload and where it came from."""

    artefact: Artefact
    match: str
    trial: str | None = None
    median_seconds: float | None = None


@dataclass(frozen=True)
class Build:
    """What goes into a directory."""

    name: str
    plan: Plan
    winners: Mapping[str, Winner]
    target: Target
    toolchain: Toolchain
    weights_are_inputs: bool = False


def write_directory(build: Build, directory: Path) -> Manifest:
    """Writes a build; InvalidInput if the directory holds something else or cannot be written."""
    try:
        _make_room(directory)
        manifest = _write(build, directory)
    except OSError as error:
        raise InvalidInput(f"directory {str(directory)!r} cannot be written: {error}") from None
    return manifest


def load_directory(directory: Path, threads: int | None = None) -> Module:
    """The module of a built directory. InvalidInput: no such directory, not one of ours, one that lost files or parts
    of them, or built for a machine whose code this one cannot run, with the fields that differ."""
    manifest = read_manifest(directory)
    built_for = Target(**{**manifest.target, "features": tuple(manifest.target["features"])})
    n_threads = built_for.threads if threads is None else threads
    found = obstacles(built_for, detect_target())
    if found:
        raise InvalidInput(f"{directory} was built for another machine: {'; '.join(found)}")
    if n_threads < 1:
        raise InvalidInput(f"threads {n_threads}: must be at least 1")
    try:
        return _module(directory, manifest, n_threads)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput(f"{directory} is incomplete or damaged: {error}") from error


def _module(directory: Path, manifest: Manifest, threads: int) -> Module:
    kernels = {e.workload_key: _load_kernel(e, directory) for e in manifest.kernels}
    machine = Machine(directory / POOL, threads, list(kernels.values()))
    plan = plan_of(manifest, _read_constants(manifest, directory))
    inputs_packed = manifest.weights_are_inputs
    module = Module(plan, kernels, machine, weights_are_inputs=inputs_packed, packed=True)
    if not inputs_packed:
        _read_packed(module, directory)
    return module


def read_manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"{str(directory)!r} is no built module: {MANIFEST}: {error.strerror}"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{path}: {place or 'document'}: {first['msg']}") from None


def _make_room(directory: Path) -> None:
    """An absent, empty or formerly built directory; anything else is the user's and stays."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MANIFEST).is_file():
            raise InvalidInput(f"directory {str(directory)!r} is not empty and no built module")
        shutil.rmtree(directory)
    for name in ("kernels", "constants", "packed"):
        (directory / name).mkdir(parents=True, exist_ok=True)


def _write(build: Build, directory: Path) -> Manifest:
    entries = []
    for i, (key, winner) in enumerate(build.winners.items()):
        entry = kernel_entry(
            winner.artefact.kernel,
            f"k{i}",
            workload_key=key,
            match=winner.match,
            trial=winner.trial,
            median_us=None if winner.median_seconds is None else winner.median_seconds * 1e6,
        )
        (directory / entry.source).write_text(winner.artefact.kernel.source, encoding="utf-8")
        (directory / entry.object).write_bytes(winner.artefact.shared_object)
        entries.append(entry)
    shutil.copyfile(pool_library(build.toolchain), directory / POOL)
    for i, array in enumerate(build.plan.constants.values()):
        _save(directory / "constants" / f"{i}.npy", array)
    _write_packed(build, entries, directory)
    manifest = Manifest(
        autosched_module=1,
        name=build.name,
        target=asdict(build.target),
        target_key=build.target.key,
        toolchain=asdict(build.toolchain),
        toolchain_key=build.toolchain.key,
        weights_are_inputs=build.weights_are_inputs,
        kernels=entries,
        **plan_entries(build.plan),
        constants=list(build.plan.constants),
    )
    (directory / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    return manifest


def _write_packed(build: Build, entries: Sequence[KernelEntry], directory: Path) -> None:
    """Packs every call's constants by running the kernels' own `prepare`."""
    if build.weights_are_inputs:
        return
    kernels = {e.workload_key: _load_kernel(e, directory) for e in entries}
    machine = Machine(directory / POOL, build.target.threads, list(kernels.values()))
    for path, array in _packed_files(Module(build.plan, kernels, machine), directory):
        _save(path, array)


def _read_packed(module: Module, directory: Path) -> None:
    for path, array in _packed_files(module, directory):
        array[:] = _load(path, "uint8")


def _packed_files(module: Module, directory: Path) -> Iterator[tuple[Path, Array]]:
    """Every packed constant of a module with its file."""
    for i, call in module.packed.items():
        for j, array in enumerate(call):
            yield directory / "packed" / f"{i}.{j}.npy", array


def _load_kernel(entry: KernelEntry, directory: Path) -> LoadedKernel:
    source = (directory / entry.source).read_text(encoding="utf-8")
    return LoadedKernel.from_file(kernel_of(entry, source), directory / entry.object)


def _read_constants(manifest: Manifest, directory: Path) -> dict[str, Array]:
    return {
        name: _load(directory / "constants" / f"{i}.npy", manifest.tensors[name].dtype).reshape(
            manifest.tensors[name].shape
        )
        for i, name in enumerate(manifest.constants)
    }


def _save(path: Path, array: Any) -> None:
    np.save(path, np.ascontiguousarray(array).reshape(-1).view(np.uint8), allow_pickle=False)


def _load(path: Path, dtype: str) -> Array:
    stored: Array = np.load(path, allow_pickle=False)
    return stored.view(numpy_dtype(dtype))
