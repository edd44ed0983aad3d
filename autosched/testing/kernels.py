"""Small kernels written by hand, honest ones and others, for tests of building and running.

Each computes y = 2 x over N_TASKS tasks of one element, unless its text says otherwise.
"""

from __future__ import annotations

import numpy as np

from autosched.codegen.kernel import BufferSpec, Kernel, RegionSpec
from autosched.measure.protocol import Check, InputSet

N_TASKS = 1003

HEAD = """typedef __INT64_TYPE__ int64_t;
typedef __INT32_TYPE__ int32_t;
#define REGION(name) void name(const void *const *in, void *const *out, void *scratch, int64_t first, int64_t last, \\
                               int32_t thread)
"""

DOUBLE = "const float *x = in[0]; float *y = out[0]; for (int64_t i = first; i < last; i++) y[i] = 2 * x[i];"


def doubling_kernel(
    body: str = DOUBLE, declarations: str = "", n_elements: int = N_TASKS
) -> Kernel:
    """A kernel of one region whose function body is `body`."""
    source = f"{HEAD}{declarations}\nREGION(k_r0)\n{{\n    {body}\n}}\n"
    return Kernel(
        name="double",
        language="c",
        source=source,
        inputs=(BufferSpec("x", "float32", n_elements),),
        outputs=(BufferSpec("y", "float32", n_elements),),
        packed=(),
        workspaces=(),
        prepare=(),
        regions=(RegionSpec("k_r0", n_elements, 0),),
        operations=n_elements,
    )


def doubling_check(n_elements: int = N_TASKS) -> Check:
    """Three exact sets of a `doubling_kernel`."""
    x = np.arange(n_elements, dtype=np.float32)
    return Check(tuple(InputSet((k * x,), (2 * k * x,), (0.0,), exact=True) for k in (1, 2, 3)))
