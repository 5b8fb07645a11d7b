"""Classify what a robot did in a run by the path of its base and the contacts of its bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.model.base_motion import base_position
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.fall import find_first_fall

Motion = Literal[
    "stood", "squatted", "sank", "slid", "walked", "stepped", "jumped", "hopped", "flew", "moved"
]
MIN_AIR_TIME = 0.04  # s; a foot in the air for less was not lifted
MIN_TRAVEL = 0.1  # of the base's height
MIN_SQUAT = 0.03  # of the base's height
HOP_SHARE = 0.5  # share of landings on all feet at once


@dataclass(frozen=True)
class MotionOutcome:
    """Motion of a robot in a run.

    Attributes
    ----------
    motion
        Kind of motion, up to a fall: "stood", "walked", ...
    fall_time
        Time of the fall in s; None if it did not fall.
    distance
        Horizontal distance of the base up to the fall, in m.
    lowest
        Largest distance by which the base sank below its start, in m.
    jumps
        Number of times that the robot left the ground.
    """

    motion: Motion
    fall_time: float | None
    distance: float
    lowest: float
    jumps: int


def classify_motion(robot: Mechanism, log: xr.Dataset) -> MotionOutcome:
    """Classify the motion of the robot in a log of one world."""
    q, dt = log["q"].values, float(log.attrs["dt"])
    pressing = _find_pressing_bodies(robot, log)
    if not robot.mobile:
        jumps = len(_find_air_times(np.asarray(pressing.any(axis=1)), dt)) if pressing.size else 0
        return MotionOutcome("hopped" if jumps > 1 else "moved", None, 0.0, 0.0, jumps)
    # cut the run at a fall
    points = log["contact_point"].values[..., 2]
    base = base_position(robot, q)
    height = base[:, 2] - (points.min(axis=1) if points.size else 0.0)
    down = find_first_fall(robot, q, height) if points.size else None
    end = len(q) if down is None else down + 1
    path = base[:end] - base_position(robot, log["q_start"].values)
    size = max(float(height[0]), 1e-3)
    distance = float(np.linalg.norm(path[-1, :2]))
    lowest = float(max(-path[:, 2].min(), 0.0))
    # lifted feet, and landings on all feet at once
    pressing = pressing[:end]
    lifted = [_find_air_times(foot, dt) for foot in pressing.T]
    flights = _find_air_times(np.asarray(pressing.any(axis=1)), dt) if pressing.size else []
    landings, feet = sum(map(len, lifted)), sum(bool(gaps) for gaps in lifted)
    motion: Motion
    if not pressing.any():
        motion = "flew"
    elif flights and feet * len(flights) >= HOP_SHARE * landings:
        motion = "jumped" if len(flights) == 1 else "hopped"
    elif landings:
        motion = "walked" if distance > MIN_TRAVEL * size else "stepped"
    elif min(distance, _slip_distance(log, end)) > MIN_TRAVEL * size:
        motion = "slid"
    else:
        low = int(np.argmin(path[:, 2]))
        rose = float(path[low:, 2].max() - path[low, 2])
        squatted = rose > lowest / 2
        still = lowest < (MIN_SQUAT if squatted else MIN_TRAVEL) * size
        motion = "stood" if still else "squatted" if squatted else "sank"
    fall_time = None if down is None else float((down + 1) * dt)
    return MotionOutcome(motion, fall_time, distance, lowest, len(flights))


def _find_pressing_bodies(robot: Mechanism, log: xr.Dataset) -> NDArray[np.bool_]:
    """Find when each body that ever touches presses on something, shape (steps, bodies)."""
    bodies = {candidate.name: candidate.body for candidate in robot.candidates}
    names = [str(name) for name in log["contact"].values]
    pressing = log["force_contact"].values[..., 0] > 0
    whose = np.array([bodies.get(name, -1) for name in names])
    each = [pressing[:, whose == body].any(axis=1) for body in sorted(set(whose.tolist()) - {-1})]
    touching = [foot for foot in each if foot.any()]
    return np.array(touching).T if touching else np.zeros((len(pressing), 0), bool)


def _slip_distance(log: xr.Dataset, end: int) -> float:
    """Compute the mean slip distance of pressing contacts in the first steps, in m."""
    pressing = log["force_contact"].values[:end, :, 0] > 0
    speed = np.linalg.norm(log["velocity_after"].values[:end, :, 1:], axis=-1)
    mean = np.where(pressing, speed, 0.0).sum(axis=1) / np.maximum(pressing.sum(axis=1), 1)
    return float(mean.sum() * log.attrs["dt"])


def _find_air_times(pressing: NDArray[np.bool_], dt: float) -> list[tuple[int, int]]:
    """Find first and last step of each time in the air between contacts, without short ones."""
    steps = np.flatnonzero(pressing)
    ends = zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True)
    return [(a + 1, b) for a, b in ends if (b - a - 1) * dt >= MIN_AIR_TIME]
