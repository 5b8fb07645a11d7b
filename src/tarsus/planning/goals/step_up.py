"""Step onto a box of 6 cm and stand on it; where the feet go is not said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.morphology.feet import feet
from tarsus.parameters import parameter, weight
from tarsus.planning.goals import _feet, _trunk
from tarsus.planning.goals.base import Goal
from tarsus.tasks.base import Glimpse
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes

FASTER = 1.5  # 1/s: a place is reached at a speed of this by its distance


@dataclass(frozen=True, kw_only=True)
class StepUp(Goal):
    """The trunk comes to a place ahead, as high above the ground under its feet as it stands.

    Commands:
    place: m along x of the world
    """

    drift: float = weight(60.0, "square of its speed's error, m^2/s^2")
    astray: float = weight(20.0, "square of its distance from the straight way, m^2")
    heading: float = weight(5.0, "square of the sine of half its yaw, and of its yaw rate")
    height: float = weight(300.0, "square of the trunk's height off standing, m^2")
    tilt: float = weight(4.0, "square of the sine of its lean")
    balance: float = weight(20.0, "square of the feet's distance from where it comes to rest, m^2")
    bounce: float = weight(0.5, "square of its speed up or down, m^2/s^2")
    sway: float = weight(0.1, "square of how fast it rolls and pitches, rad^2/s^2")
    posture: float = weight(0.2, "squares of the joints' distances from standing, rad^2")
    flight: float = weight(3.0, "the share of half of the feet that is missing on the ground")
    dragging: float = weight(0.4, "squares of low feet's speeds along the ground, m^2/s^2")
    rates: float = weight(3e-4, "squares of the joints' rates, rad^2/s^2")
    torque: float = weight(1e-4, "squares of the torques, N^2 m^2")
    clearance: float = parameter(0.06, "m", "above which a foot may move as it likes", "(0, inf)")
    speed: float = parameter(0.35, "m/s", "of the trunk on its way at most", "(0, 10]")
    place: float = parameter(1.2, "m", "along x, unless commanded")
    rise: float = parameter(0.06, "m", "of the box over the ground", "(0.03, 1]")

    def commands(self) -> Mapping[str, float]:
        return {"place": self.place}

    def ground(self) -> Terrain:
        half = self.rise / 2
        return Boxes(position=((1.2, 0.0, half),), half_sizes=(0.7, 0.7, half))

    def costs(self, now: Glimpse) -> Mapping[str, SX]:
        # where it should go, and how high
        x, y, z = ca.vertsplit(now.kin.world_position[0])
        way = FASTER * (now.command["place"] - x)
        wanted = ca.fmin(ca.fmax(way, -self.speed), self.speed)
        grounds = now.heights([_feet.position(now, foot) for foot in feet(now.kin.mechanism)])
        level = sum(grounds, SX(0)) / len(grounds)
        v = ca.mtimes(now.rotation, now.kin.velocity[0])
        return {
            "drift": (v[0] - wanted) ** 2 + v[1] ** 2,
            "astray": y**2,
            "heading": (1 - now.forwards[0]) / 2 + now.turning[2] ** 2 / 4,
            "height": (z - level - float(now.stand[2])) ** 2,
            "tilt": _trunk.tilt(now),
            "balance": _feet.off_balance(now, ca.vertcat(wanted, 0)),
            "bounce": v[2] ** 2,
            "sway": ca.sumsqr(now.turning[:2]),
            "posture": _trunk.posture(now),
            "flight": _feet.missing(now, 0.5),
            "dragging": _feet.dragging(now, self.clearance),
            "rates": ca.sumsqr(now.rates),
            "torque": ca.sumsqr(now.torque),
        }
