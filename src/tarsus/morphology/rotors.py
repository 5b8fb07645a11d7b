"""Rotor inertia for motors whose file gives none, and the back-EMF that limits their speed."""

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


def with_back_emf(robot: Robot, share: float) -> Robot:
    """The robot with joints that a motor drives damped by share times its torque over the joint's
    velocity limit, N m s/rad, where both are known.

    With a share of 1 that is a motor on a voltage: its whole torque at rest, none left at the
    limit.
    """
    torque = {motor.joint: max(-motor.lower, motor.upper) for motor in robot.actuators}
    bodies = list(robot.bodies)
    for k, body in enumerate(bodies):
        joint = body.joint
        brake = share * torque.get(joint.name, 0.0) / joint.velocity_limit
        if 0 < brake < INF:
            bodies[k] = replace(body, joint=replace(joint, damping=joint.damping + brake))
    return replace(robot, bodies=tuple(bodies))
