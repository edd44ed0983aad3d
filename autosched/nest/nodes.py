"""The nodes of a nest: the loop program of one sketch, its numbers symbolic in the decisions.

A nest is a sequence of parallel regions with workspaces between them. A loop carries three extents: `extent` (the
maximum, decisions and sizes only: buffers, footprints), `limit` (what is left, may name outer loop variables: text
and interpreter) and `count` (the exact average, as a quotient: features). A tail is a property of a lane, not a
copied body. Axis values stay `units * tile + lane`, so nothing is ever divided by a symbol.

    Region      parallel loops, collapsed into one task index, and what one task does
    Loop        serial by default; kinds bind a loop to vector lanes, blocks, threads
    Block       a register block: every statement below it is unrolled over its lanes
    Guard       a body under a condition
    Alloc       a buffer, live for the rest of the enclosing body
    Store       buffer[indices] = value
    Reduce      buffers[indices] = combine(buffers[indices], values)
    Fold        buffers[indices] = combination over a lane axis of register buffers (a horizontal reduction)
    Copy        a rectangular copy with bounds: packing and padding
    Barrier     all threads of the scope have arrived
    Invoke      an intrinsic on operand tiles
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from autosched.te.combiner import Combiner
from autosched.te.expr import Expr
from autosched.te.integer import Int, as_int, product

Scope = Literal["global", "shared", "scratch", "register", "fragment"]
Role = Literal["input", "packed", "output", "workspace", "local"]
LoopKind = Literal[
    "serial", "block.x", "block.y", "block.z", "vthread", "thread.x", "thread.y", "warp"
]

ONE = as_int(1)


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory with a row-major shape. `global`: passed from outside; `scratch`: one thread's memory (CPU);
    `shared`: one block's (CUDA); `register`: lanes of the enclosing blocks, or of threads.

    `pad` adds elements to the row stride of the last dimension (bank conflicts); `thread_axes` leading dimensions of
    a register buffer are thread indices: one copy a thread, absent from the text.
    """

    name: str
    shape: tuple[Int, ...]
    dtype: str
    scope: Scope = "scratch"
    role: Role = "local"
    pad: Int = as_int(0)
    thread_axes: int = 0

    @property
    def strides(self) -> tuple[Int, ...]:
        """Elements between neighbours along each dimension."""
        strides: list[Int] = [ONE]
        for i, extent in enumerate(reversed(self.shape[1:])):
            strides.append(strides[-1] * (extent + self.pad if i == 0 else extent))
        return tuple(reversed(strides)) if self.shape else ()

    @property
    def elements(self) -> Int:
        if not self.shape:
            return ONE
        return self.strides[0] * self.shape[0] if len(self.shape) > 1 else self.shape[0]


@dataclass(frozen=True)
class Count:
    """An exact average, numerator / denominator, over decisions and sizes."""

    numerator: Int = ONE
    denominator: Int = ONE


@dataclass(frozen=True, eq=False)
class Node:
    """A statement of a nest."""


Body = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Loop(Node):
    """`for var in range(limit)`. `unroll`: copies of the body an iteration asks for. `peel`: iterations [0, peel) and
    [peel, limit) are printed as two loops, so that conditions fold in each. `stages`: depth of an asynchronous
    pipeline over a reduction loop (1: none)."""

    var: Int
    extent: Int
    limit: Int
    count: Count
    body: Body
    kind: LoopKind = "serial"
    unroll: Int = ONE
    peel: Int | None = None
    stages: Int = ONE


@dataclass(frozen=True, eq=False)
class Lane:
    """One unrolled axis of a block: `var` runs over [0, size) where `full` holds, else over [0, tail). Size and tail
    name decisions only, so that the printer has two static variants an axis; `full` may name loop variables.
    `count` is the exact average number of lanes."""

    var: Int
    size: Int
    tail: Int
    full: Int
    count: Count


@dataclass(frozen=True, eq=False)
class Block(Node):
    """Every statement of the body, loops inside it included, is unrolled over all lanes; `vector` names the lane
    variable that runs along vector registers (None: scalars). A partial vector is computed whole and stored masked."""

    lanes: tuple[Lane, ...]
    body: Body
    vector: Int | None = None


