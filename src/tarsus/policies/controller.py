"""Policy as a Python controller of one robot: a function of time and state to torques.

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
from tarsus.morphology.feet import find_soles
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
    """Controller that runs a policy trained elsewhere on one robot.

    Parameters
    ----------
    policy : str, Path or Contract
        A network, a policy.toml, a folder with one of them, or a contract.
    robot : Robot or str
        Robot that the policy controls.
    command : array_like
        Commanded velocity, shape (3,): forward and left in m/s, yaw rate in rad/s. The attribute
        may be set later.
    config : str, Path or None
        Configuration file of the trainer or a policy.toml; see
        `tarsus.policies.loading.load_contract`.
    settings : sequence of str
        Values of the contract that replace others, each "NAME=VALUE".
    terrain : Terrain or str
        Terrain for height scans and foot contacts; pass that of the simulation.

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
        self.robot = resolve.resolve_robot(robot)
        if not isinstance(policy, Contract):
            policy = load_contract(policy, config, settings)
        self.bound = BoundPolicy.of(policy, self.robot)
        self.command = np.asarray(command, float)
        if self.command.shape != (3,) or not np.isfinite(self.command).all():
            raise InvalidValue("command must be three finite numbers.", "command")
        self._q_indices, self._u_indices = self.bound.motor_indices
        self._servos = ServoArrays.from_servos(self.bound.servos)
        self._heights = height_function(resolve.resolve_terrain(terrain))
        self._observes_contacts = any(
            term.name == "foot_contacts" for term in self.bound.contract.ordered_terms
        )
        self.reset()

    @property
    def start(self) -> Array:
        """Coordinates from which the policy starts, shape (nq,)."""
        return self.bound.start()

    def reset(self) -> None:
        """Clear the history; the next call starts a new run."""
        self._loop = ControlLoop(self.bound, 1)
        self._signals = [(-np.inf, self._loop.default_signals[0])]
        self._next, self._last = self.bound.contract.settle, -np.inf

    def __call__(self, time: float, q: ArrayLike, u: ArrayLike) -> Array:
        """Return the torques, shape (motors,), in N m; run the network once per control period.

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
        """Run the network at the start of a control period."""
        contract = self.bound.contract
        touching = np.zeros((1, len(find_soles(self.robot))))
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
