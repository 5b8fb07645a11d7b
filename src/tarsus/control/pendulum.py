"""Walking on a linear inverted pendulum, step by step, with its capture point.

The center of mass moves at a constant height h, driven by the center of pressure p: x'' = w^2 (x -
p), w = sqrt(g / h) (Kajita 2001). Its capture point xi = x + x' / w diverges from p: xi' = w (xi -
p). In a step of duration T, p moves from the trailing foot to the stance foot during double support
(`double` seconds, linearly in time) and stays there. With d the position of the trailing foot and E
= exp(w T), all positions relative to the stance foot,

    xi(T) = exp(w (T - t)) (xi(t) - d g(t)),
    g(t) = r(t) - (1 - exp(-w (double - t))) / (w double),

where r = 1 - t / double in double support, and g = r = 0 afterwards. A walk is periodic if xi
starts each step at an offset b from its stance foot with E (b + s g(0)) = s' + b'. Here s is the
displacement from the trailing foot to the stance foot, and s', b' belong to the next step. The part
of a step that is the same in all steps needs b = s (1 - E g(0)) / (E - 1); the part that alternates
needs b = -s (1 + E g(0)) / (E + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import casadi as ca
from casadi import SX


@dataclass(frozen=True)
class StepPattern:
    """Periodic steps of a linear inverted pendulum.

    Attributes
    ----------
    height
        Height of the center of mass above the soles, in m.
    gravity
        Gravitational acceleration, in m/s^2.
    step
        Duration of a step, in s.
    double
        Duration of double support within a step, in s.
    """

    height: float
    gravity: float
    step: float
    double: float

    @property
    def rate(self) -> float:
        """Growth rate w of the pendulum, in 1/s."""
        return sqrt(self.gravity / self.height)

    @property
    def growth(self) -> float:
        """Factor E by which the capture point moves away from the center of pressure per step."""
        return exp(self.rate * self.step)

    @property
    def double_support_effect(self) -> float:
        """Value of g at the start of a step: the effect of double support."""
        product = self.rate * self.double
        return 1 - (1 - exp(-product)) / product

    @property
    def sway_time(self) -> float:
        """Time to sway from rest between the feet to the start of a step in place, in s."""
        grown = self.growth
        return max(log(2 * grown * (1 - self.double_support_effect) / (1 + grown)), 0.0) / self.rate

    def transfer(self, t: SX) -> tuple[SX, SX]:
        """Compute r and g at a time in the step, in s."""
        remaining = ca.fmax(self.double - t, 0.0)
        trailing = remaining / self.double
        return trailing, trailing - (1 - ca.exp(-self.rate * remaining)) / (self.rate * self.double)

    def offset(self, constant: SX | float, alternating: SX | float) -> SX:
        """Compute the offset b after a step with these constant and alternating parts, in m."""
        growth, double_support_effect = self.growth, self.double_support_effect
        steady = (1 - growth * double_support_effect) / (growth - 1)
        return SX(
            constant * steady - alternating * ((1 + growth * double_support_effect) / (growth + 1))
        )

    def remaining_growth(self, t: SX) -> SX:
        """Compute exp(w (T - t))."""
        return ca.exp(self.rate * (self.step - t))
