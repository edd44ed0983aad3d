"""The default schedules of every shipped target compile for it, so that no width of this machine is baked in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from autosched.entry.winners import defaults
from autosched.entry.work import work_of
from autosched.errors import InvalidInput
from autosched.target.files import load_target, target_names
from autosched.target.toolchain import compiler_environment, find_toolchain

SOURCES = ("suite:CBR/1@1", "suite:SFM/1@1")


@pytest.mark.parametrize("name", target_names())
def test_default_schedules_compile(name: str, tmp_path: Path) -> None:
    target = load_target(name)
    try:
        toolchain = find_toolchain(target)
    except InvalidInput as error:
        pytest.skip(f"no compiler of this machine reaches {name}: {error}")
    for source in SOURCES:
        (chosen,) = defaults(work_of(source), target)
        text = tmp_path / "kernel.c"
        text.write_text(chosen.kernel.source)
        done = subprocess.run(
            [*toolchain.command, *toolchain.flags, "-c", str(text), "-o", str(tmp_path / "k.o")],
            env=compiler_environment(toolchain),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{source} for {name}: {done.stderr[:2000]}"
