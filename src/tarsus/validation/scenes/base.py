"""The scene interface.

To add a scene: one file in `validation/scenes/`; its name is the scene's name. In it one class that
derives from `ValidationScene`: its docstring says what it shows, `needs` which effects a law must
model, `tolerance` how far off a result may be and why; `measure` runs bodies of
`validation/bodies.py` on an engine and returns its cases. The effects are those of `EFFECTS`; a law
that lacks one says so in its own file, `not_modeled`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tarsus.validation.engine import Array, Engine

EFFECTS = {
    "friction": "friction opposes sliding, in proportion to the normal force",
    "sticking": "Coulomb's law down to speed zero: below the cone a contact stays where it is",
    "rigid": "the ground does not give way",
    "restitution": "a coefficient of restitution e_N",
    "spring": "normal force proportional to depth",
}


@dataclass(frozen=True)
class Case:
    """One quantity of a scene: expected, got, and how far it may be off; at_least: more than
    expected is no error.
    """

    name: str
    unit: str
    expected: float
    got: float
    tolerance: float
    at_least: bool = False

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
    """Of one case a world the one furthest off in tolerances; what: name and unit; labels: what
    differs by world.
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(v, float) for v in (expected, got, tolerance)), np.empty(len(labels))
    )
    off = np.abs(arrays[1] - arrays[0]) / arrays[2]
    k = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
    wanted, found, allowed = (float(array[k]) for array in arrays[:3])
    return Case(f"{what[0]}, {labels[k]}", what[1], wanted, found, allowed)


def falls_below(level: float, value: Array, time: Array) -> float:
    """When `value` (steps,) first falls below `level`, between two steps by a straight line; NaN if
    it does not.
    """
    k = int(np.argmax(value < level))
    if k == 0:
        return np.nan
    share = (value[k - 1] - level) / (value[k - 1] - value[k])
    return float(time[k - 1] + share * (time[k] - time[k - 1]))


class ValidationScene(ABC):
    """A situation with a known outcome. needs: effects of `EFFECTS`; tolerance: how far off is
    allowed, and why.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    tolerance: ClassVar[str]

    @abstractmethod
    def measure(self, engine: Engine) -> list[Case]:
        """Run it; one case a quantity."""
