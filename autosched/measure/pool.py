"""The C thread pool from Python: compiled once per toolchain, kept by digest, called through ctypes.

How to use it, in measuring as in the runtime:

    library = load_pool_library(pool_library(toolchain))        # a ctypes.CDLL
    pool = Pool(library, threads=2, cpus=(0, 1))                # workers pinned; the caller pins itself
    plan = Plan(module, kernel.regions, in_addresses, out_addresses)   # module: CDLL of the kernel's shared object
    pool.run(plan, scratch_addresses)                           # one 64-byte aligned address a thread

`in_addresses` are the kernel's inputs and then its packed buffers, `out_addresses` its outputs and then its
workspaces; for the `prepare` regions they are the inputs and the packed buffers (see `codegen.kernel`). A plan holds
addresses, not arrays: keep the arrays alive. A C module links `native/pool.c` itself; the files are package data.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from autosched.codegen.kernel import RegionSpec
from autosched.errors import AutoschedError
from autosched.measure.janitor import fresh_tag, scrubbed_environment
from autosched.target.toolchain import Toolchain, compiler_environment

SPIN_SECONDS = 50e-6
"""How long a thread spins after a run before it sleeps: longer than the gap between two calls in a loop, far shorter
than what a user would notice as a busy core."""

SOURCES = ("pool.c", "watch.c")
HEADERS = ("pool.h",)
COMPILE_SECONDS = 120.0


class PoolError(AutoschedError):
    """The pool could not be compiled or started."""


class _Region(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("tasks", ctypes.c_int64),
    )


class Regions:
    """Regions bound to addresses, ready to run any number of times."""

    def __init__(self, entries: Sequence[_Region]) -> None:
        self.count = len(entries)
        self.regions = (_Region * max(1, len(entries)))(*entries)


class Plan(Regions):
    """Regions of one kernel. `inputs` and `outputs` are the tables of addresses that every run reads: entries may be
    changed between runs."""

    def __init__(
        self,
        module: ctypes.CDLL,
        regions: Sequence[RegionSpec],
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
    ) -> None:
        self.inputs = (ctypes.c_void_p * max(1, len(in_addresses)))(*in_addresses)
        self.outputs = (ctypes.c_void_p * max(1, len(out_addresses)))(*out_addresses)
        self._module = module
        places = (ctypes.addressof(self.inputs), ctypes.addressof(self.outputs))
        super().__init__(
            [
                _Region(
                    ctypes.cast(getattr(module, r.symbol), ctypes.c_void_p).value, *places, r.tasks
                )
                for r in regions
            ]
        )


class JoinedPlans(Regions):
    """Plans one after another, as one run; it reads their tables and keeps them alive."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = tuple(plans)
        super().__init__([entry for p in plans for entry in p.regions[: p.count]])


class Pool:
    """`threads` threads, the caller among them. `cpus`: one a thread, or None to leave them unpinned."""

    def __init__(
        self,
        library: ctypes.CDLL,
        threads: int,
        cpus: Sequence[int] | None = None,
        spin_seconds: float = SPIN_SECONDS,
    ) -> None:
        self.library = library
        self.threads = threads
        pinned = (ctypes.c_int32 * threads)(*cpus[:threads]) if cpus is not None else None
        self.handle = ctypes.c_void_p(
            library.pool_create(threads, pinned, ctypes.c_int64(round(spin_seconds * 1e9)))
        )
        if not self.handle:
            raise PoolError(f"a pool of {threads} threads could not be started")

    def run(self, plan: Regions, scratch: Sequence[int] | ctypes.Array[ctypes.c_void_p]) -> None:
        """Runs the plan's regions in order; `scratch` holds one address a thread (see `scratch_table`)."""
        table = scratch if isinstance(scratch, ctypes.Array) else scratch_table(scratch)
        if plan.count:
            self.library.pool_run(self.handle, plan.regions, plan.count, table)

    def worker_cpus(self) -> list[int]:
        """The CPU that each thread but the caller is pinned to (-1: none), read back."""
        cpus = (ctypes.c_int32 * self.threads)()
        self.library.pool_cpus(self.handle, cpus)
        return list(cpus[: self.threads - 1])

    def close(self) -> None:
        if self.handle:
            self.library.pool_destroy(self.handle)
            self.handle = ctypes.c_void_p(None)


def scratch_table(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    """The C array of per-thread scratch pointers that `Pool.run` takes; make it once for many runs."""
    return (ctypes.c_void_p * len(addresses))(*addresses)


def load_pool_library(path: Path) -> ctypes.CDLL:
    """The compiled pool with its functions' types declared."""
    return declare(ctypes.CDLL(str(path), use_errno=True))


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, table = ctypes.c_void_p, ctypes.c_void_p
    library.pool_create.restype = pointer
    library.pool_create.argtypes = [ctypes.c_int32, pointer, ctypes.c_int64]
    library.pool_run.restype = None
    library.pool_run.argtypes = [pointer, pointer, ctypes.c_int32, table]
    library.pool_cpus.restype = None
    library.pool_cpus.argtypes = [pointer, pointer]
    library.pool_destroy.restype = None
    library.pool_destroy.argtypes = [pointer]
    return library


def native_source(name: str) -> str:
    """Text of one of the shipped C files."""
    return (files("autosched.measure") / "native" / name).read_text(encoding="utf-8")


def pool_library(toolchain: Toolchain, folder: Path | None = None) -> Path:
    """Path of the compiled pool, compiling it if this toolchain has not yet. Raises PoolError.

    `folder` defaults to the user's cache. The file's name is its content key, so that a new version never meets an old
    file, and it appears whole or not at all.
    """
    texts = {name: native_source(name) for name in (*HEADERS, *SOURCES)}
    key = hashlib.sha256("\0".join([toolchain.key, *texts.values()]).encode()).hexdigest()[:24]
    folder = folder or cache_folder()
    path = folder / f"pool-{key}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _compile(toolchain, texts, path)
    return path


def cache_folder() -> Path:
    """Where what can be made again is kept for this user."""
    return Path.home() / ".cache" / "autosched"


def _compile(toolchain: Toolchain, texts: dict[str, str], path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="autosched-pool-", dir=path.parent) as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        output = folder / "pool.so"
        command = [
            *toolchain.command,
            *toolchain.flags,
            *SOURCES,
            "-shared",
            "-o",
            output.name,
            "-lpthread",
        ]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env={**scrubbed_environment(fresh_tag()), **compiler_environment(toolchain)},
                capture_output=True,
                text=True,
                timeout=COMPILE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PoolError(
                f"{toolchain.command[0]} could not compile the thread pool: {error}"
            ) from None
        if done.returncode != 0 or not output.exists():
            raise PoolError(
                f"{toolchain.command[0]} could not compile the thread pool: {done.stderr.strip()[:500]}"
            )
        with contextlib.suppress(OSError):
            output.chmod(0o644)
        os.replace(output, path)
