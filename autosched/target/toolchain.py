"""The compiler as data: which program, which version, which flags. Its key stands beside the target's in every record.

gcc first, then clang, then the `ziglang` wheel, unless the user names one. Flags are explicit features, never `native`,
so that the same target gives the same code on every host.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autosched.errors import InvalidInput
from autosched.target.features import FEATURES, feature_flags
from autosched.target.target import Target

KEY_VERSION = "c1"
PROBE_SECONDS = 60.0
PROBES = 3

CODE_FLAGS = (
    "-O2",
    "-std=gnu11",
    "-fPIC",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-strict-aliasing",
    "-fno-semantic-interposition",
    "-falign-functions=64",
    "-w",
)
"""Functions start at cache lines, so that a loop runs alike whatever stands before it in the object. Contraction and
silent math are fine: neither loses a NaN or an infinity. Never -ffast-math, which does. Vector types are read from
element pointers, hence no strict aliasing."""

LINK_FLAGS = ("-shared", "-lm")


@dataclass(frozen=True)
class Toolchain:
    """`command` starts the compiler; `flags` are all options that change code, target features included."""

    name: str
    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]

    @property
    def key(self) -> str:
        """Content key over name, version and flags; where the program lies changes no code."""
        text = json.dumps([self.name, self.version, self.flags])
        return f"{KEY_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def toolchain_of_fields(fields: Mapping[str, Any]) -> Toolchain:
    """Of its fields as JSON has them."""
    return Toolchain(
        fields["name"], tuple(fields["command"]), fields["version"], tuple(fields["flags"])
    )


def compiler_environment(toolchain: Toolchain) -> dict[str, str]:
    """Variables that every call of the compiler must share: where its tools are, and where zig, which builds its C
    library once a CPU, keeps it."""
    folders = [
        str(Path(toolchain.command[0]).parent),
        "/usr/local/bin",
        *os.defpath.split(os.pathsep),
    ]
    found = {"PATH": os.pathsep.join(dict.fromkeys(folders))}
    if toolchain.name == "zig":
        found["ZIG_GLOBAL_CACHE_DIR"] = str(Path.home() / ".cache" / "zig")
    return found


def compiler_flags(target: Target) -> tuple[str, ...]:
    """Options that make any compiler of the gcc family generate code for `target`: explicit features and tuning."""
    tune = (f"-mtune={target.core_kind}",) if target.core_kind else ()
    wide = ("-mprefer-vector-width=512",) if "avx512f" in target.features else ()
    return (*feature_flags(target.isa, target.features), *tune, *wide)


def find_toolchain(target: Target, compiler: str | None = None) -> Toolchain:
    """The toolchain for `target`: `compiler` (a name or path), else the first found of gcc, clang and ziglang.

    Raises InvalidInput if there is none, or if the named one does not compile for the target.
    """
    if target.isa not in FEATURES:
        raise InvalidInput(
            f"no C compiler for target {target.isa}: its kind is {target.kind}, and none makes code for that"
        )
    if compiler is not None:
        return _probe(_named(compiler), target)
    problems = []
    for command in _candidates():
        try:
            return _probe(command, target)
        except InvalidInput as error:
            problems.append(str(error))
    found = "; ".join(problems) or "none of gcc, clang and the ziglang wheel is installed"
    raise InvalidInput(f"no C compiler for target {target.isa}: {found}")


def _candidates() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [
        (path,) for name in ("gcc", "clang") if (path := shutil.which(name))
    ]
    zig = _zig()
    return [*found, zig] if zig else found


def _zig() -> tuple[str, ...] | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    program = Path(spec.submodule_search_locations[0]) / "zig"
    return (str(program), "cc") if program.exists() else None


def _named(compiler: str) -> tuple[str, ...]:
    if compiler in ("zig", "ziglang"):
        zig = _zig()
        if zig is None:
            raise InvalidInput(f"compiler {compiler!r}: the ziglang wheel is not installed")
        return zig
    path = shutil.which(compiler)
    if path is None:
        raise InvalidInput(f"compiler {compiler!r}: no such program")
    return (path,)


def _probe(command: tuple[str, ...], target: Target) -> Toolchain:
    """Asks the compiler for its version and whether it takes the flags; one too old for the core kind goes without
    its tuning, since that costs a little speed where a refusal would cost everything."""
    version_text = _answer([*command, "--version"], command)
    family = _family(version_text, command)
    base = (*CODE_FLAGS, *_triple_flags(family, target))
    full = (*base, *_spelled(family, compiler_flags(target)))
    untuned = tuple(f for f in full if not f.startswith("-mtune="))
    for flags in dict.fromkeys((full, untuned)):
        if _accepts(command, flags):
            return Toolchain(family, command, _version(version_text), flags)
    raise InvalidInput(
        f"compiler {' '.join(command)}: refuses the flags of target {target.isa}: {' '.join(untuned)}"
    )


ZIG_SPELLING = {
    "-march=x86-64": "-march=x86_64",
    "-march=armv8.2-a": "-mcpu=generic+v8_2a",
    "+fp16": "+fullfp16",
}


def _spelled(family: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    """zig knows base instruction sets by LLVM's names, and takes a tuning for a CPU whose features it then uses."""
    if family != "zig":
        return flags
    kept = [f for f in flags if not f.startswith("-mtune=")]
    for ours, theirs in ZIG_SPELLING.items():
        kept = [f.replace(ours, theirs) for f in kept]
    return tuple(kept)


def _triple_flags(family: str, target: Target) -> tuple[str, ...]:
    """zig and clang are cross compilers that must be told; gcc is built for one instruction set."""
    return () if family == "gcc" else ("-target", f"{target.isa.replace('-', '_')}-linux-gnu")


def _accepts(command: tuple[str, ...], flags: Sequence[str]) -> bool:
    """A refusal is one that stands: a compiler that was killed, by a host out of memory say, has refused nothing."""
    with tempfile.TemporaryDirectory(prefix="autosched-probe-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text("int x;\n")
        line = [*command, *flags, "-Werror", "-c", str(source), "-o", f"{folder}/probe.o"]
        return _steadily(line).returncode == 0


def _answer(line: list[str], command: tuple[str, ...]) -> str:
    done = _steadily(line)
    if done.returncode != 0:
        raise InvalidInput(
            f"compiler {' '.join(command)}: --version failed: {done.stderr.strip()[:200]}"
        )
    return done.stdout


def _steadily(line: list[str]) -> subprocess.CompletedProcess[str]:
    """The first success, else the last of `PROBES` failures."""
    for _ in range(PROBES - 1):
        done = _call(line)
        if done.returncode == 0:
            return done
    return _call(line)


def _call(line: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(
            f"compiler {line[0]!r}: no answer within {PROBE_SECONDS:.0f} s"
        ) from None
    except OSError as error:
        raise InvalidInput(f"compiler {line[0]!r}: cannot be started: {error.strerror}") from None


def _family(version_text: str, command: tuple[str, ...]) -> str:
    if command[-1] == "cc":
        return "zig"
    return "clang" if "clang" in version_text.lower() else "gcc"


def _version(version_text: str) -> str:
    match = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", version_text)
    return match[0] if match else "unknown"
