"""The machine as data. Every field changes code or the choice of code; clocks and measured numbers stand elsewhere."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal, get_args

KEY_VERSION = "t1"

Kind = Literal["cpu", "cuda", "simulated"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Target:
    """A CPU or GPU to generate code for; or a simulated one, a kind and `isa` of its own, so that no time which was made
    up counts for a machine that exists.

    `features` are compiler feature names ("avx2", "fma", "avx512f", "neon"), sorted. `vector_bytes` and
    `vector_registers` describe the widest vector unit those features give; caches are per core, L3 per package;
    `threads` is how many run a kernel. `core_kind` is the compiler's tuning name ("znver3"), "" if unknown.
    """

    kind: Kind
    isa: str
    features: tuple[str, ...]
    core_kind: str
    threads: int
    vector_bytes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int

    def lanes(self, n_bytes: int) -> int:
        """Elements of this size in one vector register."""
        return max(1, self.vector_bytes // n_bytes)

    @cached_property
    def key(self) -> str:
        """Content key over every field."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{KEY_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
