"""The judge of instructions knows AVX2 and what belongs to it from what came before."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.instructions import beyond, instructions

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not (shutil.which("as") and shutil.which("objdump")),
    reason="needs an assembler of x86-64",
)

OLDER = {
    "vaddps %ymm0,%ymm1,%ymm2", "vpaddd %xmm0,%xmm1,%xmm2", "vbroadcastss (%rax),%ymm1",
    "vcvtph2ps %xmm0,%ymm0", "pshufb %xmm0,%xmm1", "endbr64", "mov 0x2f1e(%rip),%rdi",
}  # fmt: skip
NEWER = {
    "vpaddd %ymm0,%ymm1,%ymm2", "vbroadcastss %xmm0,%ymm1", "vfmadd231ps %xmm0,%xmm1,%xmm2",
    "vaddps %zmm0,%zmm1,%zmm2", "vaddps %xmm17,%xmm1,%xmm2", "andn %rax,%rbx,%rcx",
}  # fmt: skip
LOOP = "void f(float *x, int n) { for (int i = 0; i < n; i++) x[i] = x[i] * x[i] + x[i]; }"


def test_each_instruction_is_known_by_what_it_needs() -> None:
    assert beyond(OLDER | NEWER) == NEWER


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
@pytest.mark.parametrize(("flags", "is_newer"), [(["-mavx"], False), (["-mavx2", "-mfma"], True)])
def test_an_object_is_known_by_its_instructions(
    tmp_path: Path, flags: list[str], *, is_newer: bool
) -> None:
    (tmp_path / "loop.c").write_text(LOOP)
    built = tmp_path / "loop.so"
    command = ["gcc", "-O3", "-shared", "-fPIC", *flags, str(tmp_path / "loop.c"), "-o", str(built)]
    subprocess.run(command, check=True)
    assert bool(beyond(instructions(built))) == is_newer
