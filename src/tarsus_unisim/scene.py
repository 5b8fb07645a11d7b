"""Robot of a scene, and position servos on its joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from unisim.scene import SceneCfg

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.file_actuators import FileActuator
from tarsus.simulation import resolve
from tarsus_unisim.model import UnsupportedError

Gains = tuple[ArrayLike, ArrayLike]


def load_robot(scene: SceneCfg | Robot | str | Path) -> tuple[Robot, str | None]:
    """Return the robot of a scene and its initial keyframe; raise TarsusError without a file."""
    if not isinstance(scene, SceneCfg):
        return resolve.resolve_robot(str(scene) if isinstance(scene, Path) else scene), None
    parts = {
        "fragment_files": scene.fragment_files,
        "terrain": scene.terrain,
        "entity_assets": scene.entity_assets,
        "fixed_variant_plan": scene.fixed_variant_plan,
    }
    if unsupported := [name for name, part in parts.items() if part]:
        raise UnsupportedError(
            f"a scene with {', '.join(unsupported)} is not supported: give only a model file, and"
            " pass terrain=... to the backend."
        )
    if not scene.model_file:
        raise InvalidValue("the scene must name a model file; set model_file.", "model_file")
    return resolve.resolve_robot(scene.model_file), scene.default_keyframe_name


def with_servos(robot: Robot, servos: Gains) -> Robot:
    """Return the robot with position servos instead of motors.

    Targets are limited to the ranges of the joints.

    Parameters
    ----------
    robot
        The robot.
    servos
        kp (N m/rad) and kd (N m s/rad), each a number or of shape (motors,).

    Raises
    ------
    InvalidValue
        For other shapes.
    """
    motors = robot.actuators
    try:
        kp, kd = (np.broadcast_to(np.asarray(g, float), len(motors)).tolist() for g in servos)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"servos must be (kp, kd), each a number or {len(motors)} numbers, one per motor, not"
            f" {servos!r}.",
            "servos",
        ) from None
    file_actuators: list[FileActuator] = []
    for motor, p, d in zip(motors, kp, kd, strict=True):
        joint = robot.bodies[robot.joint_index(motor.joint)].joint
        servo = FileActuator(
            motor.name,
            motor.joint,
            gain=(p, 0.0, 0.0),
            bias=(0.0, -p, -d),
            control=(joint.lower, joint.upper),
            force=(motor.lower, motor.upper),
        )
        file_actuators.append(servo)
    return replace(robot, file_actuators=tuple(file_actuators), signals={})
