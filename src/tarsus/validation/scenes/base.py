"""Interface of validation scenes.

To add a scene:

1. Create a file in `validation/scenes/` with the name of the scene.
2. Define in it one class that derives from `ValidationScene` and describes the scene in its
   docstring.
3. List in `needs` the effects that a law must model, and explain in `tolerance` how large an error
   may be.
4. Let `measure` run bodies of `validation/bodies.py` on an engine and return the cases.

The effects are those of `EFFECTS`. A law that does not model one lists it in `not_modeled`.
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
    "sticking": "Coulomb's law at zero speed: inside the friction cone a contact does not move",
    "rigid": "the ground is not compliant",
    "restitution": "a coefficient of restitution e_N",
    "no lift": "friction acts only along the surface: a sliding body is not lifted",
    "hard joints": "limits, loops and dry friction of joints are not compliant",
    "spring": "normal force proportional to depth",
}


@dataclass(frozen=True)
class Case:
    """Measured quantity of a scene."""

    name: str
    """Name of the quantity."""
    unit: str
    """SI unit; 1 if dimensionless."""
    expected: float
    """Value of the closed form."""
    measured: float
    """Measured value."""
    tolerance: float
    """Largest error that passes."""
    at_least: bool = False
    """Whether larger values than expected also pass."""

    @property
    def error(self) -> float:
        """Absolute difference between `measured` and `expected`; NaN if either is not finite."""
        short = self.expected - self.measured
        return max(short, 0.0) if self.at_least and np.isfinite(short) else abs(short)

    @property
    def passed(self) -> bool:
        """Whether the measured value is finite and within the tolerance."""
        return bool(np.isfinite(self.measured) and self.error <= self.tolerance)


def worst(
    quantity: tuple[str, str],
    expected: ArrayLike,
    measured: ArrayLike,
    tolerance: ArrayLike,
    labels: Sequence[str],
) -> Case:
    """Select the case of the world with the largest error relative to its tolerance.

    Parameters
    ----------
    quantity
        Name and unit.
    expected, measured, tolerance
        Values of all worlds, or a common one.
    labels
        Description of each world.
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(v, float) for v in (expected, measured, tolerance)), np.empty(len(labels))
    )
    errors = np.abs(arrays[1] - arrays[0]) / arrays[2]
    k = int(np.argmax(np.where(np.isfinite(errors), errors, np.inf)))
    name, unit = quantity
    values = [float(array[k]) for array in arrays[:3]]
    return Case(f"{name}, {labels[k]}", unit, values[0], values[1], values[2])


def falls_below(level: float, value: Array, time: Array) -> float:
    """Find the time at which `value` (steps,) first falls below `level`; NaN if it does not.

    Values are interpolated linearly between steps.
    """
    k = int(np.argmax(value < level))
    if k == 0:
        return np.nan
    share = (value[k - 1] - level) / (value[k - 1] - value[k])
    return float(time[k - 1] + share * (time[k] - time[k - 1]))


class ValidationScene(ABC):
    """Base class of scenes with a known outcome."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Effects of `EFFECTS` that a law must model."""
    tolerance: ClassVar[str]
    """Explanation of the largest errors that pass."""

    @abstractmethod
    def measure(self, engine: Engine) -> list[Case]:
        """Run the scene on an engine; return a case for each quantity."""
