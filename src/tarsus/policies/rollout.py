"""Rollouts of a policy in closed loop: observation, action, then several physics steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import IncompatibleOptions
from tarsus.policies.attitude import planar_velocity, rotations
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.control_loop import ControlLoop, Observation
from tarsus.policies.worlds import DelayLine, PolicyWorlds

Array = NDArray[np.float64]
MIN_HEIGHT = 0.5  # share of the initial base height; a robot below has fallen
MIN_TILT_COSINE = 0.5  # cosine of the tilt from the initial attitude; below, the robot has fallen
MIN_SPEED = 0.3  # m/s: errors of slower commands are relative to this speed
MAX_VELOCITY_ERROR = 0.5  # largest error of a successful trial, relative to the command


@dataclass(frozen=True, eq=False)
class Rollout:
    """Motion of W trials over T control periods; values after a trial's fall are meaningless.

    Parameters
    ----------
    period : float
        Control period, s.
    position : ndarray
        Position of the base at the end of each period, shape (T, W, 3), in m.
    velocity : ndarray
        Velocity of the base in heading axes, shape (T, W, 3): forward and left in m/s, turning in
        rad/s.
    command : ndarray
        Commanded velocity, shape (W, 3).
    fell : ndarray
        Time at which each trial fell, shape (W,), in s; infinite if it did not.
    unconverged : float
        Share of control periods whose last step did not converge.
    q, u : ndarray
        Coordinates (T, W, nq) and velocities (T, W, nu) at the end of each period; empty unless
        recorded.
    signals : ndarray
        Targets or torques (T, W, motors) of each period; empty unless recorded.
    """

    period: float
    position: Array
    velocity: Array
    command: Array
    fell: Array
    unconverged: float
    q: Array
    u: Array
    signals: Array

    @property
    def survived(self) -> NDArray[np.bool_]:
        """Mask of the trials without a fall, shape (W,)."""
        return ~np.isfinite(self.fell)

    def velocity_error(self, after: float = 1.0) -> Array:
        """Compute the error of each trial's mean velocity, relative to its command.

        Parameters
        ----------
        after : float
            Start of the averaging interval, s.

        Returns
        -------
        ndarray
            Errors, shape (W,): 0 if the robot moves as commanded, 1 if it stands still instead.
            Commands slower than `MIN_SPEED` count as `MIN_SPEED`.
        """
        later = self.velocity[round(after / self.period) :]
        mean = later.mean(axis=0) if len(later) else np.zeros(self.command.shape)
        speed = np.maximum(np.linalg.norm(self.command, axis=1), MIN_SPEED)
        return np.linalg.norm(mean - self.command, axis=1) / speed

    @property
    def succeeded(self) -> NDArray[np.bool_]:
        """Mask of trials without a fall that follow their command to within a half, shape (W,)."""
        return self.survived & (self.velocity_error() <= MAX_VELOCITY_ERROR)

    def tracking_error(self, after: float = 1.0) -> Array:
        """Compute the root mean square error of the velocity, shape (W, 3).

        It covers the time from `after` seconds until the fall.
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
    pushes: Mapping[float, Array] | None = None,
    record: bool = False,
    max_fallen_share: float = 1.0,
) -> Rollout:
    """Run a policy in many worlds until the time is up or too many robots have fallen.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    worlds : PolicyWorlds
        Worlds with the robots in their initial state.
    command : ndarray
        Commanded velocity, shape (worlds, 3): forward and left in m/s, turning in rad/s.
    seconds : float
        Duration, s.
    noise : float
        Standard deviation of the observation noise, in units of the network's input.
    seed : int
        Seed of the noise.
    pushes : mapping or None
        Velocity changes of the base along x and y, shape (worlds, 2), in m/s, by time in s.
    record : bool
        Whether to record coordinates, velocities and signals of every control period.
    max_fallen_share : float
        Share of fallen robots, 0 to 1, at which the run stops.

    Raises
    ------
    IncompatibleOptions
        If a control period is not a whole number of steps.
    InvalidFile
        If the network returns a value that is not finite.
    """
    contract = policy.contract
    assert contract.rate is not None
    steps = round(1 / (contract.rate * worlds.dt))
    if steps < 1 or abs(steps * contract.rate * worlds.dt - 1) > 1e-6:
        raise IncompatibleOptions(
            f"a control period of 1 / {contract.rate:g} s is not a multiple of dt ="
            f" {worlds.dt:g} s: choose another dt.",
            "dt",
        )
    count = len(worlds.q)
    loop, delayed = ControlLoop(policy, count), DelayLine(worlds, contract.delay)
    period, rng = loop.period, np.random.default_rng(seed)

    def add_noise(observation: Observation) -> Observation:
        return observation + rng.normal(0, noise, observation.shape).astype(np.float32)

    # settle at the default joint positions
    for _ in range(round(contract.settle / period)):
        worlds.advance(loop.default_signals, steps)
    upright = rotations(worlds.q[:, 3:7])
    start_height = worlds.q[:, 2] - _ground_height(worlds, worlds.q)
    fell = np.full(count, np.inf)
    positions, velocities, unsolved, checks = [], [], 0, 0
    recorded: tuple[list[Array], ...] = ([], [], [])
    for k in range(max(1, round(seconds / period))):
        for push_time, change in (pushes or {}).items():
            if abs(k * period - push_time) < period / 2:
                worlds.kick(change)
        running = ~np.isfinite(fell)
        signals = loop.step(
            k * period,
            np.nan_to_num(worlds.q),
            np.nan_to_num(worlds.u),
            command,
            worlds.heights,
            worlds.touching,
            running=running,
            disturb=add_noise if noise else None,
        )
        delayed.drive(signals, steps)
        # falls
        q, u = worlds.q, worlds.u
        finite: Any = np.isfinite(np.hstack([q, u])).all(axis=1)
        q, u = np.where(finite[:, None], q, 0.0), np.where(finite[:, None], u, 0.0)
        q[~finite, 3] = 1.0
        R = rotations(q[:, 3:7])
        tilt = np.einsum("wi,wi->w", R[:, 2], upright[:, 2])
        low = np.less(q[:, 2] - _ground_height(worlds, q), MIN_HEIGHT * start_height)
        down = ~finite | low | np.less(tilt, MIN_TILT_COSINE)
        fallen = running & down
        fell = np.where(fallen, (k + 1) * period, fell)
        unsolved += int((worlds.unconverged & running).sum())
        checks += int(running.sum())
        positions.append(q[:, :3].copy())
        velocities.append(planar_velocity(R, u))
        if record:
            for rows, row in zip(recorded, (q, u, signals), strict=True):
                rows.append(row)
        if np.isfinite(fell).mean() >= max_fallen_share:
            break
        if fallen.any():
            worlds.park_fallen(fallen)
    return Rollout(
        period,
        np.array(positions),
        np.array(velocities),
        command,
        fell,
        unsolved / max(checks, 1),
        *(np.array(rows) for rows in recorded),
    )


def _ground_height(worlds: PolicyWorlds, q: Array) -> Array:
    """Compute the ground height below each base, shape (worlds,), in m."""
    return worlds.heights(q[:, None, :2])[:, 0]
