"""What is collected while a workload is lowered, and the groups it is lowered in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autosched.nest.nodes import Buffer, Region
from autosched.sketch.lower.scope import Home
from autosched.sketch.lower.space import Space
from autosched.sketch.lower.split import LOCAL, PART, Chunk
from autosched.sketch.plan import Plan, StagePlan
from autosched.target.target import Target
from autosched.te.workload import Stage, Workload


@dataclass(eq=False)
class Lowering:
    """The state of one lowering: decisions, homes of tensors, buffers and regions so far."""

    workload: Workload
    plan: Plan
    target: Target
    chunks: Mapping[str, Chunk]
    space: Space
    homes: dict[int, Home] = field(default_factory=dict)
    packed: list[Buffer] = field(default_factory=list)
    workspaces: list[Buffer] = field(default_factory=list)
    prepare: list[Region] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def stage_plan(self, stage: Stage) -> StagePlan:
        """The plan of a stage; a partial stage or local copy follows the stage it belongs to."""
        return self.plan[stage.name.removesuffix(PART).removesuffix(LOCAL)]


@dataclass(frozen=True, eq=False)
class Group:
    """`members` in order; the first `n_shared` axes of each are cut into tasks together. `register` are the stages
    finished on the accumulators of the last member."""

    members: tuple[Stage, ...]
    n_shared: int
    register: tuple[Stage, ...] = ()

    @property
    def name(self) -> str:
        return self.members[-1].name

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (*self.members, *self.register)
