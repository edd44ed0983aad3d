"""The types and helper functions that a kernel uses, and nothing else of them in its text.

Names: `v8f` is 8 floats, `v8f_u` the same at any address; `v8f_exp` is exp of a v8f, `float_exp` that of a float.
Float16 and bfloat16 are stored as bits and computed as float32; bool is stored as a byte, computed as an int32 mask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autosched.codegen.c.integers import INTEGER_PRELUDE
from autosched.codegen.c.operations import BINARY_C, CLAMP_C, CLAMP_NAMES, UNARY_C, OperationC
from autosched.codegen.c.vector_math import FLOAT32_VECTOR, Template
from autosched.te.dtype import is_float


@dataclass(frozen=True)
class Element:
    """One dtype in C: what is stored, what is computed with, the letter and bytes of the computed one."""

    stored: str
    stored_bytes: int
    computed: str
    letter: str
    n_bytes: int


ELEMENTS: dict[str, Element] = {
    "float64": Element("double", 8, "double", "d", 8),
    "float32": Element("float", 4, "float", "f", 4),
    "float16": Element("uint16_t", 2, "float", "f", 4),
    "bfloat16": Element("uint16_t", 2, "float", "f", 4),
    "int64": Element("int64_t", 8, "int64_t", "l", 8),
    "int32": Element("int32_t", 4, "int32_t", "i", 4),
    "int8": Element("int8_t", 1, "int8_t", "b", 1),
    "uint8": Element("uint8_t", 1, "uint8_t", "c", 1),
    "bool": Element("uint8_t", 1, "int32_t", "i", 4),
}

COMPUTED: dict[str, str] = {"float16": "float32", "bfloat16": "float32"}
"""The dtype that values of a dtype are computed in, where it is another."""

LETTERS: dict[str, tuple[str, int]] = {
    "d": ("double", 8),
    "f": ("float", 4),
    "l": ("int64_t", 8),
    "i": ("int32_t", 4),
    "b": ("int8_t", 1),
    "c": ("uint8_t", 1),
    "h": ("uint16_t", 2),
}
MASK_LETTER = {8: "l", 4: "i", 1: "b"}

CONVERSIONS: dict[str, str] = {
    "float16_to_float": """\
static inline float float16_to_float(uint16_t h) {
  union { uint32_t u; float f; } r, scale = { .u = 0x77800000u };
  r.u = (uint32_t)(h & 0x7fff) << 13;
  r.f *= scale.f;
  if ((h & 0x7fff) >= 0x7c00) r.u |= 0x7f800000u;
  r.u |= (uint32_t)(h & 0x8000) << 16;
  return r.f;
}
""",
    "float_to_float16": """\
static inline uint16_t float_to_float16(float f) {
  union { float f; uint32_t u; } x = { .f = f }, magic = { .u = 126u << 23 };
  const uint16_t sign = (uint16_t)((x.u >> 16) & 0x8000);
  x.u &= 0x7fffffffu;
  if (x.u > 0x7f800000u) return sign | 0x7e00;
  if (x.u >= 0x477ff000u) return sign | 0x7c00;
  if (x.u < 0x38800000u) {
    x.f += magic.f;
    return sign | (uint16_t)(x.u - magic.u);
  }
  return sign | (uint16_t)((x.u - 0x38000000u + 0xfffu + ((x.u >> 13) & 1)) >> 13);
}
""",
    "bfloat16_to_float": """\
static inline float bfloat16_to_float(uint16_t h) {
  union { uint32_t u; float f; } r = { .u = (uint32_t)h << 16 };
  return r.f;
}
""",
    "float_to_bfloat16": """\
