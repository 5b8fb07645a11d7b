"""A policy as a controller for any simulator: torques from time and state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.control.pd import actuated_indices
from tarsus.environments.control_program import MAX_ACTION
from tarsus.environments.environment import Environment
from tarsus.environments.task_observer import TaskObserver
from tarsus.errors import Unsupported
from tarsus.learning.policy import Policy

Array = NDArray[np.float64]


class TaskController:
    """Policy that acts at the start of each control period, with joint servos in between.

    Parameters
    ----------
    policy
        The policy.
    environment
        Environment of its task.

    Raises
    ------
    Unsupported
        For a task that observes torques, contacts or sensors, which other simulators do not
        provide.
    """

    def __init__(self, policy: Policy, environment: Environment) -> None:
        self._policy, self._work = policy, environment.work
        self._observer = TaskObserver(environment.work, environment.terrain.parameters())
        if self._observer.inputs:
            task = type(self._work.task).__name__
            raise Unsupported(
                f"{task} observes torques, contacts or sensors, which other simulators do not"
                " provide: play it under one of Tarsus's own laws.",
                task,
            )
        self._indices = actuated_indices(environment.robot)
        self._gains = np.array(self._work.gains.kp), np.array(self._work.gains.kd)
        self._command_names = list(self._work.task.commands())
        self.start_episode()

    def start_episode(self, noise: np.random.Generator | None = None) -> None:
        """Start an episode; `noise` draws noise and bias of the observations, None: neither."""
        self._noise, self._calls, self._past = noise, 0, np.zeros(0)
        widths = self._observer.bias
        self._bias = np.zeros(len(widths))
        if noise is not None and widths.any():
            self._bias = widths * noise.uniform(-1, 1, len(widths))
        self._action = self._before = np.zeros(len(self._work.moved_motors))
        self._command = np.zeros(len(self._command_names))

    def set_command(self, command: Mapping[str, float] | Array) -> None:
        """Set the commands: all of them, or some by name."""
        if isinstance(command, Mapping):
            for name, value in command.items():
                self._command[self._command_names.index(name)] = value
        else:
            self._command[:] = command

    def __call__(self, t: float, q: Array, u: Array) -> Array:
        """Compute the torques before the torque limits, shape (motors,), in N m."""
        if self._calls % self._work.steps == 0:
            self._update_targets(q, u)
        self._calls += 1
        kp, kd = self._gains
        return kp * (self._target - q[self._indices[0]]) - kd * u[self._indices[1]]

    def evaluate(self, q: Array, u: Array) -> tuple[bool, Array]:
        """Evaluate whether the robot failed in the last period, and the measures, shape (m,).

        Call it at the end of a period, before a new command or a push.
        """
        now = {"q": q, "u": u, "action": self._action, "before": self._before}
        clock = self._calls // self._work.steps
        return self._observer(**now, command=self._command, clock=clock)[1:]

    def _update_targets(self, q: Array, u: Array) -> None:
        clock, action = self._calls // self._work.steps, self._action
        now = {"q": q, "u": u, "action": action, "before": action, "command": self._command}
        observation = self._observer(**now, clock=clock)[0]
        if self._noise is not None:
            observation = (
                observation + self._noise.uniform(-1, 1, len(observation)) * self._observer.noise
            )
            observation = observation + self._bias
        earlier = (
            self._past if self._past.size else np.tile(observation, self._work.task.history - 1)
        )
        history = np.concatenate([observation, earlier])
        self._past = history[: -observation.size]
        requested = np.clip(self._policy(history), -MAX_ACTION, MAX_ACTION)
        self._before, self._action = action, self._observer.filter_action(action, requested)
        self._target = self._observer.targets(clock, self._action, q)
