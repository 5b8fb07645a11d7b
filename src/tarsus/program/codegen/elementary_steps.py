"""Steps that elementary functions share: argument reduction, powers of two, double-word logarithms.

They write basic operations to an `Arithmetic`; see `elementary`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from tarsus.program.codegen import coefficients as table

INF, NAN = math.inf, math.nan


class Arithmetic(Protocol):
    """Writer of operations; values and masks are names."""

    bits: int

    def const(self, x: float, /) -> str: ...
    def add(self, a: str, b: str, /) -> str: ...
    def sub(self, a: str, b: str, /) -> str: ...
    def mul(self, a: str, b: str, /) -> str: ...
    def div(self, a: str, b: str, /) -> str: ...
    def fma(self, a: str, b: str, c: str, /) -> str: ...
    def neg(self, a: str, /) -> str: ...
    def abs(self, a: str, /) -> str: ...
    def sqrt(self, a: str, /) -> str: ...
    def floor(self, a: str, /) -> str: ...
    def copysign(self, magnitude: str, sign: str, /) -> str: ...
    def lt(self, a: str, b: str, /) -> str: ...
    def le(self, a: str, b: str, /) -> str: ...
    def eq(self, a: str, b: str, /) -> str: ...
    def select(self, condition: str, a: str, b: str, /) -> str: ...
    def bits_of(self, a: str, /) -> str: ...
    def from_bits(self, a: str, /) -> str: ...
    def integer(self, x: int, /) -> str: ...
    def integer_op(self, op: str, a: str, b: str, /) -> str: ...


@dataclass(frozen=True)
class Format:
    """Binary floating-point format, and arguments beyond which functions overflow or saturate."""

    digits: int
    bias: int
    root_half: int
    exp_range: tuple[float, float]
    expm1_low: float
    sinh_high: float
    tanh_high: float
    power_limit: float
    hypot_scale: tuple[int, int, int]

    @property
    def shifter(self) -> float:
        """Number whose addition and subtraction rounds to an integer."""
        return 1.5 * 2.0**self.digits


FORMATS = {
    64: Format(
        52, 1023, 0x3FE6A09E667F3BCD, (-746.0, 710.0), -40.0, 710.8, 20.0, 1100.0, (500, -450, 600)
    ),
    32: Format(23, 127, 0x3F3504F3, (-104.0, 89.0), -20.0, 89.6, 10.0, 160.0, (60, -40, 90)),
}


def horner(s: Arithmetic, x: str, tables: dict[int, tuple[float, ...]]) -> str:
    """Evaluate a polynomial, coefficients lowest power first, by fused multiply-adds."""
    *rest, last = tables[s.bits]
    value = s.const(last)
    for coefficient in reversed(rest):
        value = s.fma(value, x, s.const(coefficient))
    return value


def nearest(s: Arithmetic, x: str, factor: str, step: float) -> str:
    """Find the multiple of `step` (a power of two) nearest to x * factor."""
    shifter = s.const(step * FORMATS[s.bits].shifter)
    return s.sub(s.fma(x, factor, shifter), shifter)


def at_most(s: Arithmetic, x: str, high: float) -> str:
    """Compute min(x, high); NaN stays NaN."""
    return s.select(s.lt(s.const(high), x), s.const(high), x)


def clamp(s: Arithmetic, x: str, low: float, high: float) -> str:
    """Clamp x to a range; NaN stays NaN."""
    return at_most(s, s.select(s.lt(x, s.const(low)), s.const(low), x), high)


def atan_from(s: Arithmetic, turn: str, u: str) -> str:
    """Compute turn * pi + atan(u) for |u| <= tan(pi/8)."""
    high, low = (s.const(part) for part in table.PI[s.bits])
    z = s.mul(u, u)
    rest = s.fma(s.mul(u, z), horner(s, z, table.ATAN), s.mul(turn, low))
    return s.fma(turn, high, s.add(u, rest))


def half_angle(s: Arithmetic, size: str) -> tuple[str, str, str]:
    """Compute |x| > 1/2, sqrt((1 - |x|) / 2), and the polynomial's argument: its square or x*x."""
    half = s.const(0.5)
    big, square = s.lt(half, size), s.fma(size, s.const(-0.5), half)
    return big, s.sqrt(square), s.select(big, square, s.mul(size, size))


def expm1_near_zero(s: Arithmetic, r: str) -> str:
    """Compute exp(x) - 1 for |x| up to about ln(2) / 2."""
    return s.fma(s.mul(r, r), horner(s, r, table.EXPM1), r)


def exp_parts(s: Arithmetic, x: str) -> tuple[str, str]:
    """Compute n and q with exp(x) = 2**n * (1 + q)."""
    high, low = (s.const(-part) for part in table.LN2[s.bits])
    n = nearest(s, x, s.const(1.0 / math.log(2)), 1.0)
    return n, expm1_near_zero(s, s.fma(n, low, s.fma(n, high, x)))


