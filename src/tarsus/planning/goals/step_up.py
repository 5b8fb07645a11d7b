"""Step onto a box of 6 cm and stand on it, with no prescribed footholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.morphology.feet import find_feet
from tarsus.parameters import parameter, weight
from tarsus.planning.goals import _feet, _trunk
from tarsus.planning.goals.base import Goal
from tarsus.tasks.base import StateView
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes

APPROACH_RATE = 1.5  # 1/s: speed of the approach per distance to the target


@dataclass(frozen=True, kw_only=True)
class StepUp(Goal):
    """Goal of a trunk at a position ahead, at the standing height above the ground under its feet.

    The command is `target`, in m along the world's x axis.
    """

    drift: float = weight(60.0, "square of the trunk's velocity error, m^2/s^2")
    lateral_error: float = weight(
        20.0, "square of the lateral distance from the straight path, m^2"
    )
    heading: float = weight(5.0, "square of the sine of half the yaw, and of the yaw rate")
    height: float = weight(300.0, "square of the height error, m^2")
    tilt: float = weight(4.0, "square of the sine of the tilt")
    balance: float = weight(20.0, "square of the feet's distance from the capture point, m^2")
    bounce: float = weight(0.5, "square of the vertical velocity, m^2/s^2")
    sway: float = weight(0.1, "square of the roll and pitch rates, rad^2/s^2")
    posture: float = weight(0.2, "squares of the joints' deviations from standing, rad^2")
    flight: float = weight(3.0, "share of stance feet missing, where half of all feet should stand")
    foot_drag: float = weight(0.4, "squares of the speeds of low feet, m^2/s^2")
    rates: float = weight(3e-4, "squares of the joint rates, rad^2/s^2")
    torque: float = weight(1e-4, "squares of the torques, N^2 m^2")
    clearance: float = parameter(0.06, "m", "height above which feet move freely", "(0, inf)")
    speed: float = parameter(0.35, "m/s", "largest speed of the approach", "(0, 10]")
    target: float = parameter(1.2, "m", "default target along x")
    rise: float = parameter(0.06, "m", "height of the box", "(0.03, 1]")

    def commands(self) -> Mapping[str, float]:
        return {"target": self.target}

    def ground(self) -> Terrain:
        half = self.rise / 2
        return Boxes(position=((1.2, 0.0, half),), half_sizes=(0.7, 0.7, half))

    def costs(self, state: StateView) -> Mapping[str, SX]:
        # desired velocity, and height of the ground under the feet
        x, y, z = ca.vertsplit(state.kin.world_position[0])
        approach = APPROACH_RATE * (state.command["target"] - x)
        desired = ca.fmin(ca.fmax(approach, -self.speed), self.speed)
        grounds = state.heights(
            [_feet.position(state, foot) for foot in find_feet(state.kin.mechanism)]
        )
        level = sum(grounds, SX(0)) / len(grounds)
        v = ca.mtimes(state.rotation, state.kin.velocity[0])
        return {
            "drift": (v[0] - desired) ** 2 + v[1] ** 2,
            "lateral_error": y**2,
            "heading": (1 - state.heading[0]) / 2 + state.angular_velocity[2] ** 2 / 4,
            "height": (z - level - float(state.stand[2])) ** 2,
            "tilt": _trunk.tilt(state),
            "balance": _feet.balance_cost(state, ca.vertcat(desired, 0)),
            "bounce": v[2] ** 2,
            "sway": ca.sumsqr(state.angular_velocity[:2]),
            "posture": _trunk.posture(state),
            "flight": _feet.missing_share(state, 0.5),
            "foot_drag": _feet.drag_cost(state, self.clearance),
            "rates": ca.sumsqr(state.rates),
            "torque": ca.sumsqr(state.torque),
        }
