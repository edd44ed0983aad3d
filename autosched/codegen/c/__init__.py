"""A nest and its numbers to C: plain C11 with the vector types of GCC and clang, no headers.

In: a nest, an int for each decision, a target. Out: a `Kernel`. The width of vectors follows the target; nothing else
of it is known here. It must not choose: what the text does, and in which order, is what the nest says.

    generate     a kernel: its regions, prelude and calling data
    regions      one region as a function over tasks
    bodies       loops, guards, blocks, allocations;  loops, unrolling  how a loop is written
    statements   Store, Reduce, Invoke over all lanes;  folds  horizontal reductions;  copies  packing and padding
    evaluation   scalar expressions at a point;  values  what they read;  arithmetic  operations on C text
    accesses     elements of memory and of registers;  registers  register buffers as variables
    lanes        the points that a statement is unrolled over
    scope        decisions put in, ranges, names;  symbols  what is late-bound;  integers  index expressions
    prelude      types and helper functions in use;  conversions, partials, operations, vector_math  their text
    work         the operations a nest executes
    printing     the state of printing one region;  writer  lines
"""

from autosched.codegen.c.generate import generate_c

__all__ = ["generate_c"]
