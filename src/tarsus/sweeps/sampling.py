"""Samples of a sweep: a grid, a Latin hypercube, or at random; the same for the same seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name

Array = NDArray[np.float64]
METHODS = ("grid", "latin", "random")


@dataclass(frozen=True)
class Axis(ABC):
    """Something that is varied."""

    name: str

    @abstractmethod
    def at(self, share: Array) -> list[Any]:
        """Values at shares (n,) of the axis, 0 to 1."""

    @abstractmethod
    def points(self) -> list[Any]:
        """Its values on a grid."""

    @staticmethod
    def read(name: str, given: Mapping[str, Any]) -> Axis:
        """A range { low, high, log = true, steps = 5, whole = true }."""
        for key in given:
            if key not in ("low", "high", "log", "steps", "whole"):
                raise unknown_name(
                    f"entry of the range of {name}", key, ("low", "high", "log", "steps")
                )
        try:
            low, high = float(given["low"]), float(given["high"])
            steps = int(given.get("steps", 0))
        except (TypeError, ValueError):
            raise InvalidValue(f"{name}: low, high and steps must be numbers.", name) from None
        log, whole = bool(given.get("log", False)), bool(given.get("whole", False))
        if not (np.isfinite([low, high]).all() and low <= high):
            raise InvalidValue(
                f"{name}: low must not be above high, and both finite, not {low:g} and {high:g}.",
                name,
            )
        if log and low <= 0:
            raise InvalidValue(f"{name}: low must be above 0 where log = true, not {low:g}.", name)
        return Between(name, low, high, log, steps, whole)


@dataclass(frozen=True)
class Between(Axis):
    """Numbers of a range, evenly or in their logarithm; `whole` ones rounded; steps: on a grid."""

    low: float
    high: float
    log: bool = False
    steps: int = 0
    whole: bool = False

    def at(self, share: Array) -> list[Any]:
        if self.log:
            found = self.low * (self.high / self.low) ** share
        else:
            found = self.low + (self.high - self.low) * share
        return [round(v) for v in found.tolist()] if self.whole else found.tolist()

    def points(self) -> list[Any]:
        if self.steps < 1:
            raise InvalidValue(
                f"{self.name}: a range on a grid needs steps, such as steps = 5.", self.name
            )
        return self.at(np.linspace(0, 1, self.steps) if self.steps > 1 else np.zeros(1))


@dataclass(frozen=True)
class Words(Axis):
    """Values that are listed: words or numbers."""

    values: tuple[Any, ...]

    def at(self, share: Array) -> list[Any]:
        which = np.minimum((share * len(self.values)).astype(int), len(self.values) - 1)
        return [self.values[k] for k in which]

    def points(self) -> list[Any]:
        return list(self.values)


def sampled(axes: Mapping[str, Axis], method: str, count: int, seed: int) -> dict[str, list[Any]]:
    """Every axis' values, one a world: name -> a list."""
    own: Sequence[Axis] = list(axes.values())
    if method == "grid":
        points = [axis.points() for axis in own]
        total = int(np.prod([len(p) for p in points], dtype=np.int64))
        places = np.unravel_index(np.arange(total), [len(p) for p in points]) if own else ()
        found = zip(own, points, places, strict=True)
        return {axis.name: [values[k] for k in place] for axis, values, place in found}
    # shares of every axis: strata in an order of their own, or anywhere
    random = np.random.default_rng(seed)
    shares = random.random((len(own), count))
    if method == "latin":
        order = np.stack([random.permutation(count) for _ in own]) if own else shares
        shares = (order + shares) / count
    return {axis.name: axis.at(share) for axis, share in zip(own, shares, strict=True)}


def worlds(axes: Mapping[str, Axis], method: str, count: int) -> int:
    """How many there are."""
    if method != "grid":
        return count
    return int(np.prod([len(axis.points()) for axis in axes.values()], dtype=np.int64))
