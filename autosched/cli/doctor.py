"""`autosched doctor`: what this machine is, what it has, and what is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from autosched.cli import options
from autosched.cli.output import OUT
from autosched.cli.status import DONE, FAILED
from autosched.errors import AutoschedError

OPTIONAL = ("torch", "onnxruntime", "threadpoolctl")


def doctor(
    target: options.Target = "host",
    threads: options.Threads = None,
    db: options.Database = None,
    compiler: options.Compiler = None,
) -> int:
    """Check compiler, threads, database and a kernel's way from text to time; status 1 if any fails."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("target", lambda: _target(target, threads)),
        ("compiler", lambda: _compiler(target, threads, compiler)),
        ("database", lambda: _database(db)),
        ("measuring", lambda: _measuring(target, threads, compiler)),
    )
    passed = True
    for name, check in checks:
        try:
            OUT.print(f"ok      {name}: {check()}", markup=False)
        except (AutoschedError, OSError) as error:
            passed = False
            OUT.print(f"FAILED  {name}: {error}", markup=False)
    for package in OPTIONAL:
        OUT.print(f"{'ok     ' if _has(package) else 'absent '} {package} (optional)", markup=False)
    return DONE if passed else FAILED


def _target(target: str, threads: int | None) -> str:
    from autosched.target.files import resolve_target

    found = resolve_target(target, threads)
    caches = "/".join(str(n >> 10) for n in (found.l1_bytes, found.l2_bytes, found.l3_bytes))
    return (
        f"{found.isa} {found.core_kind}, {found.threads} threads, {found.vector_bytes * 8}-bit "
        f"vectors, caches {caches} KiB, key {found.key}"
    )


def _compiler(target: str, threads: int | None, compiler: str | None) -> str:
    from autosched.entry.machine import set_up

    toolchain = set_up(target, threads, compiler).toolchain
    return (
        f"{' '.join(toolchain.command)} ({toolchain.name} {toolchain.version}), key {toolchain.key}"
    )


def _database(db: str | None) -> str:
    from autosched.db.store import open_store

    with open_store(db) as store:
        return f"{store.engine.url.render_as_string(hide_password=True)}, {len(store.jobs())} recent jobs"


def _measuring(target: str, threads: int | None, compiler: str | None) -> str:
    from autosched.entry.machine import open_machine, set_up

    with open_machine(set_up(target, threads, compiler)) as machine:
        reached = machine.calibration.of(machine.target.threads)
    levels = ", ".join(f"{v.name} {v.bytes_per_second / 1e9:.0f}" for v in reached.levels)
    return f"{reached.operations_per_second / 1e9:.0f} GFLOPS; GB/s: {levels}"


def _has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
