"""Which register blocks suit a stage: the micro-kernel's cycles, summed over full blocks and tails.

A block of lanes l_x reads each operand once a distinct element (a vector, or a scalar to broadcast) and does one
multiply-add a vector of results. With two loads and two multiply-adds a cycle and a latency of four,

    cycles = max(results / 2, loads / 2, 4)

Every axis is cut into full blocks and one tail; the cost of a choice is the sum over their combinations, which weighs
ragged ends exactly. This is the arithmetic of Goto and van de Geijn (2008, section 6) for any operands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from autosched.sketch.analysis import operand_axes
from autosched.target.target import Target
from autosched.te.dtype import n_bytes
from autosched.te.workload import Stage

LATENCY_CYCLES = 4.0
PER_CYCLE = 2.0
BLOCK_OVERHEAD_CYCLES = 24.0
"""Start and end of a block (accumulators cleared and stored), spread over the reduction."""

Domains = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class RegisterBlock:
    """Lanes by axis name, and the modelled cycles of one step of the reduction over all blocks."""

    lanes: tuple[tuple[str, int], ...]
    cycles: float


@lru_cache(maxsize=512)
def register_blocks(
    stage: Stage, vector: str, domains: Domains, target: Target, extents: tuple[int, ...]
) -> tuple[RegisterBlock, ...]:
    """Every legal choice of lanes, the cheapest first; ties go to fewer lanes. `extents` are those of the stage's
    axes, `domains` of the axes that have lanes, `vector` the axis along vectors."""
    width = target.lanes(n_bytes(stage.values[0].dtype))
    uses = operand_axes(stage)
    model = _Model(stage, vector, width, uses)
    found = []
    for lanes in product(*(values for _, values in domains)):
        chosen = dict(zip((n for n, _ in domains), lanes, strict=True))
        if model.registers(chosen) <= target.vector_registers:
            cycles = model.total_cycles(chosen, extents)
            found.append(RegisterBlock(tuple(chosen.items()), cycles))
    return tuple(sorted(found, key=lambda b: (b.cycles, prod(n for _, n in b.lanes), b.lanes)))


@dataclass(frozen=True)
class _Model:
    stage: Stage
    vector: str
    width: int
    uses: tuple[frozenset[str], ...]

    @property
    def spatial(self) -> frozenset[str]:
        return frozenset(a.name for a in self.stage.axes)

    def _vectors(self, axis: str, lanes: int) -> int:
        return -(-lanes // self.width) if axis == self.vector else lanes

    def _results(self, lanes: dict[str, int]) -> int:
        return prod(self._vectors(a, n) for a, n in lanes.items())

    def _loads(self, lanes: dict[str, int]) -> list[int]:
        """Distinct vectors or scalars of each operand."""
        return [
            prod(self._vectors(a, lanes.get(a, 1)) for a in self.spatial & used)
            for used in self.uses
        ]

    def registers(self, lanes: dict[str, int]) -> int:
        """Accumulators, the operand held (the smaller one), and one register to stream the other through."""
        return self._results(lanes) + min(self._loads(lanes), default=0) + 1

    def _cycles(self, lanes: dict[str, int]) -> float:
        return max(
            self._results(lanes) / PER_CYCLE, sum(self._loads(lanes)) / PER_CYCLE, LATENCY_CYCLES
        )

    def total_cycles(self, lanes: dict[str, int], extents: tuple[int, ...]) -> float:
        """Over the whole stage, one reduction step: full blocks and tails of every axis combined."""
        steps = prod(
            a.extent.value if a.extent.is_constant else 256 for a in self.stage.reduce_axes
        )
        parts = []
        for axis, extent in zip(self.stage.axes, extents, strict=True):
            size = lanes.get(axis.name, 1)
            sizes = [(size, extent // size), (extent % size, 1 if extent % size else 0)]
            parts.append([(axis.name, n, times) for n, times in sizes if times])
        total = 0.0
        for combination in product(*parts):
            times = prod(t for _, _, t in combination)
            cycles = self._cycles({name: n for name, n, _ in combination})
            total += times * (cycles + BLOCK_OVERHEAD_CYCLES / max(steps, 1))
        return total
