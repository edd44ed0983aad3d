"""How far a loop is unrolled: what it asks for, while the code of the loops around it stays small.

The innermost loop has the first claim. UNROLL(3) a: UNROLL(3) b: UNROLL(4) c: 12 statements would become 432; what fits
in `MOST_STATEMENTS` is c by 4 (48) and b by 3 (144), so a stays a loop.
"""

from __future__ import annotations

from autosched.codegen.c.printing import Printing
from autosched.nest.nodes import Block, Body, Copy, Guard, Loop, Node

MOST_STATEMENTS = 200
"""Statements in an unrolled loop body, lanes and inner loops counted as copied. Compile time grows with them; beyond
this, loop overhead is below a percent."""

TAIL_STATEMENTS = 50
"""The same in the variant of a block that runs at the end of an axis."""

COPY_STATEMENTS = 32
"""What a copy counts."""


def unroll_factor(printing: Printing, loop: Loop) -> int:
    """The factor for a loop below the open lanes: halved from what it asks for until its code is small."""
    return _Size(printing).factor(loop, printing.scope.lanes.points)


class _Size:
    def __init__(self, printing: Printing) -> None:
        self._scope = printing.scope
        self._lanes = printing.lanes
        self._in_tail = printing.in_tail

    def factor(self, loop: Loop, points: int) -> int:
        asked = self._scope.concrete(loop.unroll)
        if not asked.is_constant or asked.value <= 1:
            return 1
        factor = min(asked.value, max(self._scope.interval(loop.extent)[1], 1))
        body = self._body(loop.body, points)
        most = TAIL_STATEMENTS if self._in_tail else MOST_STATEMENTS
        while factor > 1 and factor * body > most:
            factor //= 2
        return factor

    def _body(self, body: Body, points: int) -> int:
        return sum(self._node(node, points) for node in body)

    def _node(self, node: Node, points: int) -> int:
        match node:
            case Loop():
                return self.factor(node, points) * self._body(node.body, points)
            case Guard():
                return self._body(node.body, points)
            case Block():
                return self._body(node.body, points * self._block_points(node))
            case Copy():
                return COPY_STATEMENTS
        return points

    def _block_points(self, block: Block) -> int:
        """Points of the full block, whole vectors along the lane that has them."""
        points = 1
        for lane in block.lanes:
            size = self._scope.interval(lane.size)[1]
            points *= -(-size // self._lanes) if lane.var is block.vector else size
        return points
