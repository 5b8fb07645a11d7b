"""Intervals of numbers, written as in mathematics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_VALUE = 1e15  # in SI units: beyond it, floating-point arithmetic loses all accuracy
MIN_POSITIVE = 1e-15  # of numbers that must be positive, so that the inverse stays in range
NAMED_BOUNDS = {"pi/2": np.pi / 2, "-pi/2": -np.pi / 2}


class Range(NamedTuple):
    """Interval of numbers, written as "[0, 1]" or "(0, inf)"."""

    low: float
    high: float
    low_excluded: bool
    high_excluded: bool
    text: str

    @classmethod
    def read(cls, text: str) -> Range:
        """Parse an interval: square brackets include a bound, round ones exclude it."""
        bounds = [part.strip() for part in text[1:-1].split(",")]
        low, high = (NAMED_BOUNDS[part] if part in NAMED_BOUNDS else float(part) for part in bounds)
        return cls(low, high, text[0] == "(", text[-1] == ")", text)

    def contains(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare values with the range; return where they are allowed.

        Allowed values are finite, inside the interval, at most `MAX_VALUE` in size, and at least
        `MIN_POSITIVE` if zero is excluded.
        """
        above = values > self.low if self.low_excluded else values >= self.low
        below = values < self.high if self.high_excluded else values <= self.high
        return (np.abs(values) <= MAX_VALUE) & above & below & ~self._too_small(values)

    def _too_small(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(
            (self.low == 0) & self.low_excluded & (values > 0) & (values < MIN_POSITIVE)
        )

    def rule(self, value: float = 0.0) -> str:
        """Complete the sentence "mu must ..." for a value that is not allowed."""
        if not np.isfinite(value):
            return "be finite"
        if abs(value) > MAX_VALUE and self.high == np.inf:
            return f"not be larger than {MAX_VALUE:g} in size"
        if self._too_small(np.asarray(value)):
            return f"be at least {MIN_POSITIVE:g}"
        low, high = (part.strip() for part in self.text[1:-1].split(","))
        if self.high == np.inf:
            if self.low == -np.inf:
                return "be finite"
            if self.low == 0:
                return "be positive" if self.low_excluded else "not be negative"
            return f"be {'greater than' if self.low_excluded else 'at least'} {low}"
        if self.low_excluded == self.high_excluded:
            return f"lie between {low} and {high}{', both excluded' if self.low_excluded else ''}"
        first = "greater than" if self.low_excluded else "at least"
        return f"be {first} {low} and {'less than' if self.high_excluded else 'at most'} {high}"

    def format(self) -> str:
        """Format the range for a table: "≥ 0", "0 to 1", "any"."""
        low, high = (part.strip() for part in self.text[1:-1].split(","))
        lower = "" if self.low == -np.inf else f"{'>' if self.low_excluded else '≥'} {low}"
        upper = "" if self.high == np.inf else f"{'<' if self.high_excluded else '≤'} {high}"
        if lower and upper and not (self.low_excluded or self.high_excluded):
            return f"{low} to {high}"
        return ", ".join(part for part in (lower, upper) if part) or "any"


ANY = Range.read("(-inf, inf)")
