"""Which instructions of a shared object need more than some extensions of x86-64: what the disassembler reads is given
to the assembler, which knows what each of them needs, and is told that there is no more."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

AVX_ALONE = ("sse4.2", "popcnt", "lzcnt", "avx", "f16c", "ibt")
"""Of a core without AVX2 (see `cpuinfo.AVX2_AND_WIDER`), at most."""

JUMP = re.compile(r"(?:bnd |notrack )?(j\w+|call\w*|loop\w*|xbegin)\s+[0-9a-f]+$")
PADDING = re.compile(r"(?:(?:data16|cs|ds|es|ss) )*(?:nop[wl]?|xchg\s+%ax,%ax)\b|\(bad\)")


def instructions(shared_object: Path) -> set[str]:
    """All that an object holds, without the jumps, whose targets are none alone, and what fills gaps."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(shared_object)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = (line.split("\t")[1] for line in said.splitlines() if "\t" in line)
    found = {re.sub(r"\s*(#|<).*", "", line).strip() for line in lines}
    return {text for text in found if not JUMP.match(text) and not PADDING.match(text)}


def beyond(found: Iterable[str], extensions: Sequence[str] = AVX_ALONE) -> set[str]:
    """The instructions that the extensions do not have."""
    lines = sorted(found)
    with tempfile.NamedTemporaryFile("w", suffix=".s") as source:
        source.write("\n".join(lines) + "\n")
        source.flush()
        march = "+".join(["-march=generic64", *extensions])
        command = ["as", march, source.name, "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    numbers = re.findall(r"^[^:]+:(\d+): Error", done.stderr, re.MULTILINE)
    assert bool(numbers) == bool(done.returncode), done.stderr
    return {lines[int(n) - 1] for n in numbers}
