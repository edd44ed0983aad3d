"""Which candidates to measure next: populations over all live sketches, varied and ranked as arrays.

In: the sketches of a task, the closed rounds, records of earlier jobs, a seed. Out: proposals. No I/O, and no state
but the seed and the closed rounds: a policy that is built anew and told the same rounds proposes the same. It must not
know how candidates are built, timed or stored.

    space = Space(generate(workload, target), target)
    policy = make_policy("evolutionary", space, seed=1, task=0, history=store.history(target.isa))
    default = policy.default()                        # trial 0
    policy.observe([closed_default])                  # round 0: Trial with its Measurement
    while budget:
        proposals = policy.propose(16)                # Proposal: candidate, features, features_schema
        if not proposals:
            break                                     # every candidate has been proposed
        policy.observe(measured(proposals))           # closed trials, in number order

`policy.notes` are sentences for a person: what the search could not do and went on without.
"""

from __future__ import annotations

from autosched.search.make import POLICIES, make_policy
from autosched.search.proposal import Policy, Proposal

__all__ = ["POLICIES", "Policy", "Proposal", "make_policy"]
