"""Model-free analysis of the recordings: free flight, and sliding on a face.

In free flight the center falls freely and the cube rotates at a constant rate about a constant
axis, because its three moments of inertia are equal. The residuals of the recorded frames from such
a motion are the tracking noise, and the fitted motion gives a better initial state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.validation.real.cube_tosses.data import EDGE, FRAME, G, Tosses

Array = NDArray[np.float64]
MIN_CLEARANCE = 0.003  # m, of the lowest corner in flight
MIN_FRAMES = 8  # of a flight
WINDOW = 7  # frames from which a deceleration is computed
FLAT_COSINE = np.cos(np.radians(2.0))  # of the angle at which a face lies on the board
MIN_SPEED, MAX_ROTATION_RATE = 0.15, 2.0  # m/s, rad/s, of a sliding cube
HARMONICS = ("constant", "cos", "sin", "cos 2", "sin 2", "speed")


@dataclass(frozen=True, eq=False)
class Flights:
    """Free motions of the tosses that fly for at least `MIN_FRAMES` frames."""

    indices: NDArray[np.int64]
    """Indices of these tosses."""
    q: Array
    """Coordinates of the first frame, fitted to the whole flight, shape (n, 7)."""
    u: Array
    """Velocities of the first frame, fitted to the whole flight, shape (n, 6)."""
    noise: tuple[float, float]
    """Standard deviation per axis of a frame's position, m, and orientation, rad."""
    late: float
    """Lag of the recorded velocity, s."""
    velocity_noise: tuple[float, float]
    """Standard deviation per axis of a recorded velocity, m/s and rad/s."""


def lowest(q: Array) -> Array:
    """Compute the height of the lowest corner in m, from coordinates (..., 7)."""
    rotation = Rotation.from_quat(q[..., 3:].reshape(-1, 4), scalar_first=True).as_matrix()
    down = np.abs(rotation[:, 2]).sum(-1).reshape(q.shape[:-1])
    return q[..., 2] - EDGE / 2 * down


def fit_flights(tosses: Tosses) -> Flights:
    """Fit free motions to the frames before the first contact."""
    # duration of each flight
    clear = (lowest(tosses.q) > MIN_CLEARANCE) & tosses.recorded
    frames = np.where(clear.all(1), tosses.length, np.argmin(clear, 1))
    indices = np.flatnonzero(frames >= MIN_FRAMES)
    q, u = tosses.q[indices, 0].copy(), tosses.u[indices, 0].copy()
    residuals: list[list[Array]] = [[], []]
    for k, i in enumerate(indices):
        n = int(frames[i])
        time = FRAME * np.arange(n)
        # the center: a parabola
        fallen = tosses.q[i, :n, :3] + 0.5 * G * time[:, None] ** 2 * [0, 0, 1]
        line = np.polyfit(time, fallen, 1)
        q[k, :3], u[k, :3] = line[1], line[0]
        residuals[0].append(_remove_bias(fallen - np.outer(time, line[0]) - line[1], n, 2))
        # the orientation: the rate from all increments, then the first frame from all frames
        turn = Rotation.from_quat(tosses.q[i, :n, 3:], scalar_first=True)
        steps = (turn[1:] * turn[:-1].inv()).as_rotvec()
        weight = np.arange(1, n) * (n - np.arange(1, n))
        rate = (weight[:, None] * steps).sum(0) / weight.sum() / FRAME
        first = (Rotation.from_rotvec(-np.outer(time, rate)) * turn).mean()
        q[k, 3:] = first.as_quat(scalar_first=True)
        u[k, 3:] = first.inv().apply(rate)
        free = Rotation.from_rotvec(np.outer(time, rate)) * first
        residuals[1].append(_remove_bias((turn * free.inv()).as_rotvec(), n, 2))
    # differences of the recorded velocities from the fitted ones
    difference = tosses.u[indices, 0] - u
    late = float(np.mean(difference[:, 2]) / G)
    difference[:, 2] -= late * G
    noise = tuple(float(np.sqrt(np.mean(np.concatenate(part) ** 2))) for part in residuals)
    spread = float(difference[:, :3].std()), float(difference[:, 3:].std())
    return Flights(indices, q, u, (noise[0], noise[1]), late, spread)


def _remove_bias(residuals: Array, frames: int, fitted: int) -> Array:
    """Scale residuals to compensate for the number of fitted parameters."""
    return residuals * np.sqrt(frames / (frames - fitted))


@dataclass(frozen=True, eq=False)
class Sliding:
    """Deceleration of a cube that slides on a face, divided by the load per mass, g + z''."""

    frames: int
    """Number of segments."""
    tosses: int
    """Number of tosses."""
    terms: dict[str, tuple[float, float]]
    """Value and standard error of each term of `HARMONICS`.

    The terms are a constant; cos and sin of the direction of motion, from a tilted board; cos and
    sin of twice the direction, from an anisotropic board; and a term per m/s of speed.
    """
    lateral: tuple[float, float]
    """Mean and standard error of the acceleration perpendicular to the motion over that load."""


def measure_sliding(tosses: Tosses) -> Sliding | None:
    """Measure the deceleration from the positions, by parabolas over `WINDOW` frames.

    The result is None if too few segments slide.
    """
    half = WINDOW // 2
    time = FRAME * np.arange(-half, half + 1)
    rows: list[tuple[float, ...]] = []
    for i in range(len(tosses)):
        rotation = Rotation.from_quat(tosses.q[i, :, 3:], scalar_first=True).as_matrix()
        flat = np.abs(rotation[:, 2]).max(-1) > FLAT_COSINE
        steady = np.abs(tosses.u[i, :, 3:]).max(-1) < MAX_ROTATION_RATE
        good = flat & steady & tosses.recorded[i]
        for k in range(half, int(tosses.length[i]) - half, half + 1):
            if not good[k - half : k + half + 1].all():
                continue
            curvature, v, _ = np.polyfit(time, tosses.q[i, k - half : k + half + 1, :3], 2)
            speed = float(np.linalg.norm(v[:2]))
            if speed < MIN_SPEED:
                continue
            along = v[:2] / speed
            across = np.array([-along[1], along[0]])
            # the board carries the weight and the vertical acceleration
            a, load = 2 * curvature[:2], G + 2 * curvature[2]
            heading = float(np.arctan2(v[1], v[0]))
            rows.append((-a @ along / load, a @ across / load, heading, speed, float(i)))
    if len(rows) < 2 * len(HARMONICS):
        return None
    return _fit(np.array(rows))


def _fit(rows: Array) -> Sliding:
    """Fit the terms by least squares, with standard errors by the jackknife over tosses."""
    drag, lateral, heading, speed, toss = rows.T
    columns = np.stack(
        [
            np.ones_like(drag),
            np.cos(heading),
            np.sin(heading),
            np.cos(2 * heading),
            np.sin(2 * heading),
            speed - speed.mean(),
        ],
        -1,
    )
    names, n = np.unique(toss), len(np.unique(toss))
    whole = np.linalg.lstsq(columns, drag, rcond=None)[0]
    without = np.array(
        [np.linalg.lstsq(columns[toss != t], drag[toss != t], rcond=None)[0] for t in names]
    )
    error = np.sqrt((n - 1) / n * ((without - without.mean(0)) ** 2).sum(0))
    across = np.array([lateral[toss != t].mean() for t in names])
    side = float(np.sqrt((n - 1) / n * ((across - across.mean()) ** 2).sum()))
    pairs = zip(HARMONICS, zip(whole.tolist(), error.tolist(), strict=True), strict=True)
    return Sliding(len(rows), n, dict(pairs), (float(lateral.mean()), side))
