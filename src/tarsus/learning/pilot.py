"""A policy as a function of time and state that answers with torques, for any simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.control.pd import actuated
from tarsus.environments.control_program import MOST
from tarsus.environments.environment import Environment
from tarsus.environments.outside import Eyes
from tarsus.errors import Unsupported
from tarsus.learning.policy import Policy

Array = NDArray[np.float64]


class Pilot:
    """Looks and acts as a control period begins, and holds the joints to its targets in it.

    TarsusError for a task that looks at torques, contacts or sensors, which it is not told.
    """

    def __init__(self, policy: Policy, environment: Environment) -> None:
        self._policy, self._work = policy, environment.work
        self._eyes = Eyes(environment.work, environment.terrain.parameters())
        if self._eyes.feels:
            task = type(self._work.task).__name__
            raise Unsupported(
                f"{task} observes torques, contacts or sensors, which other simulators do not"
                " provide: play it under one of Tarsus's own laws.",
                task,
            )
        self._at = actuated(environment.robot)
        self._gains = np.array(self._work.gains.kp), np.array(self._work.gains.kd)
        self._asked = list(self._work.task.commands())
        self.begin()

    def begin(self, noise: np.random.Generator | None = None) -> None:
        """An episode begins; noise: to add that of the task, and its bias, to what is seen."""
        self._noise, self._calls, self._past = noise, 0, np.zeros(0)
        wide = self._eyes.bias
        self._bias = np.zeros(len(wide))
        if noise is not None and wide.any():
            self._bias = wide * noise.uniform(-1, 1, len(wide))
        self._action = self._before = np.zeros(len(self._work.moved))
        self._command = np.zeros(len(self._asked))

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

    def judge(self, q: Array, u: Array) -> tuple[bool, Array]:
        """As a period has ended, before another command or a push: whether the robot has failed,
        and by how much what was asked is missed (m,).
        """
        now = {"q": q, "u": u, "action": self._action, "before": self._before}
        clock = self._calls // self._work.steps
        return self._eyes(**now, command=self._command, clock=clock)[1:]

    def _look(self, q: Array, u: Array) -> None:
        clock, action = self._calls // self._work.steps, self._action
        now = {"q": q, "u": u, "action": action, "before": action, "command": self._command}
        seen = self._eyes(**now, clock=clock)[0]
        if self._noise is not None:
            seen = seen + self._noise.uniform(-1, 1, len(seen)) * self._eyes.noise
            seen = seen + self._bias
        before = self._past if self._past.size else np.tile(seen, self._work.task.history - 1)
        whole = np.concatenate([seen, before])
        self._past = whole[: -seen.size]
        asked = np.clip(self._policy(whole), -MOST, MOST)
        self._before, self._action = action, self._eyes.taken(action, asked)
        self._target = self._eyes.targets(clock, self._action, q)
