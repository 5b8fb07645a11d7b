"""The base class of goals: what a second costs, as expressions of a glimpse of the robot.

To add a goal: one file here with one frozen dataclass that derives from `Goal`; the file's name is
the goal's name (`tarsus plan`). Each cost has a field of its name, its `weight`. Costs are compiled
with the steps of the rollouts; weights and commands are numbers that may change as it runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import casadi as ca
from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import check, names_with_role, parameter, weight
from tarsus.tasks.base import Glimpse
from tarsus.terrain.base import Terrain

TILT = 0.5  # cosine: a base that leans by more than 60 degrees has fallen
SUNK = 0.55  # of the standing height: a base below it has collapsed


@dataclass(frozen=True, kw_only=True)
class Goal(ABC):
    """A goal; implementations are frozen dataclasses.

    The action of a `Glimpse` is here how far the joints' targets are from the standing posture,
    rad; its clock the time since the rollout began.
    """

    fall: float = weight(100.0, "a second of having fallen")
    end: float = parameter(
        0.1, "s", "more of the cost of a rollout's last step, for what follows", "[0, inf)"
    )

    def __post_init__(self) -> None:
        check(self)

    def suits(self, mechanism: Mechanism) -> str | None:
        """None, or in one sentence why this robot cannot be asked for it."""
        return None if mechanism.floating else "its base is fixed."

    def commands(self) -> Mapping[str, float]:
        """What is asked of the robot, by name, where nothing else is said; SI units."""
        return {}

    def strides(self) -> tuple[float, float]:
        """Of how many of the samples each side does what the other did half a stride before: their
        share, and s of a stride; on four legs.
        """
        return 0.0, 0.0

    def ground(self) -> Terrain | None:
        """What it is meant for; None: any."""
        return None

    @abstractmethod
    def costs(self, now: Glimpse) -> Mapping[str, SX]:
        """Of a second, by the names of their weights, none negative."""

    def failed(self, now: Glimpse) -> SX:
        """Whether the robot has fallen."""
        sunk = now.height < SUNK * now.stand[2]
        return ca.logic_or(sunk, now.rotation[2, 2] < TILT)

    def all_costs(self, now: Glimpse) -> Mapping[str, SX]:
        """Its costs, and that of a fall."""
        return {**self.costs(now), "fall": SX(self.failed(now))}

    def weights(self) -> dict[str, float]:
        """Of all costs, by name."""
        return {name: getattr(self, name) for name in names_with_role(type(self), "weight")}

    def unweighted(self) -> Self:
        """The same with all weights one: what is compiled."""
        return replace(self, **dict.fromkeys(self.weights(), 1.0))
