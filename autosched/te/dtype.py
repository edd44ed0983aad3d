"""The element types and what each is in bytes, NumPy and promotion order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type: size in bytes, NumPy dtype, kind (`float`, `int` or `bool`)."""

    name: str
    n_bytes: int
    numpy: Any
    kind: str


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("float64", 8, np.float64, "float"),
        DType("float32", 4, np.float32, "float"),
        DType("float16", 2, np.float16, "float"),
        DType("bfloat16", 2, ml_dtypes.bfloat16, "float"),
        DType("int64", 8, np.int64, "int"),
        DType("int32", 4, np.int32, "int"),
        DType("int8", 1, np.int8, "int"),
        DType("uint8", 1, np.uint8, "int"),
        DType("bool", 1, np.bool_, "bool"),
    )
}


def is_float(dtype: str) -> bool:
    return DTYPES[dtype].kind == "float"


def n_bytes(dtype: str) -> int:
    return DTYPES[dtype].n_bytes


def numpy_dtype(dtype: str) -> Any:
    return np.dtype(DTYPES[dtype].numpy)
