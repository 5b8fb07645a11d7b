"""Closed forms for a point landing under Eqn. (3) of Rengifo 2009, for any mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus_papers.rengifo2009.bodies import Array


@dataclass(frozen=True)
class Landing:
    """Solution of p'' = -k_p p - k_v min(0, p') from p = 0, p' = -speed.

    Gravity does not enter. The point descends to `depth` as a damped oscillator and returns as an
    undamped one.

    Attributes
    ----------
    k_p : float
        Stiffness gain in 1/s².
    k_v : float
        Damping gain in 1/s.
    speed : float
        Speed at the landing in m/s.
    """

    k_p: float
    k_v: float
    speed: float

    @property
    def turn(self) -> float:
        """Time until the point is deepest, in s; infinite for k_p = 0."""
        if not self.k_p:
            return np.inf
        slow, fast = self._rates
        return float(np.real(np.log(fast / slow) / (slow - fast)))

    @property
    def depth(self) -> float:
        """Largest depth in m; v / k_v for k_p = 0, and approximately so for k_p << k_v²."""
        return self.speed / self.k_v if not self.k_p else -float(self._sinking(self.turn)[0])

    @property
    def return_time(self) -> float:
        """Time until the point is at the surface again, in s."""
        return self.turn + np.pi / 2 / np.sqrt(self.k_p) if self.k_p else np.inf

    @property
    def restitution(self) -> float:
        """Ratio of the speeds after and before the contact: a function of k_p / k_v²."""
        return float(np.sqrt(self.k_p)) * self.depth / self.speed

    def height(self, time: Array) -> Array:
        """Return p in m at times (s) from the landing until the return."""
        rising = -self.depth * np.cos(np.sqrt(self.k_p) * np.fmax(time - self.turn, 0.0))
        return np.where(time < self.turn, self._sinking(time)[0], rising)

    def acceleration(self, time: Array) -> Array:
        """Return p'' in m/s² at times (s); the force is m g + m p'', Eqn. (4)."""
        p, speed = self._sinking(time)
        sinking = -self.k_p * p - self.k_v * speed
        return np.where(time < self.turn, sinking, -self.k_p * self.height(time))

    @property
    def _rates(self) -> tuple[complex, complex]:
        """Return the roots of s² + k_v s + k_p, the slow one without cancellation."""
        fast = -(self.k_v + np.sqrt(complex(self.k_v**2 - 4 * self.k_p))) / 2
        return self.k_p / fast, fast

    def _sinking(self, time: Array | float) -> tuple[Array, Array]:
        """Return p and p' on the way down."""
        slow, fast = self._rates
        one, two = np.exp(slow * time), np.exp(fast * time)
        share = -self.speed / (slow - fast)
        return np.real(share * (one - two)), np.real(share * (slow * one - fast * two))
