"""A policy as a controller for one robot: a function of time and state that gives torques.

`Simulation`, `MujocoSimulation` and everything that takes a Python controller can use it; many
robots at once are faster with `rollout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.morphology.feet import soles
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract
from tarsus.policies.control_loop import ControlLoop
from tarsus.policies.foot_contact import CONTACT_GAP, foot_gaps
from tarsus.policies.loading import load_contract
from tarsus.policies.servos import ServoArrays
from tarsus.policies.worlds import height_function
from tarsus.simulation import resolve
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
TIME_TOLERANCE = 1e-9  # s: round-off in the time of a control period


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
        What the trainer or the user wrote (`tarsus.policies.loading.load_contract`).
    settings : sequence of str
        Values of the contract, "NAME=VALUE" each.
    terrain : Terrain or str
        Ground that height scans and foot contacts refer to; the simulation's, if not a plane.

    Examples
    --------
    >>> policy = tarsus.PolicyController("policy.onnx", robot)  # doctest: +SKIP
    >>> simulation = tarsus.Simulation(robot, "moreau", controller=policy)  # doctest: +SKIP
    >>> simulation.set(q=policy.start)  # doctest: +SKIP
    >>> log = simulation.run(10.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: str | Path | Contract,
        robot: Robot | str,
        command: ArrayLike = (0.0, 0.0, 0.0),
        config: str | Path | None = None,
        settings: Sequence[str] = (),
        terrain: Terrain | str = "plane",
    ) -> None:
        self.robot = resolve.robot(robot)
        if not isinstance(policy, Contract):
            policy = load_contract(policy, config, settings)
        self.bound = BoundPolicy.of(policy, self.robot)
        self.command = np.asarray(command, float)
        if self.command.shape != (3,) or not np.isfinite(self.command).all():
            raise InvalidValue("command must be three finite numbers.", "command")
        self._q_indices, self._u_indices = self.bound.motor_indices
        self._servos = ServoArrays.of(self.bound.servos)
        self._heights = height_function(resolve.terrain(terrain))
        self._observes_contacts = any(
            term.name == "foot_contacts" for term in self.bound.contract.ordered_terms
        )
        self.reset()

    @property
    def start(self) -> Array:
        """Coordinates (nq,) to start from."""
        return self.bound.start()

    def reset(self) -> None:
        """Forget the past: the next call is the first of a run."""
        self._loop = ControlLoop(self.bound, 1)
        self._signals = [(-np.inf, self._loop.default_signals[0])]
        self._next, self._last = self.bound.contract.settle, -np.inf

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
        while time >= self._next - TIME_TOLERANCE:
            self._update_signals(q, u)
            self._next += self._loop.period
        due = [signal for since, signal in self._signals if time >= since - TIME_TOLERANCE]
        self._signals = self._signals[len(due) - 1 :]
        return self._servos.torques(due[-1], q[self._q_indices], u[self._u_indices])

    def _update_signals(self, q: Array, u: Array) -> None:
        """Ask the network at the beginning of a control period."""
        contract = self.bound.contract
        touching = np.zeros((1, len(soles(self.robot))))
        if self._observes_contacts:
            gaps = foot_gaps(self.robot, q[None], self._heights)
            touching = (gaps <= CONTACT_GAP).astype(float)
        signals = self._loop.step(
            self._next - contract.settle,
            q[None],
            u[None],
            self.command[None],
            self._heights,
            touching,
        )
        self._signals.append((self._next + contract.delay, signals[0]))
