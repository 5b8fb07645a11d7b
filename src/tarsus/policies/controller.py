"""A policy as a controller for one robot: a function of time and state that gives torques.

`Simulation`, `MujocoSimulation` and everything that takes a Python controller can use it; many
robots at once are faster with `rollout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidValue
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract
from tarsus.policies.loading import contract_of
from tarsus.policies.motion import ReferenceMotion
from tarsus.policies.observer import Observer
from tarsus.policies.servos import ServoArrays
from tarsus.policies.terms import ObservedState
from tarsus.simulation import resolve

Array = NDArray[np.float64]
EARLY = 1e-9  # s: round-off in the time of a control period


class PolicyController:
    """A policy trained elsewhere that drives one robot.

    Parameters
    ----------
    policy : str, Path or Contract
        A network, a policy.toml, a folder with one of them, or a contract.
    robot : Robot or str
        Whose joints it moves.
    command : array_like
        Velocity asked for (3,): forward, to the left, m/s, and turning, rad/s; may be set later.
    config : str, Path or None
        What the trainer or the user wrote (`tarsus.policies.loading.contract_of`).
    settings : sequence of str
        Values of the contract, "NAME=VALUE" each.

    Examples
    --------
    >>> policy = tarsus.PolicyController("policy.onnx", robot, command=(0.5, 0, 0))
    >>> simulation = tarsus.Simulation(robot, "moreau", controller=policy)
    >>> simulation.set(q=policy.start)
    >>> log = simulation.run(10.0)
    """

    def __init__(
        self,
        policy: str | Path | Contract,
        robot: Robot | str,
        command: ArrayLike = (0.0, 0.0, 0.0),
        config: str | Path | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        self.robot = resolve.robot(robot)
        if not isinstance(policy, Contract):
            policy = contract_of(policy, config, settings)
        self.bound = BoundPolicy.of(policy, self.robot)
        self.command = np.asarray(command, float)
        if self.command.shape != (3,) or not np.isfinite(self.command).all():
            raise InvalidValue("command must be three finite numbers.", "command")
        motors = [self.robot.joint_index(motor.joint) for motor in self.robot.actuators]
        self._at_q = [self.robot.q_slices[i].start for i in motors]
        self._at_u = [self.robot.u_slices[i].start for i in motors]
        self._servos = ServoArrays.of(self.bound.servos)
        contract = self.bound.contract
        assert contract.rate is not None
        self._period, self._filter = 1 / contract.rate, contract.filter
        self._motion = ReferenceMotion.load(contract.motion) if contract.motion else None
        self.reset()

    @property
    def start(self) -> Array:
        """Coordinates (nq,) to start from."""
        return self.bound.start()

    def reset(self) -> None:
        """Forget the past: the next call is the first of a run."""
        n = self.bound.count
        self._observe, self._memory = Observer(self.bound), self.bound.network.start(1)
        self._action, self._previous, self._filtered = (np.zeros((1, n)) for _ in range(3))
        self._signals: list[tuple[float, Array]] = []
        self._next, self._last = 0.0, -np.inf

    def __call__(self, time: float, q: ArrayLike, u: ArrayLike) -> Array:
        """Return torques (motors,), N m, for a state; the network is asked once a control period.

        Raises
        ------
        InvalidFile
            If the network returns a number that is not finite.
        """
        if time < self._last:
            self.reset()
        self._last = time
        q, u = np.asarray(q, float), np.asarray(u, float)
        contract = self.bound.contract
        begin = contract.settle
        if not self._signals:
            self._signals.append((-np.inf, self.bound.signals(self._filtered)[0]))
            self._next = begin
        while time >= self._next - EARLY:
            self._ask(self._next - begin, q, u)
            self._next += self._period
        due = [signal for since, signal in self._signals if time >= since - EARLY]
        self._signals = self._signals[len(due) - 1 :]
        return self._servos.torques(due[-1], q[self._at_q], u[self._at_u])

    def _ask(self, time: float, q: Array, u: Array) -> None:
        """Ask the network at the beginning of a control period."""
        bound, contract = self.bound, self.bound.contract
        view = ObservedState(
            q[None],
            u[None],
            q[None, bound.q_places],
            u[None, bound.u_places],
            bound.each("positions"),
            self._action,
            self._previous,
            self.command[None],
            time,
            bound.frame,
            lambda points: np.zeros(points.shape[:-1]),
            np.zeros((1, 2)),
            self._motion.at(time) if self._motion else {},
        )
        raw, self._memory = bound.network(self._observe(view), self._memory)
        action: Any = np.asarray(raw, float)
        if not np.isfinite(action).all():
            raise InvalidFile(
                f"the network returned a number that is not finite at t = {time:.3g} s.",
                contract.network,
            )
        self._previous, self._action = self._action, action
        keep = 1.0
        if self._filter is not None:
            keep = 1 - np.exp(-2 * np.pi * self._filter * self._period)
        self._filtered = self._filtered + keep * (action - self._filtered)
        since = time + contract.settle + contract.delay
        self._signals.append((since, bound.signals(self._filtered)[0]))
