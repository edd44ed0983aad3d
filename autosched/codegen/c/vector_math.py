"""exp, log, tanh, erf and their kin on float32 vectors, in vector arithmetic that every target has.

Each is a template over the vector: $V its type, $I the int32 vector of equal width, $W its lanes, $X(c) a constant.
Coefficients are minimax fits of relative error, made by iteratively reweighted least squares at Chebyshev nodes in
double precision. Error is within 4 units in the last place; NaN and infinities give what NumPy gives, results below the
least normal number may be rounded twice. The method of each function stands in its template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    """C text of a helper function `$V_NAME`, and the helpers of the same type it calls."""

    text: str
    needs: tuple[str, ...] = ()


def horner(x: str, coefficients: Sequence[float]) -> str:
    """The polynomial as nested multiply-adds, lowest power first in `coefficients`."""
    text = f"$X({coefficients[-1]!r}f)"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {x} + $X({c!r}f))"
    return text


EXP = (0.4999999403953552, 0.16666515171527863, 0.04166845604777336, 0.008369418792426586,
       0.0013813142431899905)  # fmt: skip
LOG = (0.3333333134651184, -0.2500082850456238, 0.2000129371881485, -0.16623103618621826,
       0.14199955761432648, -0.1316090077161789, 0.12775550782680511, -0.07650730013847351)  # fmt: skip
TANH = (-0.3333325982093811, 0.1333083063364029, -0.05368801951408386, 0.020469410344958305,
        -0.005515154451131821)  # fmt: skip
ERF = (0.12837916612625122, -0.3761262595653534, 0.1128358542919159, -0.026853810995817184,
       0.005188327748328447, -0.0008010192541405559, 7.853857823647559e-05)  # fmt: skip
LOG_ERFC = (0.0001692051300778985, -1.1294883489608765, -0.6334008574485779, -0.10822038352489471,
            0.025080615654587746, -0.004156254697591066, 0.0004313935642130673,
            -2.0828618289669976e-05)  # fmt: skip

_EXP = f"""\
/* n = round(x / ln 2), r = x - n ln 2; e^x = 2^n (1 + r + r^2 P(r)), n added to the exponent's bits. 0 from the least
   normal number down, infinite from the largest up; x * inf keeps NaN. */
static inline $V $V_exp($V x) {{
  const $V shifted = x * $X(1.44269504f) + $X(12582912.0f);
  const $V n = shifted - $X(12582912.0f);
  const $V r = (x - n * $X(0.693145752f)) - n * $X(1.42860677e-06f);
  const $V p = ({horner("r", EXP)} * r) * r + r + $X(1.0f);
  const $I y = (($I)p + (($I)shifted << 23)) & (x > $X(-87.3365479f));
  return $V_select(x < $X(88.7228394f), ($V)y, x * $X(__builtin_inff()));
}}
"""

_LOG = f"""\
/* x = 2^e (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1]; log x = e ln 2 + f - f^2 / 2 + f^3 P(f). */
static inline $V $V_log($V x) {{
  const $I tiny = x < $X(1.17549435e-38f);
  const $V scaled = $V_select(tiny, x * $X(8388608.0f), x);
  const $I bits = ($I)scaled - 0x3f3504f3;
  const $V f = ($V)((bits & 0x7fffff) + 0x3f3504f3) - $X(1.0f);
  const $V e = __builtin_convertvector((bits >> 23) - (tiny & 23), $V);
  const $V p = {horner("f", LOG)} * f * f * f + e * $X(1.42860677e-06f) - $X(0.5f) * f * f;
  $V y = (p + f) + e * $X(0.693145752f);
  y = $V_select(x == $X(0.0f), $X(-__builtin_inff()), y);
  y = $V_select(x < $X(0.0f), $X(__builtin_nanf("")), y);
  return $V_select((x == $X(__builtin_inff())) | (x != x), x, y);
}}
"""

_TANH = f"""\
/* Below 0.65 an odd polynomial, above it 1 - 2 / (e^(2|x|) + 1) with the sign of x. */
static inline $V $V_tanh($V x) {{
  const $I sign = ($I)x & (-0x7fffffff - 1);
  const $V a = ($V)(($I)x ^ sign);
  const $V z = x * x;
  const $V small = x * z * {horner("z", TANH)} + x;
  const $V large = $X(1.0f) - $X(2.0f) / ($V_exp(a + a) + $X(1.0f));
  return $V_select(a < $X(0.65f), small, ($V)(($I)large | sign));
}}
"""

_ERF = f"""\
/* Below 1 an odd polynomial, above it 1 - e^P(|x|) with the sign of x; 1 in float32 beyond 4. */
static inline $V $V_erf($V x) {{
  const $I sign = ($I)x & (-0x7fffffff - 1);
  const $V a = ($V)(($I)x ^ sign);
  const $V z = x * x;
  const $V small = x * {horner("z", ERF)} + x;
  const $V b = $V_select(a > $X(4.0f), $X(4.0f), a);
  const $V large = $X(1.0f) - $V_exp({horner("b", LOG_ERFC)});
  return $V_select(a < $X(1.0f), small, ($V)(($I)large | sign));
}}
"""

_SIGMOID = """\
static inline $V $V_sigmoid($V x) { return $X(1.0f) / ($X(1.0f) + $V_exp(-x)); }
"""

_SQRT = """\
static inline $V $V_sqrt($V x) {
#if defined(__AVX__) && $W == 8
  return ($V)__builtin_ia32_sqrtps256(x);
#elif defined(__SSE__) && $W == 4
  return ($V)__builtin_ia32_sqrtps(x);
#else
  $V y;
  for (int i = 0; i < $W; ++i) y[i] = __builtin_sqrtf(x[i]);
  return y;
#endif
}
"""

_RSQRT = """\
static inline $V $V_rsqrt($V x) { return $X(1.0f) / $V_sqrt(x); }
"""

_ABS = """\
static inline $V $V_abs($V x) { return ($V)(($I)x & 0x7fffffff); }
"""

_ROUNDED = """\
/* Through int32 where the value has a fraction at all; the sign of zero stays. */
static inline $V $V_%(name)s($V x) {
  const $V whole = __builtin_convertvector(__builtin_convertvector(
      $V_select($V_abs(x) < $X(8388608.0f), x, $X(0.0f)), $I), $V);
  const $V y = whole %(sign)s $V_select(%(beyond)s, $X(1.0f), $X(0.0f));
  const $V signed_y = ($V)(($I)y | (($I)x & (-0x7fffffff - 1)));
  return $V_select($V_abs(x) < $X(8388608.0f), signed_y, x);
}
"""

FLOAT32_VECTOR: dict[str, Template] = {
    "exp": Template(_EXP, ("select", "splat")),
    "log": Template(_LOG, ("select", "splat")),
    "tanh": Template(_TANH, ("exp", "select", "splat")),
    "erf": Template(_ERF, ("exp", "select", "splat")),
    "sigmoid": Template(_SIGMOID, ("exp", "splat")),
    "sqrt": Template(_SQRT),
    "rsqrt": Template(_RSQRT, ("sqrt", "splat")),
    "abs": Template(_ABS),
    "floor": Template(
        _ROUNDED % {"name": "floor", "sign": "-", "beyond": "whole > x"},
        ("abs", "select", "splat"),
    ),
    "ceil": Template(
        _ROUNDED % {"name": "ceil", "sign": "+", "beyond": "whole < x"},
        ("abs", "select", "splat"),
    ),
}
