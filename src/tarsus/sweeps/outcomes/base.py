"""The outcome interface.

To add an outcome: one file in `sweeps/outcomes/`, its name the outcome's; in it one class that
derives from `SweepOutcome`, whose docstring says what it is and in which unit. Your own, in a file
that a sweep names: such a class, or a function of the simulation as it ended, `def
drift(simulation): return simulation.q[:, 1]`, one number a world.
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
class Stretch:
    """A few steps of all worlds, and how they began.

    q, u: after each step (steps, worlds, nq or nu); before: the same at the beginning
    impulse: N s (steps, worlds, contacts, 3), normal first
    tau: torques of the motors (steps, worlds, actuators), N m
    solved: whether the law met its tolerance (steps, worlds)
    time: at the end of the stretch, s
    """

    q: Array
    u: Array
    before: tuple[Array, Array]
    impulse: Array
    tau: Array
    solved: NDArray[np.bool_]
    time: float


class SweepOutcome(ABC):
    """One number of every world."""

    unit: ClassVar[str]
    """SI unit; "1" for none."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.begin()

    def begin(self) -> None:
        """Before the first step; by default nothing."""
        return

    @abstractmethod
    def see(self, stretch: Stretch) -> None:
        """The next steps."""

    @abstractmethod
    def value(self) -> Array:
        """(worlds,)."""
