"""A policy as a function of time and state that answers with torques, for any simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.control.pd import actuated
from tarsus.environments.control_program import MOST
from tarsus.environments.environment import Environment
from tarsus.environments.outside import Eyes
from tarsus.learning.policy import Policy

Array = NDArray[np.float64]


class Pilot:
    """Looks and acts once a control period, and holds the joints to its targets in between.

    failed: whether the robot has failed at the task; measured: what was missed as periods ended
    """

    def __init__(self, policy: Policy, environment: Environment) -> None:
        self._policy, self._work = policy, environment.work
        self._eyes = Eyes(environment.work, environment.terrain.parameters())
        self._at = actuated(environment.robot)
        self._gains = np.array(self._work.gains.kp), np.array(self._work.gains.kd)
        self._asked = list(self._work.task.commands())
        self.begin()

    def begin(self, noise: np.random.Generator | None = None) -> None:
        """An episode begins; noise: to add that of the task to what is seen."""
        self._noise, self._calls, self.failed = noise, 0, False
        self._before, self._command = np.zeros(self._work.motors), np.zeros(len(self._asked))
        self.measured: list[Array] = []

    def tell(self, command: Mapping[str, float] | Array) -> None:
        """What is asked from now on: all of it, or by name."""
        if isinstance(command, Mapping):
            for name, value in command.items():
                self._command[self._asked.index(name)] = value
        else:
            self._command[:] = command

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """Torques (motors,), N m, not limited yet."""
        if self._calls % self._work.steps == 0:
            self._look(q, u)
        self._calls += 1
        kp, kd = self._gains
        return kp * (self._target - q[self._at[0]]) - kd * u[self._at[1]]

    def _look(self, q: Array, u: Array) -> None:
        clock, action = self._calls // self._work.steps, self._before
        now = {"q": q, "u": u, "action": action, "before": action, "command": self._command}
        seen, self.failed, measured = self._eyes(**now, clock=clock)
        if clock:
            self.measured.append(measured)
        if self._noise is not None:
            seen = seen + self._noise.uniform(-1, 1, len(seen)) * self._eyes.noise
        self._before = np.clip(self._policy(seen), -MOST, MOST)
        self._target = self._eyes.targets(clock, self._before)
