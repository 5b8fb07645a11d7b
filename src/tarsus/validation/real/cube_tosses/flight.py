"""What the recordings say by themselves: free flight, and sliding on a face.

In free flight the center falls freely and the attitude turns at a constant rate about a constant
axis, for the cube's three moments of inertia are equal. What is left of the recorded frames around
such a motion is the tracking's noise; what it says of the first frame is a better start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.validation.real.cube_tosses.data import EDGE, FRAME, G, Tosses

Array = NDArray[np.float64]
CLEAR = 0.003  # m: as high above the board the lowest corner flies
FEWEST = 8  # frames of a flight that is looked at
WINDOW = 7  # frames that a deceleration is found from
FLAT = np.cos(np.radians(2.0))  # a face lies on the board
SLOWEST, TURNING = 0.15, 2.0  # m/s, rad/s: slower is no sliding, faster turning is another motion
HARMONICS = ("constant", "cos", "sin", "cos 2", "sin 2", "speed")


@dataclass(frozen=True, eq=False)
class Flights:
    """Of the tosses that fly at least FEWEST frames.

    which: their indices
    q, u: of the first frame, by the whole flight: (n, 7) position, m, and quaternion; (n, 6)
    noise: of a frame's position, m, and attitude, rad, per axis
    late: by how much the recorded velocity is older than its frame, s
    velocity_noise: of a recorded velocity, m/s and rad/s, per axis
    """

    which: NDArray[np.int64]
    q: Array
    u: Array
    noise: tuple[float, float]
    late: float
    velocity_noise: tuple[float, float]


def lowest(q: Array) -> Array:
    """Height of the lowest corner, m, of coordinates (..., 7)."""
    turned = Rotation.from_quat(q[..., 3:].reshape(-1, 4), scalar_first=True).as_matrix()
    down = np.abs(turned[:, 2]).sum(-1).reshape(q.shape[:-1])
    return q[..., 2] - EDGE / 2 * down


def flights(tosses: Tosses) -> Flights:
    """Free motions fitted to the frames before the first touch."""
    # how long each flies
    clear = (lowest(tosses.q) > CLEAR) & tosses.seen
    frames = np.where(clear.all(1), tosses.length, np.argmin(clear, 1))
    which = np.flatnonzero(frames >= FEWEST)
    q, u = tosses.q[which, 0].copy(), tosses.u[which, 0].copy()
    left: list[list[Array]] = [[], []]
    for k, i in enumerate(which):
        n = int(frames[i])
        time = FRAME * np.arange(n)
        # the center: a parabola
        fallen = tosses.q[i, :n, :3] + 0.5 * G * time[:, None] ** 2 * [0, 0, 1]
        line = np.polyfit(time, fallen, 1)
        q[k, :3], u[k, :3] = line[1], line[0]
        left[0].append(_unbiased(fallen - np.outer(time, line[0]) - line[1], n, 2))
        # the attitude: the rate by all frames' increments, then the start by all of them
        turn = Rotation.from_quat(tosses.q[i, :n, 3:], scalar_first=True)
        steps = (turn[1:] * turn[:-1].inv()).as_rotvec()
        weight = np.arange(1, n) * (n - np.arange(1, n))
        rate = (weight[:, None] * steps).sum(0) / weight.sum() / FRAME
        first = (Rotation.from_rotvec(-np.outer(time, rate)) * turn).mean()
        q[k, 3:] = first.as_quat(scalar_first=True)
        u[k, 3:] = first.inv().apply(rate)
        free = Rotation.from_rotvec(np.outer(time, rate)) * first
        left[1].append(_unbiased((turn * free.inv()).as_rotvec(), n, 2))
    # the recorded velocities beside the fitted ones
    off = tosses.u[which, 0] - u
    late = float(np.mean(off[:, 2]) / G)
    off[:, 2] -= late * G
    noise = tuple(float(np.sqrt(np.mean(np.concatenate(part) ** 2))) for part in left)
    spread = float(off[:, :3].std()), float(off[:, 3:].std())
    return Flights(which, q, u, (noise[0], noise[1]), late, spread)


def _unbiased(left: Array, frames: int, fitted: int) -> Array:
    """Residuals, larger by what the fit took of them."""
    return left * np.sqrt(frames / (frames - fitted))


@dataclass(frozen=True, eq=False)
class Sliding:
    """Deceleration over the load per mass, g + z'', of stretches of sliding on a face.

    frames, tosses: how many
    terms: HARMONICS -> (value, standard error): constant; cos and sin of the heading of the way,
        which a tilted board gives; of twice the heading, an anisotropic board's; per m/s of speed
    lateral: mean and standard error of the acceleration across the way over that load
    """

    frames: int
    tosses: int
    terms: dict[str, tuple[float, float]]
    lateral: tuple[float, float]


def sliding(tosses: Tosses) -> Sliding | None:
    """From the positions alone, by parabolas over WINDOW frames; None if nothing slides."""
    half = WINDOW // 2
    time = FRAME * np.arange(-half, half + 1)
    rows: list[tuple[float, ...]] = []
    for i in range(len(tosses)):
        turned = Rotation.from_quat(tosses.q[i, :, 3:], scalar_first=True).as_matrix()
        flat = np.abs(turned[:, 2]).max(-1) > FLAT
        calm = np.abs(tosses.u[i, :, 3:]).max(-1) < TURNING
        good = flat & calm & tosses.seen[i]
        for k in range(half, int(tosses.length[i]) - half, half + 1):
            if not good[k - half : k + half + 1].all():
                continue
            bent, v, _ = np.polyfit(time, tosses.q[i, k - half : k + half + 1, :3], 2)
            speed = float(np.linalg.norm(v[:2]))
            if speed < SLOWEST:
                continue
            along = v[:2] / speed
            across = np.array([-along[1], along[0]])
            # the board carries the weight, and what lifts or drops the center
            a, carried = 2 * bent[:2], G + 2 * bent[2]
            heading = float(np.arctan2(v[1], v[0]))
            rows.append((-a @ along / carried, a @ across / carried, heading, speed, float(i)))
    if len(rows) < 2 * len(HARMONICS):
        return None
    return _fitted(np.array(rows))


def _fitted(rows: Array) -> Sliding:
    """Least squares over the frames, standard errors by tosses left out in turn (jackknife)."""
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
