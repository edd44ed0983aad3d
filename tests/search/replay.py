"""Prints the proposals of a search over made-up times: run by the test in processes that differ in what must not matter.

Arguments: threads of the model, and the round after which the search is built anew from what it was told.
"""

from __future__ import annotations

import json
import sys

from autosched.records.record import Trial
from autosched.search.evolution import EvolutionaryPolicy, EvolutionOptions
from autosched.search.proposal import Proposal
from autosched.search.random_policy import Stream
from autosched.testing.spaces import closed, small_space


def seconds(proposal: Proposal) -> float:
    values = proposal.candidate.values
    return 1e-3 * (1 + abs(values["i.r"] - 6) + 0.2 * abs(values.get("j.r", 32) - 8))


def made(threads: int) -> EvolutionaryPolicy:
    options = EvolutionOptions(raw=256, offspring=128, generations=2, trees=15)
    return EvolutionaryPolicy(small_space(), Stream(11), model_threads=threads, options=options)


def main() -> None:
    threads, stop = int(sys.argv[1]), int(sys.argv[2])
    policy = made(threads)
    told: list[list[Trial]] = []
    asked = [policy.default()]
    keys = []
    for number in range(5):
        keys.append([p.candidate.key for p in asked])
        first = sum(len(t) for t in told)
        told.append(closed(asked, [seconds(p) for p in asked], first=first, number=number))
        policy.observe(told[-1])
        if number == stop:
            policy = made(threads)
            for trials in told:
                policy.observe(trials)
        asked = policy.propose(6)
    print(json.dumps(keys))


if __name__ == "__main__":
    main()
