"""A nest and its numbers to C: plain C11 with the vector types of GCC and clang, no headers.

In: a nest, an int for each decision, a target. Out: a `Kernel`. The width of vectors follows the target; nothing else
of it is known here. It must not choose: what the text does, and in which order, is what the nest says.

    generate    kernel: regions, prelude, calling data           regions   one region function and its tasks
    bodies      loops, guards, blocks, allocations               statements  Store, Reduce, Fold, Invoke over lanes
    copies      Copy: gates, fills and vectors                   values    scalar expressions, scalar and vector
    accesses    loads and stores of memory and registers         registers register buffers as C variables
    lanes       the points a statement is unrolled over          scope     concretisation, ranges, names
    folds       horizontal reductions                            unrolling  how far a loop is unrolled
    operations  C text of every operation                        prelude   types and helper functions in use
    vector_math exp, log, tanh, erf ... in vector arithmetic     integers  index expressions
    loops       counted loops, absent where they run once        work      operations executed
    symbols     late-bound symbols                               printing  state of one region
"""

from autosched.codegen.c.generate import generate_c

__all__ = ["generate_c"]
