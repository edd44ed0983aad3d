"""From a workload to its sketches: an ordered list of rules makes plans, lowering makes each plan a symbolic nest.

In: a canonical workload and a target. Out: sketches, each a nest with open decisions, their domains, constraints and
seeds. It must not know operators or graphs, and never lowers per candidate.
"""
