"""Go at a commanded speed, ahead, sideways and turning, with no prescribed gait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.parameters import parameter, weight
from tarsus.planning.goals import _feet, _trunk
from tarsus.planning.goals.base import Goal
from tarsus.tasks.base import StateView


@dataclass(frozen=True, kw_only=True)
class Go(Goal):
    """Goal of a commanded trunk velocity, upright and at the standing height; the gait is free.

    The commands are `speed`, in m/s along the heading, `sideways`, in m/s to the left, and `turn`,
    in rad/s to the left.
    """

    drift: float = weight(100.0, "square of the trunk's velocity error, m^2/s^2")
    yaw_rate: float = weight(20.0, "square of the yaw rate error, rad^2/s^2")
    height: float = weight(100.0, "square of the height error, m^2")
    tilt: float = weight(60.0, "square of the sine of the tilt")
    balance: float = weight(40.0, "square of the feet's distance from the capture point, m^2")
    bounce: float = weight(0.5, "square of the vertical velocity, m^2/s^2")
    sway: float = weight(0.1, "square of the roll and pitch rates, rad^2/s^2")
    posture: float = weight(1.0, "squares of the joints' deviations from standing, rad^2")
    flight: float = weight(8.0, "share of stance feet missing, where half of all feet should stand")
    foot_drag: float = weight(0.2, "squares of the speeds of low feet, m^2/s^2")
    rates: float = weight(3e-4, "squares of the joint rates, rad^2/s^2")
    torque: float = weight(4e-4, "squares of the torques, N^2 m^2")
    clearance: float = parameter(0.05, "m", "height above which feet move freely", "(0, inf)")
    alternating_share: float = parameter(
        0.9,
        "[1]",
        "share of samples in which each side repeats the other, half a stride later",
        "[0, 1]",
    )
    stride: float = parameter(0.4, "s", "duration of a stride", "(0, 100]")
    speed: float = parameter(0.5, "m/s", "default command along the heading")
    sideways: float = parameter(0.0, "m/s", "default command to the left")
    turn: float = parameter(0.0, "rad/s", "default turn rate to the left")

    def commands(self) -> Mapping[str, float]:
        return {"speed": self.speed, "sideways": self.sideways, "turn": self.turn}

    def strides(self) -> tuple[float, float]:
        return self.alternating_share, self.stride

    def costs(self, state: StateView) -> Mapping[str, SX]:
        command, ahead = state.command, state.heading
        left = ca.vertcat(-ahead[1], ahead[0])
        return {
            "drift": _trunk.drift(state, command["speed"], command["sideways"]),
            "yaw_rate": (state.angular_velocity[2] - command["turn"]) ** 2,
            "height": _trunk.height(state),
            "tilt": _trunk.tilt(state),
            "balance": _feet.balance_cost(
                state, ahead * command["speed"] + left * command["sideways"]
            ),
            "bounce": state.velocity[2] ** 2,
            "sway": ca.sumsqr(state.angular_velocity[:2]),
            "posture": _trunk.posture(state),
            "flight": _feet.missing_share(state, 0.5),
            "foot_drag": _feet.drag_cost(state, self.clearance),
            "rates": ca.sumsqr(state.rates),
            "torque": ca.sumsqr(state.torque),
        }
