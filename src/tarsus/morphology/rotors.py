"""Rotor inertia for motors whose file gives none."""

from __future__ import annotations

from dataclasses import replace

from tarsus.dynamics.robot import Robot

INF = float("inf")


def with_rotors(robot: Robot, share: float) -> Robot:
    """The robot with share times the torque, N m, of its motor as the rotor inertia (kg m^2,
    reflected) of every joint that has none; the same if none is added.
    """
    torque = {motor.joint: max(-motor.lower, motor.upper) for motor in robot.actuators}
    bodies, added = list(robot.bodies), False
    for k, body in enumerate(bodies):
        joint = body.joint
        if joint.name in torque and joint.armature == 0 and 0 < share * torque[joint.name] < INF:
            bodies[k] = replace(body, joint=replace(joint, armature=share * torque[joint.name]))
            added = True
    return replace(robot, bodies=tuple(bodies)) if added else robot
