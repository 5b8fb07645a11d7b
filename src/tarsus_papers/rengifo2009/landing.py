"""Closed forms of a point that lands in Rengifo 2009's ground, Eqn. (3), whatever it weighs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus_papers.rengifo2009.bodies import Array


@dataclass(frozen=True)
class Landing:
    """p'' = -k_p p - k_v min(0, p') from p = 0, p' = -speed: gravity does not enter.

    k_p: 1/s^2; k_v: 1/s; speed: m/s. The point goes down to `depth` as a damped oscillator, and
    comes back as one without a damper.
    """

    k_p: float
    k_v: float
    speed: float

    @property
    def turn(self) -> float:
        """Time until it is deepest, s; infinite for k_p = 0."""
        if not self.k_p:
            return np.inf
        slow, fast = self._rates
        return float(np.real(np.log(fast / slow) / (slow - fast)))

    @property
    def depth(self) -> float:
        """Largest, m; v / k_v for k_p = 0, and nearly so for k_p << k_v^2."""
        return self.speed / self.k_v if not self.k_p else -float(self._sinking(self.turn)[0])

    @property
    def back(self) -> float:
        """Time until it is at the surface again, s."""
        return self.turn + np.pi / 2 / np.sqrt(self.k_p) if self.k_p else np.inf

    @property
    def restitution(self) -> float:
        """Speed at which it leaves over that at which it came: a function of k_p / k_v^2."""
        return float(np.sqrt(self.k_p)) * self.depth / self.speed

    def height(self, time: Array) -> Array:
        """p, m, at times, s, from the landing until it is back."""
        rising = -self.depth * np.cos(np.sqrt(self.k_p) * np.fmax(time - self.turn, 0.0))
        return np.where(time < self.turn, self._sinking(time)[0], rising)

    def acceleration(self, time: Array) -> Array:
        """p'', m/s^2: the force is m g + m p'', Eqn. (4)."""
        p, speed = self._sinking(time)
        sinking = -self.k_p * p - self.k_v * speed
        return np.where(time < self.turn, sinking, -self.k_p * self.height(time))

    @property
    def _rates(self) -> tuple[complex, complex]:
        """The roots of s^2 + k_v s + k_p, the slow one without cancellation."""
        fast = -(self.k_v + np.sqrt(complex(self.k_v**2 - 4 * self.k_p))) / 2
        return self.k_p / fast, fast

    def _sinking(self, time: Array | float) -> tuple[Array, Array]:
        """p and p' on the way down."""
        slow, fast = self._rates
        one, two = np.exp(slow * time), np.exp(fast * time)
        share = -self.speed / (slow - fast)
        return np.real(share * (one - two)), np.real(share * (slow * one - fast * two))
