"""Reasons why a robot does not stand or hold its posture, from the robot and its servos."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.control import servo
from tarsus.control.pd import actuated_indices
from tarsus.control.static_torques import static_forces
from tarsus.dynamics import loop_constraints, tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import join_names
from tarsus.morphology import posture
from tarsus.morphology.feet import find_feet, find_soles
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
MAX_LISTED = 3  # joints that a reason names
SPRING_TOLERANCE = 0.02  # rad or m: larger deflections of springs lower a leg or turn its foot
MOTION_TOLERANCE = 1e-6  # [1]: a joint with a smaller share of a motion does not take part in it


def moving_joints(robot: Robot, joints: Sequence[str]) -> str:
    """Name the joints that moved: those without a motor, or all if every joint has one."""
    driven = {motor.joint for motor in robot.actuators}
    limp = [name for name in joints if name not in driven]
    return f"no motor at {join_names(limp, MAX_LISTED)}" if limp else join_names(joints, MAX_LISTED)


def find_fall_reasons(simulation: Simulation, file_servos: bool) -> list[str]:
    """List properties of the robot and its servos that explain a fall.

    Parameters
    ----------
    simulation
        Simulation of the robot.
    file_servos
        Whether the servos are those of the robot's file.
    """
    robot = simulation.robot
    if not robot.mobile:
        return []
    if not robot.candidates:
        return ["no collision shape"]
    q, standing = robot.keyframes.get("stand", robot.neutral()), find_feet(robot)
    if not standing:
        return ["no leg ends in a collision shape"]
    # motors
    causes = []
    if not robot.actuators:
        causes.append("no motors")
    elif limp := unsupported_joints(robot, q):
        causes.append(f"no motor at {join_names(limp, MAX_LISTED)}")
    # balance, servos, springs
    if not posture.is_balanced(robot, q):
        causes.append("center of mass not above the feet")
    if not file_servos and robot.actuators:
        soft = servo.size_gains(robot, q, standing, simulation.dt).soft_joints
        if soft:
            causes.append(f"servos softer than gravity: {join_names(soft, MAX_LISTED)}")
    deflections = spring_deflections(robot, q)
    if large := {name: size for name, size in deflections.items() if size > SPRING_TOLERANCE}:
        causes.append(
            f"springs do not balance the weight in the initial state, by {max(large.values()):.2g}"
            f" rad or m: {join_names(list(large), MAX_LISTED)}"
        )
    return causes


def unsupported_joints(robot: Robot, q: Array) -> list[str]:
    """Find the joints between trunk and feet that can move although all motors and springs hold.

    Joints whose motion loops or mimic joints prevent are not listed.

    Parameters
    ----------
    robot
        Robot to examine.
    q
        Coordinates, shape (nq,).
    """
    # velocities of joints without motor and spring
    driven = {motor.joint for motor in robot.actuators}
    free = [
        indices
        for i, (body, indices) in enumerate(zip(robot.bodies, robot.u_slices, strict=True))
        if i not in robot.base_chain
        and body.joint.kind != "free"
        and body.joint.name not in driven
        and not body.joint.stiffness
    ]
    columns = [k for indices in free for k in range(indices.start, indices.stop)]
    # motions that satisfy the constraints of loops and mimic joints
    motions = np.eye(len(columns))
    if robot.constrained and columns:
        rows = loop_constraints.directions(kinematics(robot, SX(q)))
        jacobian = np.array(DM(ca.densify(ca.vertcat(*(ca.horzcat(*row) for row in rows)))))
        _, sizes, directions = np.linalg.svd(jacobian[:, columns])
        rank = int((sizes > MOTION_TOLERANCE * max(sizes.max(initial=0.0), 1.0)).sum())
        motions = directions[rank:].T
    movable = {
        k
        for k, row in zip(columns, motions, strict=True)
        if np.abs(row).max(initial=0.0) > MOTION_TOLERANCE
    }
    legs = sorted({i for body in find_soles(robot) for i in tree.support_path(robot, body)})
    return [
        robot.bodies[i].joint.name
        for i in legs
        if movable & set(range(robot.u_slices[i].start, robot.u_slices[i].stop))
        and robot.bodies[i].joint.kind != "free"
    ]


def spring_deflections(robot: Robot, q: Array) -> dict[str, float]:
    """Compute how far springs of joints without motors are from static equilibrium.

    Motors and feet contribute what they can.

    Parameters
    ----------
    robot
        Robot to examine.
    q
        Coordinates, shape (nq,).

    Returns
    -------
    dict
        Deflection in rad or m by joint.
    """
    driven = actuated_indices(robot)[1]
    springs = {
        u_slice.start: body.joint
        for body, u_slice in zip(robot.bodies, robot.u_slices, strict=True)
        if body.joint.kind in ("hinge", "slide")
        and body.joint.stiffness
        and u_slice.start not in driven
    }
    lacking = static_forces(robot, q, find_feet(robot), [*driven, *springs])[len(driven) :]
    return {
        joint.name: abs(float(force)) / joint.stiffness
        for joint, force in zip(springs.values(), lacking, strict=True)
    }
