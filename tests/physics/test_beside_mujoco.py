"""One file in Tarsus and in MuJoCo: stops and meetings at the same instants, the same rest."""

from __future__ import annotations

import numpy as np
from helpers.events import Array, Course, in_mujoco, in_tarsus

from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

DT = 0.001  # s
WITHIN = 2  # steps


def limp(t: float, q: Array, u: Array) -> Array:
    return np.zeros(6)


def both(text: str, start: tuple[Array, Array], seconds: float) -> tuple[Course, Course]:
    """The same fall in both engines."""
    robot, steps = Robot.of(read_mjcf(text)), round(seconds / DT)
    return (
        in_tarsus(robot, start, limp, DT, steps),
        in_mujoco(text, start, limp, DT, steps),
    )
