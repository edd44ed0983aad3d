"""Loads and stores of the valid lanes of a vector, for memory that must not be touched past them."""

from __future__ import annotations

from autosched.codegen.c.lanes import Chunk
from autosched.codegen.c.prelude import ELEMENTS, Prelude

AVX_LANES = 8
"""Floats in the vector that AVX loads under a mask."""

HALVED = ("float32", "float64", "int32", "int64")
"""Dtypes that are stored as they are computed."""


def partial_load(prelude: Prelude, dtype: str, chunk: Chunk) -> str:
    """The name of a function that loads the valid lanes of a chunk and puts 0 in the others."""
    vector = prelude.stored_name(dtype, chunk.width)
    name = f"{vector}_load{chunk.valid}"
    lanes = ", ".join(f"p[{i}]" if i < chunk.valid else "0" for i in range(chunk.width))
    body = f"  return ({vector}){{{lanes}}};\n"
    if dtype == "float32" and chunk.width == AVX_LANES:
        mask = ", ".join("-1" if i < chunk.valid else "0" for i in range(chunk.width))
        masked = f"({prelude.of_letter('i', chunk.width)}){{{mask}}}"
        fast = f"  return __builtin_ia32_maskloadps256((const {vector} *)p, {masked});\n"
        body = f"#if defined(__AVX__)\n{fast}#else\n{body}#endif\n"
    head = f"static inline {vector} {name}(const {ELEMENTS[dtype].stored} *p) {{\n"
    return prelude.record(name, f"{head}{body}}}\n")


def partial_store(prelude: Prelude, dtype: str, chunk: Chunk) -> str:
    """The name of a function that stores the valid lanes of a chunk: halves while they are whole, then elements."""
    vector = prelude.stored_name(dtype, chunk.width)
    name = f"{vector}_store{chunk.valid}"
    lines = []
    start = 0
    half = chunk.width // 2
    if half > 1 and chunk.valid >= half and dtype in HALVED:
        low = prelude.function("low", dtype, chunk.width)
        lines.append(f"*({prelude.stored_name(dtype, half)}_u *)p = {low}(x);")
        start = half
    lines += [f"p[{i}] = x[{i}];" for i in range(start, chunk.valid)]
    text = f"static inline void {name}({ELEMENTS[dtype].stored} *p, {vector} x) {{\n"
    return prelude.record(name, f"{text}  {' '.join(lines)}\n}}\n")
