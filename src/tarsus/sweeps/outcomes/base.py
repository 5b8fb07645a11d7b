"""Interface of outcomes.

To add an outcome, add a file to `sweeps/outcomes/` with one class that derives from `SweepOutcome`.
The file's name is the outcome's name; the docstring states what it measures and its unit. A user's
file can define such a class, or a function of the final simulation that returns one number per
world, such as `def drift(simulation): return simulation.q[:, 1]`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.simulation.simulation import Simulation

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class StepBatch:
    """Several consecutive steps of all worlds.

    Attributes
    ----------
    q, u
        Coordinates and velocities after each step, shape (steps, worlds, nq) and (..., nu).
    before
        Coordinates and velocities before the first step, shape (worlds, nq) and (worlds, nu).
    impulse
        Contact impulses, shape (steps, worlds, contacts, 3), normal first, in N s.
    tau
        Motor torques, shape (steps, worlds, actuators), in N m.
    solved
        Whether the contact solver converged, shape (steps, worlds).
    time
        Time after the last step, in s.
    """

    q: Array
    u: Array
    before: tuple[Array, Array]
    impulse: Array
    tau: Array
    solved: NDArray[np.bool_]
    time: float


class SweepOutcome(ABC):
    """Base class of outcomes: one number for every world."""

    unit: ClassVar[str]
    """SI unit; "1" for none."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.start()

    def start(self) -> None:
        """Prepare for the first step; by default, do nothing."""
        return

    @abstractmethod
    def update(self, batch: StepBatch) -> None:
        """Process the next steps."""

    @abstractmethod
    def value(self) -> Array:
        """Compute the outcome of every world, shape (worlds,)."""
