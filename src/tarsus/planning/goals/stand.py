"""Stand still in the standing posture, and return to it after a push."""

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
class StandStill(Goal):
    """Goal of a trunk at rest, upright and at standing height, with the joints near standing."""

    height: float = weight(100.0, "square of the height error, m^2")
    tilt: float = weight(10.0, "square of the sine of the tilt")
    drift: float = weight(2.0, "square of the trunk's horizontal velocity, m^2/s^2")
    balance: float = weight(20.0, "square of the feet's distance from the capture point, m^2")
    bounce: float = weight(0.5, "square of the vertical velocity, m^2/s^2")
    sway: float = weight(0.2, "square of the angular velocity, rad^2/s^2")
    posture: float = weight(0.5, "squares of the joints' deviations from standing, rad^2")
    lifted: float = weight(0.5, "share of feet in the air")
    foot_drag: float = weight(0.2, "squares of the speeds of low feet, m^2/s^2")
    rates: float = weight(1e-3, "squares of the joint rates, rad^2/s^2")
    torque: float = weight(1e-4, "squares of the torques, N^2 m^2")
    clearance: float = parameter(0.05, "m", "height above which feet move freely", "(0, inf)")

    def costs(self, state: StateView) -> Mapping[str, SX]:
        return {
            "height": _trunk.height(state),
            "tilt": _trunk.tilt(state),
            "drift": _trunk.drift(state, SX(0), SX(0)),
            "balance": _feet.balance_cost(state, SX.zeros(2)),
            "bounce": state.velocity[2] ** 2,
            "sway": ca.sumsqr(state.angular_velocity),
            "posture": _trunk.posture(state),
            "lifted": _feet.missing_share(state, 1),
            "foot_drag": _feet.drag_cost(state, self.clearance),
            "rates": ca.sumsqr(state.rates),
            "torque": ca.sumsqr(state.torque),
        }