@dataclass(frozen=True, eq=False)
class Guard(Node):
    """`if condition: body`; `fraction` of the executions that hold, on average."""

    condition: Int
    body: Body
    fraction: Count = Count()


@dataclass(frozen=True, eq=False)
class Alloc(Node):
    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Store(Node):
    """buffer[indices] = value, converted to the buffer's dtype."""

    buffer: Buffer
    indices: tuple[Int, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class Reduce(Node):
    """(b0[indices], b1[indices], ...) = combine(those, values), all components read before any is written."""

    combiner: Combiner
    buffers: tuple[Buffer, ...]
    indices: tuple[Int, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Fold(Node):
    """buffers[indices] = combination of sources[source_indices] over the whole lane axis `lane` (extent `size`).

    Lanes past the valid ones hold the identity. Stands inside a block without `lane`; `over` says who holds the
    lanes: vector lanes and unrolled registers, the threads of a warp or of a block (all receive the result).
    """

    combiner: Combiner
    buffers: tuple[Buffer, ...]
    indices: tuple[Int, ...]
    sources: tuple[Buffer, ...]
    source_indices: tuple[Int, ...]
    lane: Int
    size: Int
    over: Literal["lanes", "warp", "block"] = "lanes"


@dataclass(frozen=True, eq=False)
class CopyAxis:
    """A loop of a copy: `var` over [0, limit); `extent` is the maximum, `count` the average."""

    var: Int
    extent: Int
    limit: Int
    count: Count


@dataclass(frozen=True, eq=False)
class Bound:
    """low <= index < high."""

    low: Int
    index: Int
    high: Int


@dataclass(frozen=True, eq=False)
class Copy(Node):
    """For every point of `axes`: buffer[indices] = value where all `bounds` hold, else `fill`.

    A leaf: splitting its loops at the bounds, vectors and cooperation of threads are the text reader's business. The
    innermost axis is the one to run along vectors. `threads` is the number of threads that share it (1: none),
    `asynchronous` asks for copies that a later barrier completes.
    """

    buffer: Buffer
    axes: tuple[CopyAxis, ...]
    indices: tuple[Int, ...]
    value: Expr
    bounds: tuple[Bound, ...] = ()
    fill: float = 0.0
    threads: Int = ONE
    asynchronous: bool = False


@dataclass(frozen=True, eq=False)
class Barrier(Node):
    scope: Literal["warp", "block"] = "block"


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """What loops cannot say. `meaning` is a small nest over the operand buffers; `text` per language has {0}, {1}, ..
    for operand addresses; `operand_shapes` are the tiles."""

    name: str
    operand_shapes: tuple[tuple[int, ...], ...]
    meaning: Callable[..., Body]
    text: dict[str, str]


@dataclass(frozen=True, eq=False)
class Tile:
    """An operand of an intrinsic: the tile of `buffer` whose first element is at `indices`."""

    buffer: Buffer
    indices: tuple[Int, ...]


@dataclass(frozen=True, eq=False)
class Invoke(Node):
    intrinsic: Intrinsic
    operands: tuple[Tile, ...]


@dataclass(frozen=True, eq=False)
class Region:
    """Parallel `loops` (bodies empty, outermost first; on CUDA block loops), collapsed into one task index, and the
    body of one task. `name` is unique in the nest."""

    name: str
    loops: tuple[Loop, ...]
    body: Body

    @property
    def tasks(self) -> Int:
        return product([loop.extent for loop in self.loops])


@dataclass(frozen=True, eq=False)
class Nest:
    """A whole kernel. `prepare` regions fill `packed` buffers from constant inputs, once, outside the timed part;
    `regions` run in order, `workspaces` carry values between them. `sizes`: symbols known only at run time."""

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    packed: tuple[Buffer, ...]
    workspaces: tuple[Buffer, ...]
    prepare: tuple[Region, ...]
    regions: tuple[Region, ...]
    sizes: tuple[Int, ...] = ()


def children(node: Node) -> Body:
    """The statements directly below a node."""
    if isinstance(node, (Loop, Block, Guard)):
        return node.body
    return ()


def walk(body: Body) -> Iterator[Node]:
    """Every node below a body, outside in, in order."""
    for node in body:
        yield node
        yield from walk(children(node))
