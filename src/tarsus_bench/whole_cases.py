"""The robots of `tarsus bench --whole`: from files, with servos, with or without dry friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tarsus import robots
from tarsus.control.servo import gains
from tarsus.dynamics.robot import Robot
from tarsus.model.file_actuators import FileActuator
from tarsus.morphology.feet import feet
from tarsus.simulation.default_controller import prepare

STICTION = 0.5  # N m, of every joint
GAINS_DT = 0.001  # s: servos are sized for it; those of G1's ankles would be softer for 2 ms


def whole(name: str, stiction: float = STICTION) -> Robot:
    """A robot with its file's servos, else with position servos sized for its weight; TarsusError
    if there is none of the name.

    stiction: N m, of its joints if its file gives none at all
    """
    # its file, and where it stands
    robot, _ = prepare(robots.load(name), None, GAINS_DT, [])
    q = np.array(robot.keyframes["stand"])
    if any(own.kind != "motor" for own in robot.file_actuators) and "stand" in robot.signals:
        return _with_stiction(robot, stiction)
    # servos hold that posture
    sized = gains(robot, q, feet(robot), GAINS_DT)
    joints = zip(robot.bodies, robot.q_slices, strict=True)
    at = {body.joint.name: place.start for body, place in joints}
    servos = tuple(
        FileActuator(
            motor.name,
            motor.joint,
            gain=(kp, 0.0, 0.0),
            bias=(0.0, -kp, -kd),
            force=(motor.lower, motor.upper),
        )
        for motor, kp, kd in zip(robot.actuators, sized.kp, sized.kd, strict=True)
    )
    signal = np.array([q[at[servo.joint]] for servo in servos])
    return replace(
        _with_stiction(robot, stiction),
        file_actuators=servos,
        signals={"stand": (signal, np.zeros(len(servos)))},
    )


def has_friction(robot: Robot) -> bool:
    """Whether a joint has dry friction."""
    return any(body.joint.dry_friction for body in robot.bodies)


def _with_stiction(robot: Robot, stiction: float) -> Robot:
    """The robot with dry friction in its hinges and slides, if its file gives none at all."""
    if has_friction(robot):
        return robot
    bodies = tuple(
        replace(body, joint=replace(body.joint, dry_friction=stiction))
        if body.joint.kind in ("hinge", "slide")
        else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies)
