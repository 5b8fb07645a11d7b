"""Format numbers, intervals and names for tables; rounding never hides an interval."""

from __future__ import annotations

import math
from pathlib import Path

MIN_FIXED_POINT = 1e-4  # smaller half-widths are written with an exponent


def plus_minus(value: float, half: float, form: str = "{:.4g}") -> str:
    """Format "value ±half" with at least one significant digit of the half-width.

    Parameters
    ----------
    value, half
        Center and half-width of the interval.
    form
        Format of both numbers, used unless it rounds the half-width to zero.
    """
    text = form.format(half)
    if half == 0 or not math.isfinite(half):
        return form.format(value)
    if float(text.replace(",", "")) > 0:
        return f"{form.format(value)} ±{text}"
    if half < MIN_FIXED_POINT:
        return f"{value:.6g} ±{half:.1g}"
    digits = -math.floor(math.log10(half))
    return f"{value:.{digits}f} ±{half:.{digits}f}"


def interval(low: float, high: float, digits: int = 5, between: str = " to ") -> str:
    """Format "low to high" with at least two significant digits of the difference."""
    width, largest = high - low, max(abs(low), abs(high))
    if width > 0 and largest > 0 and math.isfinite(width):
        digits = max(digits, math.ceil(math.log10(largest / width)) + 2)
    digits = min(digits, 17)
    return f"{low:.{digits}g}{between}{high:.{digits}g}"


def short_name(name: str) -> str:
    """Shorten the path to a user's file to its stem; other names are unchanged."""
    return Path(name).stem if name.endswith((".py", ".xml")) else name
