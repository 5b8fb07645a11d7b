"""Add rotor inertia and back-EMF to motors whose file has none."""

from __future__ import annotations

from dataclasses import replace

from tarsus.dynamics.robot import Robot

INF = float("inf")


def with_rotors(robot: Robot, share: float) -> Robot:
    """Add rotor inertia at motor joints without armature.

    Parameters
    ----------
    robot
        Robot.
    share
        Reflected inertia (kg m^2) per torque limit (N m) of the motor.

    Returns
    -------
    Robot
        Robot with armature; the same object if nothing is added.
    """
    torque = {motor.joint: max(-motor.lower, motor.upper) for motor in robot.actuators}
    bodies, added = list(robot.bodies), False
    for k, body in enumerate(bodies):
        joint = body.joint
        if joint.name in torque and joint.armature == 0 and 0 < share * torque[joint.name] < INF:
            bodies[k] = replace(body, joint=replace(joint, armature=share * torque[joint.name]))
            added = True
    return replace(robot, bodies=tuple(bodies)) if added else robot


def with_back_emf(robot: Robot, share: float) -> Robot:
    """Add damping at motor joints, as caused by back-EMF.

    Parameters
    ----------
    robot
        Robot.
    share
        Damping relative to torque limit / velocity limit. With 1 a motor has its full torque at
        rest and none at the velocity limit, as with a constant voltage.

    Returns
    -------
    Robot
        Robot with additional damping, where both limits are known.
    """
    torque = {motor.joint: max(-motor.lower, motor.upper) for motor in robot.actuators}
    bodies = list(robot.bodies)
    for k, body in enumerate(bodies):
        joint = body.joint
        damping = share * torque.get(joint.name, 0.0) / joint.velocity_limit
        if 0 < damping < INF:
            bodies[k] = replace(body, joint=replace(joint, damping=joint.damping + damping))
    return replace(robot, bodies=tuple(bodies))
