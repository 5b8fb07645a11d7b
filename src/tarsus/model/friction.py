"""How the dry friction of a joint varies: with its angle, its rate and the torque of its motor.

The largest torque of dry friction is

    f(q, u, tau) = max(0, dry_friction + slope x + curvature x^2
                       + stribeck exp(-|u| / stribeck_rate) + load |tau|)

with x = clip(q, lower, upper) - center.

- Angle: gears and knee linkages turn harder in some postures. Outside the range in which it was
  measured, friction stays that of the nearest end.
- Stribeck: more friction at rest than in motion (Armstrong-Helouvry 1994, Eqn. (3), exponent 1).
- Load: a torque tau through the gear presses its teeth together. While the motor drives, the loss
  is `load` times |tau|, an efficiency of 1 - load. While the joint drives the motor, it is
  `back_load` times |tau| (directional efficiency, Wang and Kim 2015).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidModel

NONNEGATIVE = ("stribeck", "load", "back_load")


@dataclass(frozen=True)
class FrictionVariation:
    """Variation of a joint's dry friction, in N m and rad (slides: N and m).

    Attributes
    ----------
    slope, curvature
        Change of friction with the distance from `center`, in N m/rad and N m/rad^2.
    center
        Angle at which friction equals `dry_friction`, in rad.
    lower, upper
        Range of angles outside which friction no longer changes, in rad.
    stribeck
        Additional friction at rest, in N m.
    stribeck_rate
        Rate at which 37 % of it remains, in rad/s.
    load, back_load
        Friction per motor torque, while the motor drives the joint and while it is driven.
    """

    slope: float = 0.0
    curvature: float = 0.0
    center: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    stribeck: float = 0.0
    stribeck_rate: float = 0.1
    load: float = 0.0
    back_load: float = 0.0

    def __post_init__(self) -> None:
        numbers = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in numbers.items():
            if isinstance(value, SX):
                continue
            unlimited = name in ("lower", "upper")
            if np.isnan(value) or not (unlimited or np.isfinite(value)):
                raise InvalidModel(f"the {name} of joint friction must be finite, not {value}.")
            if name in NONNEGATIVE and value < 0:
                raise InvalidModel(f"the {name} of joint friction must be >= 0, not {value}.")
        if not isinstance(self.stribeck_rate, SX) and not self.stribeck_rate > 0:
            raise InvalidModel(f"stribeck_rate must be > 0, not {self.stribeck_rate}.")
        if self.lower > self.upper:
            raise InvalidModel(
                f"the range of joint friction must not be reversed: {self.lower} is above"
                f" {self.upper}."
            )

    def limit(self, dry_friction: Any, q: Any, u: Any, torque: Any) -> SX:
        """Compute the largest torque of dry friction, in N m.

        Parameters
        ----------
        dry_friction
            Friction at `center`, without load, in motion, in N m.
        q, u
            Angle, in rad, and rate, in rad/s.
        torque
            Torque of the motor, in N m.
        """
        x = self.distance(q)
        total = SX(dry_friction) + x * (self.slope + x * self.curvature)
        if not _is_zero(self.stribeck):
            total += self.stribeck * ca.exp(-ca.fabs(u) / self.stribeck_rate)
        if not (_is_zero(self.load) and _is_zero(self.back_load)):
            drives = SX(torque) * u >= 0
            total += ca.if_else(drives, self.load, self.back_load) * ca.fabs(torque)
        return ca.fmax(total, 0)

    def distance(self, q: Any) -> Any:
        """Compute the distance from `center` at angle q, clipped to the range, in rad."""
        inside = ca.fmax(q, self.lower) if np.isfinite(self.lower) else q
        inside = ca.fmin(inside, self.upper) if np.isfinite(self.upper) else inside
        return inside - self.center


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0
