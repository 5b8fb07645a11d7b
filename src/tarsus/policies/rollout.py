"""A policy in closed loop: observation, action, some steps of physics, and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import IncompatibleOptions, InvalidFile
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.motion import ReferenceMotion
from tarsus.policies.observer import Observer
from tarsus.policies.terms import ObservedState, rotations
from tarsus.policies.worlds import Delayed, PolicyWorlds

Array = NDArray[np.float64]
LOW = 0.5  # of the height at the start: a base below it has fallen
TILTED = 0.5  # cosine of the base's tilt from where it began: beyond it the robot has fallen
OnPeriod = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Rollout:
    """What came of trials; T control periods, W trials.

    Parameters
    ----------
    period : float
        Of control, s.
    position : ndarray
        Of the base at the end of each period (T, W, 3), m.
    velocity : ndarray
        Of the base in its heading (T, W, 3): forward, to the left, m/s, and turning, rad/s.
    command : ndarray
        What was asked (W, 3).
    fell : ndarray
        When each trial fell (W,), s; infinite if it did not.
    actions : ndarray
        As the network gave them (T, W, n).
    unconverged : float
        Share of periods that ended in an unsolved step.
    """

    period: float
    position: Array
    velocity: Array
    command: Array
    fell: Array
    actions: Array
    unconverged: float
    diverged: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def survived(self) -> NDArray[np.bool_]:
        """Which trials (W,) did not fall."""
        return ~np.isfinite(self.fell)

    def tracking_error(self, after: float = 1.0) -> Array:
        """Return by how much velocities miss the command (W, 3), root mean square.

        Taken from `after` seconds on, up to the fall.
        """
        times = self.period * np.arange(1, 1 + len(self.position))
        use: Any = np.logical_and(times[:, None] > after, times[:, None] < self.fell)
        missed = np.where(use[..., None], self.velocity - self.command, 0.0)
        count = np.maximum(use.sum(0), 1)[:, None]
        return np.where(use.any(0)[:, None], np.sqrt((missed**2).sum(0) / count), np.nan)


def rollout(
    policy: BoundPolicy,
    worlds: PolicyWorlds,
    command: Array,
    seconds: float,
    *,
    noise: float = 0.0,
    seed: int = 0,
    push: Callable[[float], Array | None] | None = None,
    stop_when_all_fell: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Rollout:
    """Run a policy in many worlds.

    Parameters
    ----------
    policy : BoundPolicy
        What drives them.
    worlds : PolicyWorlds
        At the start of the trials.
    command : ndarray
        Velocity asked for (worlds, 3), m/s, m/s and rad/s.
    seconds : float
        How long, s.
    noise : float
        Standard deviation of what is added to observations, [1], as the network sees them.
    seed : int
        Of the noise.
    push : callable or None
        Returns changes of velocity (worlds, 2), m/s, for a time, s; None for none.
    stop_when_all_fell : bool
        Whether to end early.
    progress : callable or None
        Told the seconds done.

    Raises
    ------
    IncompatibleOptions
        If a control period is not a whole number of steps.
    InvalidFile
        If the network returns a number that is not finite.
    """
    contract = policy.contract
    assert contract.rate is not None
    steps = round(1 / (contract.rate * worlds.dt))
    if steps < 1 or abs(steps * contract.rate * worlds.dt - 1) > 1e-6:
        raise IncompatibleOptions(
            f"a control period of 1 / {contract.rate:g} s is no whole number of steps of"
            f" {worlds.dt:g} s: choose another dt.",
            "dt",
        )
    count, n, period = len(worlds.q), policy.count, 1 / contract.rate
    observe, rng = Observer(policy), np.random.default_rng(seed)
    motion = ReferenceMotion.load(contract.motion) if contract.motion else None
    action, previous, filtered = (np.zeros((count, n)) for _ in range(3))
    memory, default = policy.network.start(count), policy.each("positions")
    keep = 1.0 if contract.filter is None else 1 - np.exp(-2 * np.pi * contract.filter * period)
    late = Delayed(worlds, policy.contract.delay)
    # the default positions are held until the robot stands
    for _ in range(round(contract.settle / period)):
        worlds.advance(policy.signals(np.zeros((count, n))), steps)
    upright = rotations(worlds.q[:, 3:7])
    begun, ground = worlds.q[:, 2] - _ground(worlds), np.full(count, np.inf)
    places, speeds, acted, unsolved, looks = [], [], [], 0, 0
    fell = ground
    for k in range(max(1, round(seconds / period))):
        if push is not None and (change := push(k * period)) is not None:
            worlds.kick(change)
        q, u = worlds.q, worlds.u
        view = ObservedState(
            np.nan_to_num(q),
            np.nan_to_num(u),
            np.nan_to_num(q[:, policy.q_places]),
            np.nan_to_num(u[:, policy.u_places]),
            default,
            action,
            previous,
            command,
            k * period,
            policy.frame,
            worlds.heights,
            worlds.touching,
            motion.at(k * period) if motion else {},
        )
        seen = observe(view)
        if noise:
            seen = seen + rng.normal(0, noise, seen.shape).astype(np.float32)
        previous = action
        raw, memory = policy.network(seen, memory)
        action = np.asarray(raw, float)
        if action.shape != (count, n):
            raise InvalidFile(
                f"the network returns {action.shape[-1]} actions, but the contract names {n}"
                " joints.",
                "joints",
            )
        going = ~np.isfinite(fell)
        if not np.isfinite(action[going]).all():
            world = int(np.flatnonzero(going & ~np.isfinite(action).all(1))[0])
            raise InvalidFile(
                f"the network returned a number that is not finite at t = {k * period:.3g} s"
                + (f" in world {world}." if count > 1 else "."),
                contract.network,
            )
        action = np.nan_to_num(action)
        filtered = action if contract.filter is None else filtered + keep * (action - filtered)
        late.drive(policy.signals(filtered), steps)
        # what came of it
        q, u = worlds.q, worlds.u
        good: Any = np.isfinite(np.hstack([q, u])).all(axis=1)
        q, u = np.where(good[:, None], q, 0.0), np.where(good[:, None], u, 0.0)
        q[~good, 3] = 1.0
        R = rotations(q[:, 3:7])
        tilt = np.einsum("wi,wi->w", R[:, 2], upright[:, 2])
        low = np.less(q[:, 2] - _ground(worlds, q), LOW * begun)
        down = ~good | low | np.less(tilt, TILTED)
        fell = np.where(going & down, (k + 1) * period, fell)
        unsolved += int((worlds.unconverged & going).sum())
        looks += int(going.sum())
        places.append(q[:, :3].copy())
        speeds.append(_in_heading(R, u))
        acted.append(action.copy())
        if progress:
            progress((k + 1) * period)
        if stop_when_all_fell and np.isfinite(fell).all():
            break
    return Rollout(
        period,
        np.array(places),
        np.array(speeds),
        command,
        fell,
        np.array(acted),
        unsolved / max(looks, 1),
    )


def _ground(worlds: PolicyWorlds, q: Array | None = None) -> Array:
    """The ground's height below each base (worlds,), m."""
    at = worlds.q if q is None else q
    return worlds.heights(at[:, None, :2])[:, 0]


def _in_heading(R: Array, u: Array) -> Array:
    """Velocity in the base's heading, and turning about the vertical (worlds, 3)."""
    length = np.maximum(np.hypot(R[:, 0, 0], R[:, 1, 0]), 1e-12)
    c, s = R[:, 0, 0] / length, R[:, 1, 0] / length
    turning = np.einsum("wi,wi->w", R[:, 2], u[:, 3:6])
    return np.stack([c * u[:, 0] + s * u[:, 1], c * u[:, 1] - s * u[:, 0], turning], axis=1)
