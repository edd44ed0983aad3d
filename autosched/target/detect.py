"""Looking at this machine: instruction set, features, caches and cores, from archspec, /proc and /sys.

Everything is read through `root`, so that a test can show the machine of its choice.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import archspec.cpu

from autosched.errors import InvalidInput
from autosched.target.features import AARCH64, X86_64, known_features, vector_unit
from autosched.target.target import Target

ISA_OF_MACHINE = {"x86_64": X86_64, "amd64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
FALLBACK_CACHE_BYTES = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
SYSCONF_CACHE = {1: "SC_LEVEL1_DCACHE_SIZE", 2: "SC_LEVEL2_CACHE_SIZE", 3: "SC_LEVEL3_CACHE_SIZE"}
SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def detect_target(threads: int | None = None) -> Target:
    """This machine as a target; `threads` defaults to the physical cores in the affinity mask.

    Raises InvalidInput for a machine kind that we generate no code for, or for more threads than logical CPUs.
    """
    isa = _isa()
    cpus = sorted(os.sched_getaffinity(0))
    n_threads = len(physical_cores(cpus)) if threads is None else threads
    if not 1 <= n_threads <= len(cpus):
        raise InvalidInput(
            f"threads {n_threads}: must be between 1 and the {len(cpus)} CPUs this process may use"
        )
    host = archspec.cpu.host()
    features = known_features(isa, {*host.features, *_cpuinfo_features()})
    unit = vector_unit(isa, features)
    l1, l2, l3 = cache_bytes(cpus[0], cpus)
    return Target(
        kind="cpu",
        isa=isa,
        features=features,
        core_kind=_core_kind(host),
        threads=n_threads,
        vector_bytes=unit.vector_bytes,
        vector_registers=unit.vector_registers,
        l1_bytes=l1,
        l2_bytes=l2,
        l3_bytes=l3,
    )


def physical_cores(cpus: Iterable[int], root: Path = Path("/sys")) -> list[int]:
    """One logical CPU of each physical core among `cpus`: the lowest-numbered of its siblings, in order."""
    chosen: dict[str, int] = {}
    for cpu in sorted(cpus):
        siblings = root / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        chosen.setdefault(_read(siblings) or str(cpu), cpu)
    return sorted(chosen.values())


@dataclass(frozen=True)
class _Cache:
    level: int
    n_bytes: int
    shared_by: str


def cache_bytes(cpu: int, cpus: Iterable[int], root: Path = Path("/sys")) -> tuple[int, int, int]:
    """Data cache sizes (L1 and L2 of `cpu`'s core; L3 of its whole package) as seen from CPU set `cpus`."""
    own = {c.level: c for c in _caches(root, cpu)}
    l1, l2 = (own[level].n_bytes if level in own else _fallback(level) for level in (1, 2))
    package = _package(root, cpu)
    slices = {
        c.shared_by: c.n_bytes
        for other in cpus
        if _package(root, other) == package
        for c in _caches(root, other)
        if c.level == 3
    }
    return l1, l2, sum(slices.values()) or _fallback(3)


def _caches(root: Path, cpu: int) -> list[_Cache]:
    found = []
    for entry in sorted((root / f"devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        if _read(entry / "type") in ("Data", "Unified"):
            level, size = int(_read(entry / "level") or 0), _size(_read(entry / "size"))
            if size:
                found.append(_Cache(level, size, _read(entry / "shared_cpu_list")))
    return found


def _package(root: Path, cpu: int) -> str:
    return _read(root / f"devices/system/cpu/cpu{cpu}/topology/physical_package_id")


def _fallback(level: int) -> int:
    """What the C library knows, else a size that every current core has."""
    name = SYSCONF_CACHE[level]
    known = os.sysconf(name) if name in os.sysconf_names else 0
    return known if known > 0 else FALLBACK_CACHE_BYTES[level]


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) * SIZE_UNITS[match[2]] if match else 0


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _isa() -> str:
    machine = platform.machine().lower()
    if machine not in ISA_OF_MACHINE:
        known = ", ".join(sorted(set(ISA_OF_MACHINE.values())))
        raise InvalidInput(f"this machine is {machine!r}: code is generated for {known}")
    return ISA_OF_MACHINE[machine]


def _cpuinfo_features() -> set[str]:
    match = re.search(
        r"^(?:flags|Features)\s*:\s*(.*)$", _read(Path("/proc/cpuinfo")), re.MULTILINE
    )
    return set(match[1].split()) if match else set()


def _core_kind(host: archspec.cpu.Microarchitecture) -> str:
    """The compiler's tuning name of this core: gcc's, which clang shares for current cores; "" for generic ones."""
    entries = host.compilers.get("gcc", [])
    named = next((e for e in entries if "flags" in e and "mtune" in e["flags"]), None)
    generic = not host.features or host.vendor == "generic"
    return "" if named is None or generic else str(named.get("name", host.name))