def exp_minus_one(s: Arithmetic, n: str, q: str, fewer: int) -> str:
    """Compute (2**n * (1 + q) - 1) / 2**fewer; `fewer` prevents overflow of large results."""
    scale = power_of_two(s, s.sub(n, s.const(float(fewer))) if fewer else n)
    return s.fma(scale, q, s.sub(scale, s.const(2.0**-fewer)))


def power_of_two(s: Arithmetic, n: str) -> str:
    """Compute 2**n, a normal number, by shifting the digits of n to the exponent."""
    form = FORMATS[s.bits]
    digits = s.bits_of(s.add(n, s.const(form.shifter + form.bias)))
    return s.from_bits(s.integer_op("shl", digits, s.integer(form.digits)))


def scale_by_power(s: Arithmetic, x: str, n: str) -> str:
    """Compute x * 2**n, in two steps for correct overflow and gradual underflow."""
    half = s.floor(s.mul(n, s.const(0.5)))
    return s.mul(s.mul(x, power_of_two(s, half)), power_of_two(s, s.sub(n, half)))


def split_exponent(s: Arithmetic, x: str) -> tuple[str, str]:
    """Find m in [sqrt(1/2), sqrt(2)) and integer e with x = m * 2**e, for positive finite x."""
    form = FORMATS[s.bits]
    unit, first = form.bias << form.digits, 2.0**form.digits + form.bias
    is_small, lift = s.lt(x, s.const(2.0 ** (1 - form.bias))), form.digits + 2
    word = s.bits_of(s.select(is_small, s.mul(x, s.const(2.0**lift)), x))
    word = s.integer_op("add", word, s.integer(unit - form.root_half))
    digits = s.integer_op("and", word, s.integer((1 << form.digits) - 1))
    m = s.from_bits(s.integer_op("add", digits, s.integer(form.root_half)))
    exponent = s.integer_op("lshr", word, s.integer(form.digits))
    exponent = s.integer_op("or", exponent, s.integer((form.bias + form.digits) << form.digits))
    return m, s.sub(
        s.from_bits(exponent), s.select(is_small, s.const(first + lift), s.const(first))
    )


def log_plus(s: Arithmetic, x: str, extra: str) -> str:
    """Compute log(x) + extra for positive finite x: log(1 + f) = f - ratio * (f - z * P(z))."""
    high, low = (s.const(part) for part in table.LN2[s.bits])
    m, e = split_exponent(s, x)
    f = s.sub(m, s.const(1.0))
    ratio = s.div(f, s.add(m, s.const(1.0)))
    z = s.mul(ratio, ratio)
    rest = s.fma(ratio, s.fma(z, horner(s, z, table.LOG), s.neg(f)), s.fma(e, low, extra))
    return s.fma(e, high, s.add(f, rest))


def with_special_logs(s: Arithmetic, x: str, result: str) -> str:
    """Compute a logarithm with its values at zero, infinity, NaN and negative x."""
    zero = s.const(0.0)
    result = s.select(s.lt(x, s.const(INF)), result, x)
    result = s.select(s.lt(x, zero), s.const(NAN), result)
    return s.select(s.eq(x, zero), s.const(-INF), result)


def log2_pair(s: Arithmetic, x: str) -> tuple[str, str]:
    """Compute log2(x) of positive finite x as two summands, to 2**-63 (float32: 2**-35)."""
    one = s.const(1.0)
    lead, lead_low = (s.const(part) for part in table.TWO_OVER_LN2[s.bits])
    third, third_low = (s.const(part) for part in table.TWO_THIRDS_OVER_LN2[s.bits])
    m, e = split_exponent(s, x)
    over, under = s.sub(m, one), s.add(m, one)
    under_low, inverse = s.sub(m, s.sub(under, one)), s.div(one, under)
    r = s.mul(over, inverse)
    minus = s.neg(r)
    r_low = s.mul(s.fma(minus, under_low, s.fma(minus, under, over)), inverse)
    z = s.mul(r, r)
    z_low = s.fma(s.add(r, r), r_low, s.fma(r, r, s.neg(z)))
    rest = s.mul(z, horner(s, z, table.LOG2))
    u, u_low = two_sum(s, third, rest, third_low)
    v, v_low = two_product(s, z, z_low, u, u_low)
    w, w_low = two_sum(s, lead, v, s.add(v_low, lead_low))
    p, p_low = two_product(s, r, r_low, w, w_low)
    return two_sum(s, e, p, p_low)


def two_sum(s: Arithmetic, a: str, b: str, low: str) -> tuple[str, str]:
    """Compute a + b + low as two numbers, for |a| >= |b| or a = 0, and small `low`."""
    total = s.add(a, b)
    return total, s.add(s.add(s.sub(a, total), b), low)


def two_product(s: Arithmetic, a: str, a_low: str, b: str, b_low: str) -> tuple[str, str]:
    """Compute (a + a_low) * (b + b_low) as two numbers."""
    total = s.mul(a, b)
    return total, s.fma(a_low, b, s.fma(a, b_low, s.fma(a, b, s.neg(total))))
