"""CasADi functions of robots against Pinocchio: quadruped, humanoids, biped and arm."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.dynamics_oracles import (
    Pinocchio,
    error_of_force,
    error_of_matrix,
    leaves,
    relative_error,
)
from helpers.numpy_mechanics import random_state
from helpers.robots_of_the_field import label, urdf_files

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning
from tarsus.model.read import read

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-11
FILES = {label(file): file for file in urdf_files()}
ROBOTS = (
    "go2_description-go2",
    "talos_data-talos_reduced",
    "bolt_description-bolt",
    "ur_description-ur5_robot",
)
SLOW = ("g1_description-g1_29dof_rev_1_0", "panda_description-panda", "solo_description-solo12")


def both(file: Path) -> tuple[Robot, Any]:
    """Robot in Tarsus and Pinocchio's model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)
        robot = Robot.of(read(file))
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromUrdf(str(file), *root)
    known = {"universe", "root_joint", *robot.joint_names}
    locked = [number for number, name in enumerate(model.names) if name not in known]
    return robot, pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def full(value: ca.DM) -> np.ndarray:
    """Dense array; vectors are flat."""
    array = np.asarray(value.full())
    return array.ravel() if array.shape[1] == 1 else array


@pytest.mark.parametrize(
    "name", [*ROBOTS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_symbolic_functions_match_pinocchio(name: str) -> None:
    robot, model = both(FILES[name])
    f = robot.symbolic()
    for seed in range(3):
        q, u = random_state(robot, seed)
        acceleration, tau = np.random.default_rng(seed).uniform(-1, 1, (2, robot.nu))
        theirs = Pinocchio(robot, model, q, u)
        M, zero = theirs.mass_matrix(), np.zeros(robot.nu)
        kinetic, potential = theirs.energies()
        errors = {
            "M": error_of_matrix(full(f.mass_matrix(q)), M),
            "bias": error_of_force(full(f.bias(q, u)), theirs.bias(), M),
            "gravity": error_of_force(full(f.gravity(q)), theirs.gravity(), M),
            "velocity terms": error_of_force(
                full(f.velocity_terms(q, u)), theirs.velocity_terms(), M
            ),
            "inverse dynamics": error_of_force(
                full(f.inverse_dynamics(q, u, acceleration)),
                theirs.inverse_dynamics(acceleration),
                M,
            ),
            "center of mass": relative_error(full(f.center_of_mass(q)), theirs.center_of_mass()),
            "its Jacobian": relative_error(
                full(f.center_of_mass_jacobian(q)), theirs.center_of_mass_jacobian()
            ),
            "T": relative_error(float(f.kinetic_energy(q, u)), kinetic),
            "V": relative_error(float(f.potential_energy(q)), potential),
            "h": relative_error(full(f.centroidal_momentum(q, u)), theirs.centroidal_momentum()),
            "A": relative_error(
                full(f.centroidal_momentum_matrix(q)), theirs.centroidal_momentum_matrix()
            ),
            "A' u": relative_error(
                full(f.centroidal_momentum_bias(q, u)), theirs.centroidal_momentum_bias()
            ),
        }
        for body in leaves(robot)[:3]:
            link = robot.bodies[body].name
            frame = model.getFrameId(link, pin.FrameType.BODY)
            position, rotation = theirs.pose(frame)
            J = theirs.jacobian(frame)
            errors |= {
                f"position of {link}": relative_error(full(f.position(link)(q)), position),
                f"rotation of {link}": relative_error(full(f.rotation(link)(q)), rotation),
                f"J of {link}": relative_error(full(f.jacobian(link)(q)), J),
                f"velocity of {link}": relative_error(full(f.velocity(link)(q, u)), J @ u),
                f"J' u of {link}": relative_error(
                    full(f.bias_acceleration(link)(q, u)), theirs.acceleration(frame, zero)
                ),
                f"acceleration of {link}": relative_error(
                    full(f.frame_acceleration(link)(q, u, acceleration)),
                    theirs.acceleration(frame, acceleration),
                ),
            }
        assert not {key: error for key, error in errors.items() if not error < TOLERANCE}
        # M is ill-conditioned: compare the forces that the accelerations need
        links = [robot.bodies[body].name for body in leaves(robot)[:2]]
        forces = np.random.default_rng(seed).uniform(-20, 20, (3, len(links)))
        pushed = tau.copy()
        for link, force in zip(links, forces.T, strict=True):
            pushed += theirs.jacobian(model.getFrameId(link, pin.FrameType.BODY))[:3].T @ force
        free = full(f.forward_dynamics(q, u, tau))
        forced = full(f.forced_dynamics(links)(q, u, tau, forces))
        assert error_of_force(theirs.inverse_dynamics(free), tau, M) < 1e-10
        assert error_of_force(theirs.inverse_dynamics(forced), pushed, M) < 1e-10


@pytest.mark.parametrize("name", ROBOTS)
def test_rotations_move_like_those_of_pinocchio(name: str) -> None:
    """The free joint has no linear velocity, so that both move it on the same path."""
    robot, model = both(FILES[name])
    f = robot.symbolic()
    q, u = random_state(robot, 1)
    if robot.floating:
        u[:3] = 0
    theirs = Pinocchio(robot, model, q, u)
    end = full(f.integrate(q, u, 0.7))
    moved = pin.integrate(model, theirs.q, 0.7 * theirs.v)
    expected = Pinocchio(robot, model, end, u).q
    assert relative_error(pin.difference(model, moved, expected) + 1, np.ones(model.nv)) < 1e-13
    assert relative_error(full(f.difference(end, q)), 0.7 * u) < 1e-13


def test_constrained_dynamics_match_pinocchio() -> None:
    """Four feet of Go2 held at their centers: Pinocchio holds points of bodies."""
    robot, model = both(FILES["go2_description-go2"])
    f = robot.symbolic()
    feet = [c for c in robot.candidates if c.name.endswith("foot")]
    assert len(feet) == 4
    for seed in range(3):
        q, u = random_state(robot, seed)
        tau = np.random.default_rng(seed).uniform(-5, 5, robot.nu)
        u[:] = 0  # a foot that rolls is not held at a point
        acceleration, forces = map(
            full, f.constrained_dynamics([foot.name for foot in feet])(q, u, tau)
        )
        theirs = Pinocchio(robot, model, q, u)
        contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for foot in feet:
            R = robot.rotation(q, robot.bodies[foot.body].name)
            point = foot.position + foot.radius * -R[2]
            joint = model.getJointId(robot.bodies[foot.body].joint.name)
            contacts.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    model,
                    joint,
                    pin.SE3(np.eye(3), point),
                    pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
                )
            )
        for each in contacts:
            data.append(each.createData())
        pin.initConstraintDynamics(model, theirs.data, contacts, data)
        torque = np.linalg.solve(theirs.A.T, tau)
        found = pin.constraintDynamics(
            model, theirs.data, theirs.q, theirs.v, torque, contacts, data
        )
        there = theirs.A @ acceleration + theirs.drift
        assert relative_error(there, found) < 1e-9
        for k, each in enumerate(data):
            pushed = each.contact_force.linear
            assert np.linalg.norm(forces[:, k]) == pytest.approx(np.linalg.norm(pushed), rel=1e-9)
