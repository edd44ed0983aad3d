"""The protocol of a rule and the values it answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from autosched.sketch.plan import Plan, StagePlan
from autosched.sketch.sketch import Step
from autosched.target.target import Target
from autosched.te.workload import Stage, Workload

Verdict = Literal["skip", "try", "commit"]


@dataclass(frozen=True, eq=False)
class Context:
    """What a rule may look at: the workload and the stage visited, with inlined stages gone; the stage as it was
    written; the plan so far; the target."""

    workload: Workload
    stage: Stage
    written: Stage
    plan: Plan
    target: Target

    def planned(
        self, rule: Rule, changes: Mapping[str, StagePlan], arguments: Mapping[str, Any]
    ) -> Plan:
        """The plan with some stages changed by a rule, and the step noted."""
        plan = self.plan
        for name, stage_plan in changes.items():
            plan = plan.with_stage(name, stage_plan)
        return plan.with_step(Step(rule.name, rule.version, self.stage.name, arguments))


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    plans: tuple[Plan, ...] = ()


SKIP = Answer("skip")


class Rule(Protocol):
    """A rule is pure: the same context gives the same answer. `version` rises when its plans change."""

    name: str
    version: int

    def apply(self, context: Context) -> Answer: ...
