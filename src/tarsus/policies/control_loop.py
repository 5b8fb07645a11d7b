"""One control period of a policy: observe the state, run the network, compute servo signals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.motion import ReferenceMotion
from tarsus.policies.observer import Observer
from tarsus.policies.terms import ObservedState

Array = NDArray[np.float64]
Observation = NDArray[np.float32]


class ControlLoop:
    """Control loop of a policy in many worlds, with its state between control periods.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    worlds : int
        Number of worlds.
    """

    def __init__(self, policy: BoundPolicy, worlds: int) -> None:
        contract = policy.contract
        assert contract.rate is not None
        self.period = 1 / contract.rate
        self._policy, self._observe = policy, Observer(policy)
        self._memory, self._default = policy.network.start(worlds), policy.per_joint("positions")
        self._motion = ReferenceMotion.load(contract.motion) if contract.motion else None
        self._action, self._previous, self._filtered = (
            np.zeros((worlds, policy.count)) for _ in range(3)
        )
        self.default_signals = policy.signals(self._filtered)
        """Signals (worlds, motors) before the first action: the default positions."""

    def step(
        self,
        time: float,
        q: Array,
        u: Array,
        command: Array,
        heights: Callable[[Array], Array],
        touching: Array,
        *,
        running: NDArray[np.bool_] | None = None,
        disturb: Callable[[Observation], Observation] | None = None,
    ) -> Array:
        """Run the network and return targets or torques, shape (worlds, motors).

        Parameters
        ----------
        time : float
            Time since the policy started, s.
        q, u : ndarray
            Coordinates (worlds, nq) and velocities (worlds, nu).
        command : ndarray
            Commanded velocity, shape (worlds, 3).
        heights : callable
            Ground height in m below points of shape (worlds, n, 2).
        touching : ndarray
            1 for each foot that touches the ground, otherwise 0; shape (worlds, feet).
        running : ndarray or None
            Mask of the worlds whose actions must be finite, shape (worlds,); None for all.
        disturb : callable or None
            Function that modifies the observation, for example to add noise.

        Raises
        ------
        InvalidFile
            If the network returns non-finite values, or the wrong number of actions.
        """
        policy, contract = self._policy, self._policy.contract
        observation = self._observe(
            ObservedState(
                q,
                u,
                q[:, policy.q_indices],
                u[:, policy.u_indices],
                self._default,
                self._action,
                self._previous,
                command,
                time,
                policy.frame,
                heights,
                touching,
                self._motion.sample(time) if self._motion else {},
            )
        )
        if disturb is not None:
            observation = disturb(observation)
        raw, self._memory = policy.network(observation, self._memory)
        action = np.asarray(raw, float)
        if action.shape != self._action.shape:
            raise InvalidFile(
                f"the network returns {action.shape[-1]} actions, but the contract names"
                f" {policy.count} joints.",
                "joints",
            )
        invalid = ~np.isfinite(action).all(axis=1)
        if running is not None:
            invalid &= running
        if invalid.any():
            location = f" in world {int(np.argmax(invalid))}" if len(action) > 1 else ""
            raise InvalidFile(
                f"the network returned a value that is not finite at t = {time:.3g} s{location}.",
                contract.network,
            )
        self._previous, self._action = self._action, np.nan_to_num(action)
        self._filtered = self._action if contract.filter is None else self._low_pass()
        return policy.signals(self._filtered)

    def _low_pass(self) -> Array:
        """Filter the last action by a first-order low-pass filter."""
        cutoff = self._policy.contract.filter
        assert cutoff is not None
        weight = 1 - np.exp(-2 * np.pi * cutoff * self.period)
        return self._filtered + weight * (self._action - self._filtered)
