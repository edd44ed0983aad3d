"""The passes in their order: what every graph goes through before it is cut into workloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from autosched.graph.graph import Graph
from autosched.graph.limits import DEFAULT_LIMITS, ImportLimits
from autosched.graph.passes.affine_folding import fold_affine
from autosched.graph.passes.batch_norm import lower_batch_norm
from autosched.graph.passes.common_subexpressions import merge_common_subexpressions
from autosched.graph.passes.constant_folding import fold_constants
from autosched.graph.passes.dead_code import remove_dead_code
from autosched.graph.passes.identities import remove_identities

Pass = Callable[[Graph], Graph]


def passes_within(limits: ImportLimits) -> tuple[Pass, ...]:
    """The passes in order, bounded in what they compute."""
    return (
        remove_dead_code,
        remove_identities,
        partial(fold_constants, limits=limits),
        lower_batch_norm,
        fold_affine,
        merge_common_subexpressions,
        remove_dead_code,
    )


PASSES = passes_within(DEFAULT_LIMITS)


def simplify(graph: Graph, passes: tuple[Pass, ...] = PASSES) -> Graph:
    """The graph after the passes: it computes the same up to rounding."""
    for rewrite in passes:
        graph = rewrite(graph)
    return graph
