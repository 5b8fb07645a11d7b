"""The scene interface.

To add a scene:

1. Make a file in `validation/scenes/`; its name is the scene's name.
2. Write in it one class that derives from `ValidationScene`; its docstring says what it shows.
3. Say in `needs` which effects a law must model, and in `tolerance` how far off a result may be,
   and why.
4. Let `measure` run bodies of `validation/bodies.py` on an engine and return its cases.

The effects are those of `EFFECTS`. A law that lacks one says so in its own file, `not_modeled`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tarsus.engines.base import Array, Engine

EFFECTS = {
    "friction": "friction opposes sliding, in proportion to the normal force",
    "sticking": "Coulomb's law down to speed zero: below the cone a contact stays where it is",
    "rigid": "the ground is not compliant",
    "restitution": "a coefficient of restitution e_N",
    "no lift": "friction acts along the surface alone: a body that slides is not lifted",
    "hard joints": "stops, loops and dry friction of joints hold without giving way",
    "spring": "normal force proportional to depth",
}


@dataclass(frozen=True)
class Case:
    """One quantity of a scene."""

    name: str
    """The quantity measured."""
    unit: str
    """SI unit; 1 if dimensionless."""
    expected: float
    """The closed form."""
    got: float
    """Measured."""
    tolerance: float
    """How far off it may be."""
    at_least: bool = False
    """Whether more than expected is no error."""

    @property
    def error(self) -> float:
        """|got - expected|; NaN if there is no number."""
        short = self.expected - self.got
        return max(short, 0.0) if self.at_least and np.isfinite(short) else abs(short)

    @property
    def passed(self) -> bool:
        """Within the tolerance, and a number."""
        return bool(np.isfinite(self.got) and self.error <= self.tolerance)


def worst(
    what: tuple[str, str],
    expected: ArrayLike,
    got: ArrayLike,
    tolerance: ArrayLike,
    labels: Sequence[str],
) -> Case:
    """The case of the world that is furthest off, measured in tolerances.

    what: name and unit.
    expected, got, tolerance: by world.
    labels: what differs between the worlds.
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(v, float) for v in (expected, got, tolerance)), np.empty(len(labels))
    )
    off = np.abs(arrays[1] - arrays[0]) / arrays[2]
    k = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
    wanted, found, allowed = (float(array[k]) for array in arrays[:3])
    return Case(f"{what[0]}, {labels[k]}", what[1], wanted, found, allowed)


def falls_below(level: float, value: Array, time: Array) -> float:
    """The time at which `value` (steps,) first falls below `level`; NaN if it does not.

    Between two steps a straight line is drawn.
    """
    k = int(np.argmax(value < level))
    if k == 0:
        return np.nan
    share = (value[k - 1] - level) / (value[k - 1] - value[k])
    return float(time[k - 1] + share * (time[k] - time[k - 1]))


class ValidationScene(ABC):
    """A situation with a known outcome."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Effects of `EFFECTS` that a law must model."""
    tolerance: ClassVar[str]
    """How far off a result may be, and why."""

    @abstractmethod
    def measure(self, engine: Engine) -> list[Case]:
        """Run the scene on an engine: one case for each quantity."""
