"""A `/proc/cpuinfo` that names fewer features than the machine has, for hosts of another kind than their machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

AVX2_AND_WIDER = re.compile(
    r"avx2|avx512.*|avx_vnni|avx10.*|amx.*|vaes|vpclmulqdq|fma|bmi[12]|gfni"
)
"""What an x86-64 core without AVX2 has not either, as compilers order them."""


def without(features: re.Pattern[str], text: str) -> str:
    """The text of a `/proc/cpuinfo` without the features that match."""

    def masked(line: re.Match[str]) -> str:
        kept = [f for f in line[2].split() if not features.fullmatch(f)]
        return line[1] + " ".join(kept)

    return re.sub(r"^((?:flags|Features)\s*:\s*)(.*)$", masked, text, flags=re.MULTILINE)


def masked_cpuinfo(folder: Path, features: re.Pattern[str] = AVX2_AND_WIDER) -> Path:
    """A file in `folder` with this machine's `/proc/cpuinfo` without the features that match."""
    path = folder / "cpuinfo"
    path.write_text(without(features, Path("/proc/cpuinfo").read_text()))
    return path


def features_of(text: str) -> set[str]:
    """The features that the text of a `/proc/cpuinfo` names."""
    lines: Iterable[str] = re.findall(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    return {feature for line in lines for feature in line.split()}
