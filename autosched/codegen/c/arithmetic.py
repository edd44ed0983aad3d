"""Operations on values, scalar and vector alike: C text from C text.

Both operands of an operation are of one dtype and one width. Conditions are ints in scalars, int32 masks in vectors.
"""

from __future__ import annotations

import math

from autosched.codegen.c.conversions import Conversion, Value, computed_dtype
from autosched.codegen.c.operations import BINARY_C, CLAMP_C, CLAMP_NAMES, UNARY_C, OperationC
from autosched.codegen.c.prelude import ELEMENTS, Prelude, has_vector_form
from autosched.codegen.c.writer import Writer
from autosched.te.dtype import is_float
from autosched.te.expr import BINARY, UNARY

NARROW = ("int8", "uint8")
"""Integers that C computes as int, so that results must be cast back."""


class Arithmetic:
    def __init__(self, writer: Writer, prelude: Prelude) -> None:
        self._writer = writer
        self._prelude = prelude

    def named(self, value: Value) -> Value:
        """The value in a temporary, so that it may be used often; a variable is one already."""
        if value.text.isidentifier():
            return value
        name = self._writer.temporary()
        type_name = self._prelude.type_name(value.dtype, value.width)
        self._writer.line(f"const {type_name} {name} = {value.text};")
        return Value(name, value.dtype, value.width)

    def type_name(self, dtype: str, width: int) -> str:
        """The C type of values."""
        return self._prelude.type_name(dtype, width)

    def cast(self, value: Value, dtype: str) -> Value:
        """The values converted to a dtype."""
        target = computed_dtype(dtype)
        text, width = value.text, value.width
        if value.dtype != target:
            text = self._converted(value, target)
        if dtype != target:
            convert = Conversion(self._prelude, dtype)
            text = convert.loaded(convert.stored(text, width), width)
        return Value(text, target, width)

    def _converted(self, value: Value, target: str) -> str:
        text, width = value.text, value.width
        type_name = self._prelude.type_name(target, width)
        if width == 1:
            return f"({text} != 0)" if target == "bool" else f"({type_name}){text}"
        if target == "bool":
            return self.as_mask(f"({text} != 0)", value.dtype, width)
        if value.dtype == "bool":
            text = f"(-{text})"
            if target == "int32":
                return text
        return f"__builtin_convertvector({text}, {type_name})"

    def as_mask(self, comparison: str, dtype: str, width: int) -> str:
        """The int32 mask of a comparison of vectors of `dtype`."""
        if ELEMENTS[dtype].n_bytes == 4:
            return comparison
        return f"__builtin_convertvector({comparison}, {self._prelude.of_letter('i', width)})"

    def operation(self, op: str, operands: tuple[Value, ...]) -> Value:
        """An operation of the tables on values of one dtype."""
        table = UNARY_C if len(operands) == 1 else BINARY_C
        form, dtype, width = table[op], operands[0].dtype, operands[0].width
        meaning = (UNARY if len(operands) == 1 else BINARY)[op]
        text = self._operation_text(op, form, operands)
        if meaning.dtype == "bool" and width > 1 and dtype != "bool":
            text = self.as_mask(text, dtype, width)
        elif dtype in NARROW and width == 1 and not meaning.dtype:
            text = f"({ELEMENTS[dtype].computed}){text}"
        return Value(text, meaning.dtype or dtype, width)

    def clamp(self, op: str, x: Value, y: Value) -> Value:
        """An extremum with a `y` known to be no NaN."""
        form, name = CLAMP_C[op], CLAMP_NAMES[op]
        if x.width == 1:
            function = self._prelude.scalar_function(name, form, x.dtype)
        else:
            function = self._prelude.function(name, x.dtype, x.width)
        return Value(f"{function}({x.text}, {y.text})", x.dtype, x.width)

    def _operation_text(self, op: str, form: OperationC, operands: tuple[Value, ...]) -> str:
        dtype, width = operands[0].dtype, operands[0].width
        texts = [o.text for o in operands]
        if form.infix and (is_float(dtype) or not form.integer):
            return (form.mask if form.mask and width > 1 else form.infix).format(*texts)
        if width == 1:
            name = self._prelude.scalar_function(op, form, dtype)
        elif has_vector_form(op, form, dtype):
            name = self._prelude.function(op, dtype, width)
        else:
            name = self._prelude.lanewise(op, form, dtype, width)
        return f"{name}({', '.join(texts)})"

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the condition holds, else `b`, both computed."""
        if a.width == 1:
            return Value(f"({condition.text} ? {a.text} : {b.text})", a.dtype, 1)
        mask = condition.text
        if ELEMENTS[a.dtype].n_bytes != 4:
            mask_type = self._prelude.mask_name(a.dtype, a.width)
            mask = f"__builtin_convertvector({mask}, {mask_type})"
        name = self._prelude.function("select", a.dtype, a.width)
        return Value(f"{name}({mask}, {a.text}, {b.text})", a.dtype, a.width)

    def constant(self, value: float, dtype: str, width: int) -> Value:
        """A constant as a value of this width."""
        computed = computed_dtype(dtype)
        if width == 1:
            return Value(literal(value, computed), computed, 1)
        if computed == "bool":
            return Value(self.splat("int32", "-1" if value else "0", width), computed, width)
        return Value(self.splat(computed, literal(value, computed), width), computed, width)

    def splat(self, dtype: str, text: str, width: int) -> str:
        """A scalar in every lane."""
        return f"{self._prelude.function('splat', dtype, width)}({text})"


def literal(value: float, dtype: str) -> str:
    """A scalar constant in C."""
    if not is_float(dtype):
        number = int(value)
        if dtype == "int64" and number == -(1 << 63):
            return "(-9223372036854775807 - 1)"
        if dtype == "int32" and number == -(1 << 31):
            return "(-2147483647 - 1)"
        return str(number) if number >= 0 else f"({number})"
    suffix = "f" if dtype == "float32" else ""
    number_ = float(value)
    if math.isnan(number_):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(number_):
        return f"__builtin_inf{suffix}()" if number_ > 0 else f"(-__builtin_inf{suffix}())"
    return f"{number_!r}{suffix}" if math.copysign(1, number_) > 0 else f"({number_!r}{suffix})"
