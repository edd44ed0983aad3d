"""A small space for search tests: a matmul and a matmul packed otherwise, with a made-up time for every candidate."""

from __future__ import annotations

import numpy as np

from autosched.features.space import Limits, Space
from autosched.records.outcome import Outcome
from autosched.records.record import Measurement, Timing, Trial
from autosched.search.proposal import Proposal
from autosched.sketch.sketch import Decision, Sketch, Step
from autosched.target.target import Target
from autosched.te.integer import less_equal, symbol
from autosched.te.workload import Workload
from autosched.testing.nests import NESTS

TARGET = Target("cpu", "x86_64", ("avx2", "fma"), "", 2, 32, 16, 32 << 10, 512 << 10, 16 << 20)
DOMAIN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def small_space(block: int = 64) -> Space:
    """Two sketches over the decisions i.r and j.r; the register block holds at most `block` elements."""
    matmul = NESTS["matmul"]().nest
    narrow = NESTS["int8_matmul"]().nest
    limit = less_equal(symbol("i.r", "decision") * symbol("j.r", "decision"), block)
    seeds = ({"i.r": 2, "j.r": 8}, {"i.r": 4, "j.r": 4}) if block >= 16 else ()
    first = Sketch(
        Workload("w", (), ()),
        (Step("tile", 1, "c", {"pack": "b"}),),
        matmul,
        (Decision("i.r", DOMAIN), Decision("j.r", DOMAIN)),
        (limit,),
        seeds,
    )
    second = Sketch(
        Workload("w", (), ()),
        (Step("tile", 1, "c", {"pack": "none"}),),
        narrow,
        (Decision("i.r", DOMAIN),),
        (),
        ({"i.r": 1},),
    )
    return Space([first, second], TARGET, Limits(scratch_bytes=1e9))


def closed(
    proposals: list[Proposal], seconds: list[float], *, first: int, number: int
) -> list[Trial]:
    """Trials of a round with these times; NaN stands for a candidate that crashed."""
    found = []
    for i, (proposal, time) in enumerate(zip(proposals, seconds, strict=True)):
        ok = bool(np.isfinite(time))
        timing = Timing(time, 0.0, 9, 0.0, 2) if ok else None
        measurement = Measurement(Outcome.OK if ok else Outcome.CRASHED, timing)
        found.append(
            Trial(
                "task",
                first + i,
                number,
                proposal.candidate,
                measurement=measurement,
                features=proposal.features,
                features_schema=proposal.features_schema,
            )
        )
    return found
