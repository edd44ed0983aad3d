"""Values, and the way between elements as stored and as computed.

Float16 and bfloat16 lie in memory as bits and are computed as float32; bool lies as a byte and is computed as a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

from autosched.codegen.c.prelude import COMPUTED, Prelude


@dataclass(frozen=True)
class Value:
    """C text of `width` values of a computed dtype."""

    text: str
    dtype: str
    width: int


def computed_dtype(dtype: str) -> str:
    """The dtype that values of a dtype are computed in."""
    return COMPUTED.get(dtype, dtype)


class Conversion:
    """Between the elements of a dtype as stored and as computed."""

    def __init__(self, prelude: Prelude, dtype: str) -> None:
        self._prelude = prelude
        self._dtype = dtype

    def loaded(self, text: str, width: int) -> str:
        if self._dtype in COMPUTED:
            return f"{self._half(f'{self._dtype}_to_float', width, load=True)}({text})"
        if self._dtype == "bool":
            if width == 1:
                return f"({text} != 0)"
            mask = self._prelude.of_letter("i", width)
            return f"(__builtin_convertvector({text}, {mask}) != 0)"
        return text

    def stored(self, text: str, width: int) -> str:
        if self._dtype in COMPUTED:
            return f"{self._half(f'float_to_{self._dtype}', width, load=False)}({text})"
        if self._dtype == "bool":
            if width == 1:
                return f"(uint8_t)({text})"
            return f"__builtin_convertvector(-({text}), {self._prelude.of_letter('c', width)})"
        return text

    def _half(self, name: str, width: int, *, load: bool) -> str:
        scalar = self._prelude.conversion(name)
        if width == 1:
            return scalar
        bits, floats = self._prelude.of_letter("h", width), self._prelude.of_letter("f", width)
        source, result = (bits, floats) if load else (floats, bits)
        return self._prelude.record(
            f"{result}_{name}",
            f"static inline {result} {result}_{name}({source} x) {{\n  {result} r;\n"
            f"  for (int i = 0; i < {width}; ++i) r[i] = {scalar}(x[i]);\n  return r;\n}}\n",
        )
