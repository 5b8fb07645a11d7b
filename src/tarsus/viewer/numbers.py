"""Numbers as tables show them: an interval is never rounded away, nor a name longer than needed."""

from __future__ import annotations

import math
from pathlib import Path

LEAST = 1e-4  # a smaller interval is written with a power of ten


def plus_minus(value: float, half: float, form: str = "{:.4g}") -> str:
    """Return "value ±half" with as many digits as the half-interval needs for one of its own.

    form: of both, where the half-interval shows in it
    """
    plain = form.format(half)
    if half == 0 or not math.isfinite(half):
        return form.format(value)
    if float(plain.replace(",", "")) > 0:
        return f"{form.format(value)} ±{plain}"
    if half < LEAST:
        return f"{value:.6g} ±{half:.1g}"
    digits = -math.floor(math.log10(half))
    return f"{value:.{digits}f} ±{half:.{digits}f}"


def ends(low: float, high: float, digits: int = 5, between: str = " to ") -> str:
    """Return "low to high" with at least two digits of what lies between them."""
    width, largest = high - low, max(abs(low), abs(high))
    if width > 0 and largest > 0 and math.isfinite(width):
        digits = max(digits, math.ceil(math.log10(largest / width)) + 2)
    digits = min(digits, 17)
    return f"{low:.{digits}g}{between}{high:.{digits}g}"


def short_name(name: str) -> str:
    """Return a name as it is; of a path to a file of one's own, the file's."""
    return Path(name).stem if name.endswith((".py", ".xml")) else name
