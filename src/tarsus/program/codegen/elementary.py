"""Elementary functions in basic operations, for any number of lanes and any target with FMA.

Nothing here calls a mathematics library, and nothing leaves the compiler a choice: every fused
multiply-add is explicit, and there are no fast-math flags. So a result has the same bits for any
number of lanes and on any machine; only the sign and payload of a NaN may differ. NaN in gives NaN
out; infinities and signed zeros follow IEEE 754. Error bounds are in units in the last place (ulp)
of the result, for float64 and float32 unless stated. `elementary_steps` has the parts that
functions share, `coefficients` the polynomials.
"""

from __future__ import annotations

import math

from tarsus.program.codegen import coefficients as table
from tarsus.program.codegen.elementary_steps import (
    FORMATS,
    INF,
    NAN,
    Arithmetic,
    at_most,
    atan_from,
    clamp,
    exp_minus_one,
    exp_parts,
    expm1_near_zero,
    half_angle,
    horner,
    log2_pair,
    log_plus,
    nearest,
    power_of_two,
    scale_by_power,
    with_special_logs,
)


def sin_cos(s: Arithmetic, x: str) -> tuple[str, str]:
    """Compute sine and cosine to 1.5 ulp for |x| <= 1e5; in float32 to 1.6 ulp for |x| <= 1e4.

    The absolute error stays below 1e-15 (float32: 5e-7) up to |x| = 2**50 (2**21); beyond, the
    result is undefined. The sine of -0 is +0. The quadrant is applied in floating point, as factors
    of -1, 0 or 1 of the sine and cosine of the reduced argument.
    """
    parts = [s.const(-part) for part in table.HALF_PI[s.bits]]
    one, per_turn = s.const(1.0), s.const(2.0 / math.pi)
    quarters = nearest(s, x, per_turn, 1.0)
    back = s.sub(nearest(s, x, per_turn, 4.0), quarters)
    r = s.fma(quarters, parts[0], x)
    r = s.fma(quarters, parts[2], s.fma(quarters, parts[1], r))
    z = s.mul(r, r)
    sine = s.fma(s.mul(r, z), horner(s, z, table.SIN), r)
    cosine = s.fma(z, s.fma(z, horner(s, z, table.COS), s.const(-0.5)), one)
    straight = s.sub(one, s.abs(back))
    crossed = s.fma(back, straight, back)
    sin_x = s.fma(s.neg(crossed), cosine, s.mul(straight, sine))
    return sin_x, s.fma(crossed, sine, s.mul(straight, cosine))


def tan(s: Arithmetic, x: str) -> str:
    """Compute the tangent, to 3.5 ulp in the range of `sin_cos`."""
    return s.div(*sin_cos(s, x))


def atan(s: Arithmetic, x: str) -> str:
    """Compute the arc tangent, to 2 ulp."""
    size, one = s.abs(x), s.const(1.0)
    inner, far = s.le(size, s.const(math.sqrt(2) - 1)), s.le(s.const(math.sqrt(2) + 1), size)
    above = s.select(inner, size, s.select(far, s.const(-1.0), s.sub(size, one)))
    below = s.select(inner, one, s.select(far, size, s.add(size, one)))
    turn = s.select(inner, s.const(0.0), s.select(far, s.const(0.5), s.const(0.25)))
    return s.copysign(atan_from(s, turn, s.div(above, below)), x)


def atan2(s: Arithmetic, y: str, x: str) -> str:
    """Compute the angle of the point (x, y), to 2 ulp; |x| + |y| must be finite."""
    zero, ahead = s.const(0.0), s.copysign(s.const(1.0), x)
    wide, high = s.abs(x), s.abs(y)
    steep = s.lt(wide, high)
    long, short = s.select(steep, high, wide), s.select(steep, wide, high)
    excess = s.sub(short, long)
    is_inner = s.le(s.fma(short, s.const(math.sqrt(2)), excess), zero)
    above = s.select(is_inner, short, excess)
    ratio = s.div(above, s.select(is_inner, long, s.add(short, long)))
    ratio = s.select(s.eq(short, long), zero, ratio)
    behind = s.neg(ahead)
    ratio = s.mul(ratio, s.select(steep, behind, ahead))
    from_up = s.select(is_inner, s.select(steep, zero, s.const(0.5)), s.const(0.25))
    turn = s.fma(behind, from_up, s.const(0.5))
    return s.copysign(atan_from(s, turn, ratio), y)


def asin(s: Arithmetic, x: str) -> str:
    """Compute the arc sine, to 2.5 ulp; NaN outside [-1, 1]."""
    size, zero = s.abs(x), s.const(0.0)
    big, root, z = half_angle(s, size)
    v = s.select(big, s.mul(root, s.const(-2.0)), size)
    high, low = (s.select(big, s.const(part / 2), zero) for part in table.PI[s.bits])
    rest = s.fma(s.mul(v, z), horner(s, z, table.ASIN), low)
    return s.copysign(s.add(s.add(high, v), rest), x)


def acos(s: Arithmetic, x: str) -> str:
    """Compute the arc cosine, to 1.5 ulp also near -1 and 1; NaN outside [-1, 1]."""
    zero, one = s.const(0.0), s.const(1.0)
    big, root, z = half_angle(s, s.abs(x))
    v = s.select(big, s.copysign(s.add(root, root), x), s.neg(x))
    turn = s.select(big, s.select(s.lt(x, zero), one, zero), s.const(0.5))
    high, low = (s.const(part) for part in table.PI[s.bits])
    rest = s.fma(s.mul(v, z), horner(s, z, table.ASIN), s.mul(turn, low))
    return s.add(s.fma(turn, high, v), rest)


