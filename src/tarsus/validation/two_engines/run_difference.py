"""Differences between two runs of a robot: rows of `tarsus robots check --mujoco`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.validation.two_engines.robot_run import (
    PoseDistance,
    RobotRun,
    agreeing_steps,
    pose_distance,
)

DT = 0.001  # s
POSE_TOLERANCE = PoseDistance(1e-3, float(np.deg2rad(0.2)))  # for poses that agree
EVENT_TOLERANCE = 2  # steps between events that agree
MIN_DURATION = 20  # steps: poses differ for a while when MuJoCo spreads an impact over steps


@dataclass(frozen=True)
class RunDifference:
    """Difference between two runs of a scene."""

    agreement: float = 0.0
    """Time until the poses differ for at least `MIN_DURATION` steps in a row, in s."""
    early_events: int = 0
    """Number of common events before `agreement`."""
    early_agreeing: int = 0
    """Number of these that agree within `EVENT_TOLERANCE`."""
    common_events: int = 0
    """Number of common events in the whole run."""
    agreeing: int = 0
    """Number of these that agree within `EVENT_TOLERANCE`."""
    latest: int = 0
    """Largest delay of an event, in steps; negative if it happens earlier."""
    position: float = 0.0
    """Distance of the trunks at the end, m."""
    angle: float = 0.0
    """Largest angle between trunks or joints at the end, rad."""

    @staticmethod
    def of(robot: Robot, one: RobotRun, other: RobotRun) -> RunDifference:
        """Compare two runs."""
        delays = one.delays(other)
        until = agreeing_steps(robot, one, other, POSE_TOLERANCE, MIN_DURATION)
        early = {name: steps for name, steps in delays.items() if one.events[name] <= until}
        end = pose_distance(robot, one.q[-1], other.q[-1])
        return RunDifference(
            until * DT,
            len(early),
            _count_agreeing(early),
            len(delays),
            _count_agreeing(delays),
            max(delays.values(), key=abs, default=0),
            end.position,
            end.angle,
        )


@dataclass(frozen=True)
class ComparisonRow:
    """Comparison of one robot in one scene."""

    robot: str
    """Name of the robot."""
    scene: str
    """Name of the scene."""
    settings: str = ""
    """MuJoCo's settings, `HARD` or a name of `SHOWN`; empty for flight and swing."""
    seconds: float = 0.0
    """Duration, s."""
    difference: RunDifference | None = None
    """Difference between Tarsus and MuJoCo."""
    soft: RunDifference | None = None
    """Difference between MuJoCo and MuJoCo twice as soft; None for flight and swing."""
    only_tarsus: tuple[str, ...] = ()
    """Events that only Tarsus has."""
    only_mujoco: tuple[str, ...] = ()
    """Events that only MuJoCo has."""
    order: float | None = None
    """Convergence order of Tarsus, from two step sizes (flight, swing)."""
    unsolved: int = 0
    """Number of steps of Tarsus that did not converge."""
    reason: str = ""
    """Error message."""

    def as_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


def _count_agreeing(delays: dict[str, int]) -> int:
    return sum(abs(steps) <= EVENT_TOLERANCE for steps in delays.values())
