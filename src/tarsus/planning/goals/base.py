"""Base class of goals: cost rates, as expressions of the state of the robot.

To add a goal, create a file here with one frozen dataclass that derives from `Goal`. The name of
the file is the name of the goal (`tarsus plan`). Each cost has a field of its name, its `weight`.
Costs are compiled together with the steps of the rollouts; weights and commands are numbers that
may change during a run.
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
from tarsus.tasks.base import StateView
from tarsus.terrain.base import Terrain

UPRIGHT_COSINE = 0.5  # a base tilted by more than 60 degrees has fallen
COLLAPSED_HEIGHT = 0.55  # of the standing height: a lower base has collapsed


@dataclass(frozen=True, kw_only=True)
class Goal(ABC):
    """Goal of a planner; implementations are frozen dataclasses.

    In the `StateView` that a goal receives, the action is the deviation of the joint targets from
    the standing posture, in rad, and the clock is the time since the rollout started.
    """

    fall: float = weight(100.0, "time after a fall")
    end: float = parameter(
        0.1,
        "s",
        "extra duration of the last step's cost, for the time after the rollout",
        "[0, inf)",
    )

    def __post_init__(self) -> None:
        check(self)

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return None, or one sentence that explains why this robot cannot pursue the goal."""
        return None if mechanism.floating else "its base has no free joint."

    def commands(self) -> Mapping[str, float]:
        """Return the default commands, by name, in SI units."""
        return {}

    def strides(self) -> tuple[float, float]:
        """Return the fraction of alternating samples, and the duration of a stride, in s.

        In an alternating sample each side repeats the motion of the other half a stride later.
        Only robots with four legs alternate.
        """
        return 0.0, 0.0

    def ground(self) -> Terrain | None:
        """Return the terrain for which the goal is designed; None: any."""
        return None

    @abstractmethod
    def costs(self, state: StateView) -> Mapping[str, SX]:
        """Compute the nonnegative cost rates, by the names of their weights."""

    def failed(self, state: StateView) -> SX:
        """Compute whether the robot has fallen, 0 or 1."""
        collapsed = state.height < COLLAPSED_HEIGHT * state.stand[2]
        return ca.logic_or(collapsed, state.rotation[2, 2] < UPRIGHT_COSINE)

    def all_costs(self, state: StateView) -> Mapping[str, SX]:
        """Return the cost rates including that of a fall."""
        return {**self.costs(state), "fall": SX(self.failed(state))}

    def weights(self) -> dict[str, float]:
        """Return the weights of all costs, by name."""
        return {name: getattr(self, name) for name in names_with_role(type(self), "weight")}

    def with_unit_weights(self) -> Self:
        """Return the goal with all weights 1, the form that is compiled."""
        return replace(self, **dict.fromkeys(self.weights(), 1.0))
