"""Samples of a sweep: a grid, a Latin hypercube or random; reproducible by their seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name_error

Array = NDArray[np.float64]
METHODS = ("grid", "latin", "random")


@dataclass(frozen=True)
class Axis(ABC):
    """Axis of a sweep: a varied entry."""

    name: str

    @abstractmethod
    def values_at(self, share: Array) -> list[Any]:
        """Compute the values at positions (n,) along the axis, 0 to 1."""

    @abstractmethod
    def points(self) -> list[Any]:
        """Compute the values on a grid."""

    @staticmethod
    def read(name: str, table: Mapping[str, Any]) -> Axis:
        """Read the axis of a range { low, high, log = true, steps = 5, whole = true }."""
        known = ("low", "high", "log", "steps", "whole")
        for key in table:
            if key not in known:
                raise unknown_name_error(f"entry of the range of {name}", key, known)
        try:
            low, high = float(table["low"]), float(table["high"])
            steps = int(table.get("steps", 0))
        except (TypeError, ValueError):
            raise InvalidValue(f"{name}: low, high and steps must be numbers.", name) from None
        log, whole = bool(table.get("log", False)), bool(table.get("whole", False))
        if not (np.isfinite([low, high]).all() and low <= high):
            raise InvalidValue(
                f"{name}: low and high must be finite, and low at most high, not {low:g} and"
                f" {high:g}.",
                name,
            )
        if log and low <= 0:
            raise InvalidValue(f"{name}: low must be above 0 if log = true, not {low:g}.", name)
        return RangeAxis(name, low, high, log, steps, whole)


@dataclass(frozen=True)
class RangeAxis(Axis):
    """Numbers of a range, on a linear or logarithmic scale.

    Attributes
    ----------
    low, high
        Ends of the range.
    log
        Whether the scale is logarithmic.
    steps
        Number of values on a grid.
    whole
        Whether values are rounded to whole numbers.
    """

    low: float
    high: float
    log: bool = False
    steps: int = 0
    whole: bool = False

    def values_at(self, share: Array) -> list[Any]:
        if self.log:
            values = self.low * (self.high / self.low) ** share
        else:
            values = self.low + (self.high - self.low) * share
        return [round(v) for v in values.tolist()] if self.whole else values.tolist()

    def points(self) -> list[Any]:
        if self.steps < 1:
            raise InvalidValue(
                f"{self.name}: a range on a grid needs steps, such as steps = 5.", self.name
            )
        return self.values_at(np.linspace(0, 1, self.steps) if self.steps > 1 else np.zeros(1))


@dataclass(frozen=True)
class ListAxis(Axis):
    """List of values: words or numbers."""

    values: tuple[Any, ...]

    def values_at(self, share: Array) -> list[Any]:
        indices = np.minimum((share * len(self.values)).astype(int), len(self.values) - 1)
        return [self.values[k] for k in indices]

    def points(self) -> list[Any]:
        return list(self.values)


def sample_axes(
    axes: Mapping[str, Axis], method: str, count: int, seed: int
) -> dict[str, list[Any]]:
    """Sample the values of every axis by name, one per world.

    Parameters
    ----------
    axes
        Axes of the sweep.
    method
        "grid", "latin" or "random".
    count, seed
        Number of samples, and their seed; not used by a grid.
    """
    ordered: Sequence[Axis] = list(axes.values())
    if method == "grid":
        points = [axis.points() for axis in ordered]
        total = int(np.prod([len(p) for p in points], dtype=np.int64))
        indices = np.unravel_index(np.arange(total), [len(p) for p in points]) if ordered else ()
        columns = zip(ordered, points, indices, strict=True)
        return {axis.name: [values[k] for k in index] for axis, values, index in columns}
    # positions along every axis: in permuted strata, or anywhere
    random = np.random.default_rng(seed)
    positions = random.random((len(ordered), count))
    if method == "latin":
        order = np.stack([random.permutation(count) for _ in ordered]) if ordered else positions
        positions = (order + positions) / count
    return {
        axis.name: axis.values_at(share) for axis, share in zip(ordered, positions, strict=True)
    }