static inline uint16_t float_to_bfloat16(float f) {
  union { float f; uint32_t u; } x = { .f = f };
  if (f != f) return (uint16_t)((x.u >> 16) | 0x40);
  return (uint16_t)((x.u + 0x7fffu + ((x.u >> 16) & 1)) >> 16);
}
""",
}

UNROLL_PRELUDE = """\
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define UNROLL(n) PRAGMA(clang loop unroll_count(n))
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif
"""


class Prelude:
    """Records what is used while the body is printed; `definitions` are what must stand before it."""

    def __init__(self) -> None:
        self._vectors: set[tuple[str, int]] = set()
        self._functions: dict[str, str] = {}

    def type_name(self, dtype: str, width: int) -> str:
        """The C type in which `width` values of this dtype are computed."""
        return self.of_letter(ELEMENTS[dtype].letter, width)

    def stored_name(self, dtype: str, width: int) -> str:
        """The C type of `width` elements as they lie in memory."""
        element = ELEMENTS[dtype]
        letter = next(k for k, (c, _) in LETTERS.items() if c == element.stored)
        return self.of_letter(letter, width)

    def of_letter(self, letter: str, width: int) -> str:
        if width == 1:
            return LETTERS[letter][0]
        self._vectors.add((letter, width))
        return f"v{width}{letter}"

    def mask_name(self, dtype: str, width: int) -> str:
        """The integer vector that a comparison of such values gives."""
        return self.of_letter(MASK_LETTER[ELEMENTS[dtype].n_bytes], width)

    def function(self, name: str, dtype: str, width: int) -> str:
        """The name of a helper on `width` values of `dtype`, its text recorded with all it needs."""
        own = f"{self.type_name(dtype, width)}_{name}"
        if own not in self._functions:
            if name in ("low", "high"):
                self.of_letter(ELEMENTS[dtype].letter, width // 2)
            template = _template(name, dtype, width)
            for needed in template.needs:
                self.function(needed, dtype, width)
            self._functions[own] = self._instance(template.text, dtype, width)
        return own

    def scalar_function(self, name: str, operation: OperationC, dtype: str) -> str:
        """The name of the scalar form of an operation that is a function."""
        own = f"{self.type_name(dtype, 1)}_{name}"
        if own not in self._functions:
            self._functions[own] = _scalar_text(own, name, operation, dtype)
        return own

    def lanewise(self, name: str, operation: OperationC, dtype: str, width: int) -> str:
        """The name of the vector form that calls the scalar form lane by lane."""
        vector = self.type_name(dtype, width)
        own = f"{vector}_{name}"
        if own not in self._functions:
            scalar = self.scalar_function(name, operation, dtype)
            y, at = (f", {vector} y", ", y[i]") if name in BINARY_C else ("", "")
            self._functions[own] = (
                f"static inline {vector} {own}({vector} x{y}) {{\n  {vector} r;\n"
                f"  for (int i = 0; i < {width}; ++i) r[i] = {scalar}(x[i]{at});\n  return r;\n}}\n"
            )
        return own

    def conversion(self, name: str) -> str:
        self._functions.setdefault(name, CONVERSIONS[name])
        return name

    def record(self, name: str, text: str) -> str:
        """The name of a function whose text the caller has made."""
        self._functions.setdefault(name, text)
        return name

    def _instance(self, text: str, dtype: str, width: int) -> str:
        vector = self.type_name(dtype, width)
        text = text.replace("$X", f"{vector}_splat").replace("$V", vector)
        text = text.replace("$I", self.mask_name(dtype, width)).replace("$W", str(width))
        return text.replace("$E", ELEMENTS[dtype].computed)

    def definitions(self) -> tuple[str, ...]:
        """What must stand before the body, each definition after those it needs."""
        types = (_typedefs(letter, width) for letter, width in sorted(self._vectors))
        return (INTEGER_PRELUDE, UNROLL_PRELUDE, *types, *self._functions.values())


def _typedefs(letter: str, width: int) -> str:
    element, n_bytes = LETTERS[letter]
    size = width * n_bytes
    name = f"v{width}{letter}"
    return (
        f"typedef {element} {name} __attribute__((vector_size({size})));\n"
        f"typedef {element} {name}_u __attribute__((vector_size({size}), aligned({n_bytes}), may_alias));\n"
    )


def _scalar_text(own: str, name: str, operation: OperationC, dtype: str) -> str:
    element = ELEMENTS[dtype].computed
    floating = is_float(dtype)
    form = operation.function if floating or not operation.integer else operation.integer
    form = form.format(f="f" if element == "float" else "", E=element)
    y = f", {element} y" if name not in UNARY_C else ""
    return f"static inline {element} {own}({element} x{y}) {{ return {form}; }}\n"


def _template(name: str, dtype: str, width: int) -> Template:
    if name == "splat":
        lanes = ", ".join(["x"] * width)
        return Template(f"static inline $V $V_splat($E x) {{ return ($V){{{lanes}}}; }}\n")
    if name == "select":
        return _select(dtype, width)
    if name in ("low", "high"):
        return Template(_half(name, dtype, width))
    if name == "every_second":
        return Template(_every_second(width))
    if dtype == "float32" and name in FLOAT32_VECTOR:
        return FLOAT32_VECTOR[name]
    clamps = {CLAMP_NAMES[op]: form for op, form in CLAMP_C.items()}
    operation = UNARY_C.get(name) or BINARY_C.get(name) or clamps[name]
    assert operation.vector is not None, name
    if name in EXTREMA and (ELEMENTS[dtype].letter, width) in EXTREMUM_SUFFIXES:
        return _with_instruction(name, dtype, width, operation.vector)
    return operation.vector


BLENDS = {
    ("f", 4): ("__SSE4_1__", "blendvps"),
    ("f", 8): ("__AVX__", "blendvps256"),
    ("d", 2): ("__SSE4_1__", "blendvpd"),
    ("d", 4): ("__AVX__", "blendvpd256"),
}
"""The instruction that selects, where one vector of this kind has it: (macro that tells, builtin)."""


def _select(dtype: str, width: int) -> Template:
    """x where the mask is -1, y where it is 0."""
    head = "static inline $V $V_select($I m, $V x, $V y) {\n"
    plain = "  return ($V)((m & ($I)x) | (~m & ($I)y));\n"
    blend = BLENDS.get((ELEMENTS[dtype].letter, width))
    if blend is None:
        return Template(f"{head}{plain}}}\n")
    macro, builtin = blend
    fast = f"  return ($V)__builtin_ia32_{builtin}(y, x, ($V)m);\n"
    return Template(f"{head}#if defined({macro})\n{fast}#else\n{plain}#endif\n}}\n")


EXTREMUM_SUFFIXES = {
    ("f", 4): ("__SSE__", "ps"),
    ("f", 8): ("__AVX__", "ps256"),
    ("d", 2): ("__SSE2__", "pd"),
    ("d", 4): ("__AVX__", "pd256"),
}
"""Where one vector of this kind has instructions for extrema: (macro that tells, suffix of the builtin). Such an
instruction gives its second operand where either is NaN."""

EXTREMA = {
    "at_least": "($V)__builtin_ia32_max{}(y, x)",
    "at_most": "($V)__builtin_ia32_min{}(y, x)",
    "max": "$V_select(x != x, x, ($V)__builtin_ia32_max{}(x, y))",
    "min": "$V_select(x != x, x, ($V)__builtin_ia32_min{}(x, y))",
}
"""The extrema with such an instruction; without it they are what `operations` says."""


def _with_instruction(name: str, dtype: str, width: int, plain: Template) -> Template:
    """`plain`, and the instruction in its place where the compiler has it."""
    macro, suffix = EXTREMUM_SUFFIXES[ELEMENTS[dtype].letter, width]
    fast = f"static inline $V $V_{name}($V x, $V y) {{ return {EXTREMA[name].format(suffix)}; }}\n"
    return Template(f"#if defined({macro})\n{fast}#else\n{plain.text}#endif\n", plain.needs)


def _half(name: str, dtype: str, width: int) -> str:
    """Lanes [0, width/2) or [width/2, width) as a vector (a scalar for two lanes)."""
    half = width // 2
    start = 0 if name == "low" else half
    letter = ELEMENTS[dtype].letter
    if half == 1:
        return f"static inline $E $V_{name}($V x) {{ return x[{start}]; }}\n"
    numbers = range(start, start + half)
    return (
        f"static inline v{half}{letter} $V_{name}($V x) {{\n"
        "#if defined(__clang__) || __GNUC__ >= 12\n"
        f"  return __builtin_shufflevector(x, x, {', '.join(map(str, numbers))});\n"
        "#else\n"
        f"  return (v{half}{letter}){{{', '.join(f'x[{i}]' for i in numbers)}}};\n"
        "#endif\n}\n"
    )


def _every_second(width: int) -> str:
    """Elements 0, 2, 4 .. of a row, from the vector at its start and the one that ends at the last of them."""
    picks = [i if i < width else i + 1 for i in range(0, 2 * width, 2)]
    parts = [f"x[{i}]" if i < width else f"y[{i - width}]" for i in picks]
    return (
        "static inline $V $V_every_second($V x, $V y) {\n"
        "#if defined(__clang__) || __GNUC__ >= 12\n"
        f"  return __builtin_shufflevector(x, y, {', '.join(map(str, picks))});\n"
        "#else\n"
        f"  return ($V){{{', '.join(parts)}}};\n"
        "#endif\n}\n"
    )


def has_vector_form(name: str, operation: OperationC, dtype: str) -> bool:
    """Whether the operation has a template on vectors of this dtype."""
    return operation.vector is not None or (dtype == "float32" and name in FLOAT32_VECTOR)


def is_helper_name(name: str) -> bool:
    """Whether a name could clash with a type, a helper or a temporary of the text."""
    return re.fullmatch(r"[at]\d+|v\d+\w+|(float|double|u?int\d+_t)_\w+", name) is not None
