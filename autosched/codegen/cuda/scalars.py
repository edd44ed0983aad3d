"""CUDA text of types, constants and scalar operations.

The tables have one entry for every operation of `te.expr`; `{0}`, `{1}` are operand texts, each printed once: forms
that need an operand twice call a function of `PRELUDE`. Half-precision calls go through float.
"""

from __future__ import annotations

import math

from autosched.te.dtype import is_float
from autosched.te.expr import Const
from autosched.te.integer import Int

TYPES: dict[str, str] = {
    "float64": "double",
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int64": "long long",
    "int32": "int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}

HALVES = ("float16", "bfloat16")

HEADERS = {"float16": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}

PRELUDE = """\
template <class T> static __device__ inline bool is_nan(T a) { return a != a; }
template <class T> static __device__ inline T larger(T a, T b) { return (is_nan(a) || a > b) ? a : b; }
template <class T> static __device__ inline T smaller(T a, T b) { return (is_nan(a) || a < b) ? a : b; }
template <class T> static __device__ inline T absolute(T a) { return a < T(0) ? -a : a == T(0) ? T(0) : a; }
template <class T> static __device__ inline T sign(T a) { return a > T(0) ? T(1) : a < T(0) ? T(-1) : a; }
template <class T> static __device__ inline T sigmoid(T a) { return T(1) / (T(1) + exp(-a)); }
template <class I> static __device__ inline I floor_div(I a, I b) { return a / b - (a % b < 0); }
template <class I> static __device__ inline I floor_mod(I a, I b) { return a % b + (a % b < 0 ? b : 0); }
"""

UNARY: dict[str, str] = {
    "neg": "(-{0})",
    "abs": "absolute({0})",
    "exp": "exp({0})",
    "log": "log({0})",
    "tanh": "tanh({0})",
    "erf": "erf({0})",
    "sqrt": "sqrt({0})",
    "rsqrt": "(1 / sqrt({0}))",
    "sigmoid": "sigmoid({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "sign": "sign({0})",
    "not": "(!{0})",
    "isnan": "is_nan({0})",
}

BINARY: dict[str, str] = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "min": "smaller({0}, {1})",
    "max": "larger({0}, {1})",
    "pow": "pow({0}, {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
}

INTEGER: dict[str, str] = {
    "add": "({0} + {1})",
    "mul": "{0} * {1}",
    "floordiv": "floor_div<{index}>({0}, {1})",
    "ceildiv": "(-floor_div<{index}>(-({0}), {1}))",
    "mod": "floor_mod<{index}>({0}, {1})",
    "min": "smaller<{index}>({0}, {1})",
    "max": "larger<{index}>({0}, {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "and": "({0} && {1})",
    "xor": "({0} ^ {1})",
    "select": "({0} ? {1} : {2})",
}


def constant(value: Const) -> str:
    """A literal of the constant's type, exact."""
    kind = TYPES[value.type]
    if not is_float(value.type):
        number = int(value.value)
        text = f"{number + 1}LL - 1" if number < 0 else f"{number}LL"
    elif math.isfinite(value.value):
        text = f"{float(value.value)!r}{'' if value.type == 'float64' else 'f'}"
    else:
        sign = "-" if value.value < 0 else ""
        text = "NAN" if math.isnan(value.value) else f"{sign}INFINITY"
    return f"{kind}({text})" if " " not in kind else f"({kind})({text})"


def is_plain(op: str) -> bool:
    """Whether the operation is written alike for every type; others are calls, which halves make as float."""
    return op in ("neg", "abs", "sign", "not", "isnan")


def integer(expression: Int, name: dict[Int, str], index: str) -> str:
    """Text of a folded integer expression; `index` is the C type of indices."""
    if expression.is_constant:
        value = expression.value
        return f"({value})" if value < 0 else str(value)
    if expression.is_symbol:
        return name[expression]
    arguments = [integer(a, name, index) for a in expression.args]
    return INTEGER[expression.op].format(*arguments, index=index)