def exp(s: Arithmetic, x: str) -> str:
    """Compute the exponential, to 1.5 ulp including gradual underflow."""
    n, q = exp_parts(s, clamp(s, x, *FORMATS[s.bits].exp_range))
    return scale_by_power(s, s.add(s.const(1.0), q), n)


def expm1(s: Arithmetic, x: str) -> str:
    """Compute exp(x) - 1, to 2.5 ulp for normal results."""
    form = FORMATS[s.bits]
    n, q = exp_parts(s, clamp(s, x, form.expm1_low, form.exp_range[1]))
    half = exp_minus_one(s, n, q, 1)
    return s.copysign(s.add(half, half), x)


def sinh(s: Arithmetic, x: str) -> str:
    """Compute the hyperbolic sine, to 2.5 ulp for normal results."""
    n, q = exp_parts(s, at_most(s, s.abs(x), FORMATS[s.bits].sinh_high))
    h = exp_minus_one(s, n, q, 2)
    half = s.add(h, s.div(h, s.fma(s.const(4.0), h, s.const(1.0))))
    return s.copysign(s.add(half, half), x)


def cosh(s: Arithmetic, x: str) -> str:
    """Compute the hyperbolic cosine, to 2 ulp."""
    n, q = exp_parts(s, at_most(s, s.abs(x), FORMATS[s.bits].sinh_high))
    scale = power_of_two(s, s.sub(n, s.const(2.0)))
    h = s.fma(scale, q, scale)
    half = s.add(h, s.div(s.const(0.0625), h))
    return s.add(half, half)


def tanh(s: Arithmetic, x: str) -> str:
    """Compute the hyperbolic tangent, to 3 ulp."""
    size = at_most(s, s.abs(x), FORMATS[s.bits].tanh_high)
    grown = exp_minus_one(s, *exp_parts(s, s.add(size, size)), 0)
    return s.copysign(s.div(grown, s.add(grown, s.const(2.0))), x)


def log(s: Arithmetic, x: str) -> str:
    """Compute the natural logarithm, to 1 ulp including subnormal arguments."""
    return with_special_logs(s, x, log_plus(s, x, s.const(0.0)))


def log1p(s: Arithmetic, x: str) -> str:
    """Compute log(1 + x), to 1 ulp."""
    one = s.const(1.0)
    total = s.add(one, x)
    lost = s.div(s.sub(x, s.sub(total, one)), total)
    return s.copysign(with_special_logs(s, total, log_plus(s, total, lost)), x)


def power(s: Arithmetic, x: str, y: str) -> str:
    """Compute x**y, to 1.5 ulp if normal; special values as in C: x**0 and 1**y are 1 for NaN."""
    form = FORMATS[s.bits]
    zero, half, one = s.const(0.0), s.const(0.5), s.const(1.0)
    size, limit = s.abs(x), 2.0 ** (form.digits + 18)
    exponent = clamp(s, y, -limit, limit)
    whole, halved = s.eq(s.floor(exponent), exponent), s.mul(exponent, half)
    high, low = log2_pair(s, size)
    high = s.select(whole, high, s.select(s.lt(x, zero), s.const(NAN), high))
    high = s.select(s.lt(size, s.const(INF)), high, size)
    high = s.select(s.eq(size, zero), s.const(-INF), high)
    product = s.mul(exponent, high)
    rest = s.fma(exponent, low, s.fma(exponent, high, s.neg(product)))
    rest = s.select(s.lt(s.abs(product), s.const(form.power_limit)), rest, zero)
    product = clamp(s, product, -form.power_limit, form.power_limit)
    n = nearest(s, product, one, 1.0)
    r = s.mul(s.add(s.sub(product, n), rest), s.const(table.LN2[s.bits][0]))
    result = scale_by_power(s, s.add(one, expm1_near_zero(s, r)), n)
    signed = s.select(s.eq(s.floor(halved), halved), result, s.copysign(result, x))
    result = s.select(whole, signed, result)
    return s.select(s.eq(y, zero), one, s.select(s.eq(x, one), one, result))


def hypot(s: Arithmetic, x: str, y: str) -> str:
    """Compute sqrt(x*x + y*y) without intermediate overflow, to 1.5 ulp for normal results."""
    large, small, step = (2.0**k for k in FORMATS[s.bits].hypot_scale)
    one, up, down = s.const(1.0), s.const(step), s.const(1.0 / step)
    size = s.add(s.abs(x), s.abs(y))
    is_large, is_small = s.lt(s.const(large), size), s.lt(size, s.const(small))
    scale = s.select(is_large, down, s.select(is_small, up, one))
    back = s.select(is_large, up, s.select(is_small, down, one))
    x, y = s.mul(x, scale), s.mul(y, scale)
    return s.mul(s.sqrt(s.fma(x, x, s.mul(y, y))), back)


def fmod(s: Arithmetic, x: str, y: str) -> str:
    """Compute the remainder with the sign of x: exact where |x / y| < 2**53 (float32: 2**24)."""
    size, by = s.abs(x), s.abs(y)
    rest = s.fma(s.neg(s.floor(s.div(size, by))), by, size)
    rest = s.select(s.lt(rest, s.const(0.0)), s.add(rest, by), rest)
    return s.copysign(s.select(s.lt(size, by), size, rest), x)
