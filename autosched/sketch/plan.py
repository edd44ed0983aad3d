"""Plans: what the rules have decided for each stage, before lowering.

A plan maps every stage to a placement:

    open       not visited yet
    inline     computed where it is read
    root       the anchor of a group of its own: a loop nest over its spatial axes
    register   fused into its producer's nest, applied to the accumulators
    tile       fused into its producer's nest, applied to each finished task tile
    rows       a member of the row group that ends in `group`: computed tile by tile of the shared outer axes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from autosched.sketch.sketch import Step

Placement = Literal["open", "inline", "root", "register", "tile", "rows"]
Position = Literal["none", "prepare", "shared", "task", "reduce"]
PackMode = Literal["axes", "span"]


@dataclass(frozen=True)
class Pack:
    """Where operand number `operand` of a stage is copied to contiguous memory, if anywhere.

    prepare  once, offline (constants)         shared  once a call, by all threads, before the stage
    task     once a task                       reduce  for each tile of the reduction

    `axes` lays the copy out by the axes of the stage (micro-panels; for a convolution's data, im2col), `span` as the
    rectangle of the source that is touched (a padded patch).
    """

    operand: int
    position: Position
    mode: PackMode = "axes"


@dataclass(frozen=True)
class StagePlan:
    """`vector` is the axis along vector registers ("" for none), `hoist` the spatial axis moved outermost within the
    reduction tile ("" keeps te order), `split` the reduction axis cut into parallel chunks ("" for none). A `cached`
    stage is computed in a local copy, which `group` names, and written from there."""

    placement: Placement = "open"
    group: str = ""
    vector: str = ""
    hoist: str = ""
    split: str = ""
    packs: tuple[Pack, ...] = ()
    cached: bool = False


@dataclass(frozen=True)
class Plan:
    """Stage plans by stage name, in stage order, and the steps that led here."""

    stages: tuple[tuple[str, StagePlan], ...]
    derivation: tuple[Step, ...] = ()

    def __getitem__(self, name: str) -> StagePlan:
        for stage, plan in self.stages:
            if stage == name:
                return plan
        raise KeyError(f"no stage {name!r} in the plan")

    def with_stage(self, name: str, plan: StagePlan) -> Plan:
        """The plan with one stage's part replaced."""
        return replace(self, stages=tuple((s, plan if s == name else p) for s, p in self.stages))

    def with_step(self, step: Step) -> Plan:
        return replace(self, derivation=(*self.derivation, step))
