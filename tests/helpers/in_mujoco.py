"""Tarsus robots in MuJoCo."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import ArrayLike

from tarsus.dynamics.robot import Robot
from tarsus.model.to_mjcf import to_mjcf

mujoco: Any = pytest.importorskip("mujoco")  # its stubs do not list its names


def placed(robot: Robot, q: ArrayLike, u: ArrayLike = 0.0) -> tuple[Any, Any]:
    """Create model and data of the robot at q, with velocities u."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, u
    mujoco.mj_forward(model, data)
    return model, data
