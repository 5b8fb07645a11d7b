"""Robots of `tarsus bench --whole`: from files, with servos, with or without dry friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tarsus import robots
from tarsus.control.servo import size_gains
from tarsus.dynamics.robot import Robot
from tarsus.model.file_actuators import FileActuator
from tarsus.morphology.feet import find_feet
from tarsus.simulation.default_controller import prepare

STICTION = 0.5  # N m, dry friction of every joint
GAINS_DT = 0.001  # s, for which servos are tuned; for 2 ms those of G1's ankles would be softer


def load_with_servos(name: str, stiction: float = STICTION) -> Robot:
    """Load a robot with the servos of its file, or with position servos tuned for its weight.

    Parameters
    ----------
    name
        Robot of example-robot-data, built-in robot, or path of a file.
    stiction
        Dry friction of the joints in N m if the file defines none.

    Raises
    ------
    TarsusError
        If there is no such robot.
    """
    # the robot and its standing posture
    robot, _ = prepare(robots.load(name), None, GAINS_DT, [])
    q = np.array(robot.keyframes["stand"])
    has_servos = any(actuator.kind != "motor" for actuator in robot.file_actuators)
    if has_servos and "stand" in robot.signals:
        return _with_stiction(robot, stiction)
    # servos that hold this posture
    tuned = size_gains(robot, q, find_feet(robot), GAINS_DT)
    joints = zip(robot.bodies, robot.q_slices, strict=True)
    index = {body.joint.name: indices.start for body, indices in joints}
    servos = tuple(
        FileActuator(
            motor.name,
            motor.joint,
            gain=(kp, 0.0, 0.0),
            bias=(0.0, -kp, -kd),
            force=(motor.lower, motor.upper),
        )
        for motor, kp, kd in zip(robot.actuators, tuned.kp, tuned.kd, strict=True)
    )
    signal = np.array([q[index[servo.joint]] for servo in servos])
    return replace(
        _with_stiction(robot, stiction),
        file_actuators=servos,
        signals={"stand": (signal, np.zeros(len(servos)))},
    )


def has_friction(robot: Robot) -> bool:
    """Return whether any joint has dry friction."""
    return any(body.joint.dry_friction for body in robot.bodies)


def _with_stiction(robot: Robot, stiction: float) -> Robot:
    """Add dry friction to hinges and slides if the robot has none."""
    if has_friction(robot):
        return robot
    bodies = tuple(
        replace(body, joint=replace(body.joint, dry_friction=stiction))
        if body.joint.kind in ("hinge", "slide")
        else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies)
