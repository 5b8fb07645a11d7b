"""Temporary engine: bodies fall freely."""

from __future__ import annotations

import numpy as np

from tarsus.engines.base import Array, Engine, Session, Start


class Falling(Session):
    """Free bodies that fall without turning."""

    def __init__(self, start: Start, dt: float) -> None:
        self.dt, self.worlds = dt, start.worlds
        self._q, self._u = np.array(start.q), np.array(start.u)
        self._gravity = np.array(start.body.gravity_acceleration)

    def state(self) -> tuple[Array, Array]:
        return self._q.copy(), self._u.copy()

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._u[:, :3] += self.dt * self._gravity
            self._q[:, :3] += self.dt * self._u[:, :3]


class ThrowAway(Engine):
    """Gravity alone."""

    law, stepper = "throw_away", ""
    not_modeled = {"friction": "nothing touches"}  # noqa: RUF012
    impulsive = False
    parameters = frozenset[str]()

    def __init__(self, variant: str = "") -> None:
        self.stepper = variant

    def begin(self, start: Start, dt: float) -> Session:
        return Falling(start, dt)
