"""Go at a commanded speed, ahead, sideways and turning; how the legs move is not said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.parameters import parameter, weight
from tarsus.planning.goals import _feet, _trunk
from tarsus.planning.goals.base import Goal
from tarsus.tasks.base import Glimpse


@dataclass(frozen=True, kw_only=True)
class Go(Goal):
    """The trunk's velocity as commanded, upright, at its standing height; no gait is given.

    Commands:
    speed: m/s along the heading
    sideways: m/s to the left
    turn: rad/s to the left
    """

    drift: float = weight(100.0, "square of its speed's error, m^2/s^2")
    turning: float = weight(20.0, "square of its yaw rate's error, rad^2/s^2")
    height: float = weight(100.0, "square of the trunk's height off standing, m^2")
    tilt: float = weight(60.0, "square of the sine of its lean")
    balance: float = weight(40.0, "square of the feet's distance from where it comes to rest, m^2")
    bounce: float = weight(0.5, "square of its speed up or down, m^2/s^2")
    sway: float = weight(0.1, "square of how fast it rolls and pitches, rad^2/s^2")
    posture: float = weight(1.0, "squares of the joints' distances from standing, rad^2")
    flight: float = weight(8.0, "the share of half of the feet that is missing on the ground")
    dragging: float = weight(0.2, "squares of low feet's speeds along the ground, m^2/s^2")
    rates: float = weight(3e-4, "squares of the joints' rates, rad^2/s^2")
    torque: float = weight(4e-4, "squares of the torques, N^2 m^2")
    clearance: float = parameter(0.05, "m", "above which a foot may move as it likes", "(0, inf)")
    alternating: float = parameter(
        0.9,
        "[1]",
        "share of samples in which a side does what the other did half a stride before",
        "[0, 1]",
    )
    stride: float = parameter(0.4, "s", "after which the same side does it again", "(0, 100]")
    speed: float = parameter(0.5, "m/s", "along the heading, unless commanded")
    sideways: float = parameter(0.0, "m/s", "to the left, unless commanded")
    turn: float = parameter(0.0, "rad/s", "to the left, unless commanded")

    def commands(self) -> Mapping[str, float]:
        return {"speed": self.speed, "sideways": self.sideways, "turn": self.turn}

    def strides(self) -> tuple[float, float]:
        return self.alternating, self.stride

    def costs(self, now: Glimpse) -> Mapping[str, SX]:
        asked, ahead = now.command, now.forwards
        left = ca.vertcat(-ahead[1], ahead[0])
        return {
            "drift": _trunk.drift(now, asked["speed"], asked["sideways"]),
            "turning": (now.turning[2] - asked["turn"]) ** 2,
            "height": _trunk.height(now),
            "tilt": _trunk.tilt(now),
            "balance": _feet.off_balance(now, ahead * asked["speed"] + left * asked["sideways"]),
            "bounce": now.velocity[2] ** 2,
            "sway": ca.sumsqr(now.turning[:2]),
            "posture": _trunk.posture(now),
            "flight": _feet.missing(now, 0.5),
            "dragging": _feet.dragging(now, self.clearance),
            "rates": ca.sumsqr(now.rates),
            "torque": ca.sumsqr(now.torque),
        }
