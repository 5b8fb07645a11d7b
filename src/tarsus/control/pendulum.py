"""Walking on a linear inverted pendulum, step by step, by its capture point.

The center of mass at constant height h, pushed by a center of pressure p: x'' = w^2 (x - p), w =
sqrt(g / h) (Kajita 2001). Its capture point xi = x + x' / w runs away from p: xi' = w (xi - p).
In a step of duration T, p goes from the foot before to the stance foot while both stand (`double`
seconds, on a straight line in time) and stays there. Then, with d the foot before against the
stance foot and E = exp(w T), both seen from the stance foot,

    xi(T) = exp(w (T - t)) (xi(t) - d g(t)),
    g(t) = r(t) - (1 - exp(-w (double - t))) / (w double),

r = 1 - t / double while both stand, g = r = 0 after. A walk repeats itself where xi starts each
step at an offset b from its stance foot with E (b + s g(0)) = s' + b', s the way from the foot
before to this one and s', b' those of the next step: b = s (1 - E g(0)) / (E - 1) for the part of a
step that is the same in all, b = -s (1 + E g(0)) / (E + 1) for the part that alternates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import casadi as ca
from casadi import SX


@dataclass(frozen=True)
class StepPattern:
    """A pendulum's steps.

    height: of the center of mass above the soles, m
    gravity: m/s^2
    step: duration of a step, s
    double: of it, with both feet on the ground, s
    """

    height: float
    gravity: float
    step: float
    double: float

    @property
    def rate(self) -> float:
        """w, 1/s."""
        return sqrt(self.gravity / self.height)

    @property
    def growth(self) -> float:
        """E: how much a distance between capture point and center of pressure grows in a step."""
        return exp(self.rate * self.step)

    @property
    def shared(self) -> float:
        """g(0): what standing on both feet takes off the way between them."""
        both = self.rate * self.double
        return 1 - (1 - exp(-both)) / both

    @property
    def sway_time(self) -> float:
        """Seconds in which a capture point between the feet sways, on one foot's center, to where a
        step on the spot starts.
        """
        grown = self.growth
        return max(log(2 * grown * (1 - self.shared) / (1 + grown)), 0.0) / self.rate

    def transfer(self, t: SX) -> tuple[SX, SX]:
        """r and g at a time in the step, s."""
        left = ca.fmax(self.double - t, 0.0)
        carried = left / self.double
        return carried, carried - (1 - ca.exp(-self.rate * left)) / (self.rate * self.double)

    def offset(self, same: SX | float, alternating: SX | float) -> SX:
        """b after a step of these two parts, m."""
        grown, shared = self.growth, self.shared
        steady = (1 - grown * shared) / (grown - 1)
        return SX(same * steady - alternating * ((1 + grown * shared) / (grown + 1)))

    def growth_left(self, t: SX) -> SX:
        """exp(w (T - t))."""
        return ca.exp(self.rate * (self.step - t))
