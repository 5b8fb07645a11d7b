"""Why a robot does not stand or hold its posture, as far as it and its servos tell."""

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
from tarsus.morphology.feet import feet, soles
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
SOME = 3  # joints that a reason names
GIVES = 0.02  # rad or m: springs that give by more let a leg down, or turn its foot
STILL = 1e-6  # [1]: a joint's part of a motion that is none


def moving(robot: Robot, joints: Sequence[str]) -> str:
    """Which of these joints gave way: those without a motor, or all."""
    driven = {motor.joint for motor in robot.actuators}
    limp = [name for name in joints if name not in driven]
    return f"no motor at {join_names(limp, SOME)}" if limp else join_names(joints, SOME)


def reasons(simulation: Simulation, own: bool) -> list[str]:
    """What there is about the robot and its servos that lets it fall; own: its file's servos."""
    robot = simulation.robot
    if not robot.floating:
        return []
    if not robot.candidates:
        return ["no collision shape"]
    q, standing = robot.keyframes.get("stand", robot.neutral()), feet(robot)
    if not standing:
        return ["no leg of it ends in a collision shape"]
    # motors
    found = []
    if not robot.actuators:
        found.append("no motors")
    elif limp := unheld(robot, q):
        found.append(f"no motor at {join_names(limp, SOME)}")
    # balance, servos, springs
    if not posture.balanced(robot, q):
        found.append("center of mass not above its feet")
    if not own and robot.actuators:
        soft = servo.gains(robot, q, standing, simulation.dt).soft
        if soft:
            found.append(f"servos softer than gravity: {join_names(soft, SOME)}")
    if give := {name: by for name, by in giving(robot, q).items() if by > GIVES}:
        found.append(
            f"springs out of balance with its weight where it starts, by {max(give.values()):.2g}"
            f" rad or m: {join_names(list(give), SOME)}"
        )
    return found


def unheld(robot: Robot, q: Array) -> list[str]:
    """Joints between trunk and feet that can move at q (nq,) though all motors and springs hold:
    neither loops nor other joints lead them.
    """
    # what neither motors nor springs hold
    driven = {motor.joint for motor in robot.actuators}
    free = [
        at
        for body, at in zip(robot.bodies, robot.u_slices, strict=True)
        if body.joint.kind != "free" and body.joint.name not in driven and not body.joint.stiffness
    ]
    columns = [k for at in free for k in range(at.start, at.stop)]
    # its motions that keep loops closed and followers in place
    moves = np.eye(len(columns))
    if robot.constrained and columns:
        rows = loop_constraints.directions(kinematics(robot, SX(q)))
        held = np.array(DM(ca.densify(ca.vertcat(*(ca.horzcat(*row) for row in rows)))))[:, columns]
        _, sizes, ways = np.linalg.svd(held)
        moves = ways[int((sizes > STILL * max(sizes.max(initial=0.0), 1.0)).sum()) :].T
    able = {
        k for k, row in zip(columns, moves, strict=True) if np.abs(row).max(initial=0.0) > STILL
    }
    legs = sorted({i for body in soles(robot) for i in tree.path(robot, body)})
    return [
        robot.bodies[i].joint.name
        for i in legs
        if able & set(range(robot.u_slices[i].start, robot.u_slices[i].stop))
        and robot.bodies[i].joint.kind != "free"
    ]


def giving(robot: Robot, q: Array) -> dict[str, float]:
    """By how much, rad or m, each spring of a joint without a motor is off what bears the robot at
    q (nq,), the motors and feet giving what they can.
    """
    driven = actuated_indices(robot)[1]
    springs = {
        at.start: body.joint
        for body, at in zip(robot.bodies, robot.u_slices, strict=True)
        if body.joint.kind in ("hinge", "slide") and body.joint.stiffness and at.start not in driven
    }
    lacking = static_forces(robot, q, feet(robot), [*driven, *springs])[len(driven) :]
    return {
        joint.name: abs(float(force)) / joint.stiffness
        for joint, force in zip(springs.values(), lacking, strict=True)
    }
