"""Dynamics of the robots of example-robot-data against Pinocchio: M, c + g, g, center of mass,
Jacobians, energies.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.dynamics_oracles import (
    Interpreted,
    Pinocchio,
    error_of_force,
    error_of_matrix,
    leaves,
    relative_error,
)
from helpers.numpy_mechanics import random_state
from helpers.robots_of_the_field import label, legged_urdf_files

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning
from tarsus.model.read import read

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-10
QUICK = (
    "anymal_c_simple_description-anymal",
    "b1_description-b1-z1",
    "bolt_description-bolt",
    "g1_description-g1_29dof_rev_1_0",
    "go2_description-go2",
    "human_description-human",
    "icub_description-icub",
    "solo_description-solo12",
    "talos_data-talos_full_v2",
)
COMPILED = ("go2_description-go2", "talos_data-talos_full_v2")
FILES = {label(file): file for file in legged_urdf_files()}


def case(name: str) -> Any:
    """Robot of the default run, or a slow one."""
    return pytest.param(FILES[name], id=name, marks=() if name in QUICK else pytest.mark.slow)


def both(file: Path) -> tuple[Robot, Any]:
    """Robot in Tarsus and Pinocchio's model, with the same joints locked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)
        robot = Robot.of(read(file))
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromUrdf(str(file), *root)
    known = {"universe", "root_joint", *robot.joint_names}
    locked = [number for number, name in enumerate(model.names) if name not in known]
    return robot, pin.buildReducedModel(model, locked, pin.neutral(model)) if locked else model


def feet(robot: Robot) -> list[str]:
    """Last body of every limb, and frames on it."""
    ends = leaves(robot)
    return [robot.bodies[n].name for n in ends] + [f.name for f in robot.frames if f.body in ends][
        :3
    ]


def errors(ask: Any, robot: Robot, model: Any, seed: int) -> dict[str, float]:
    """Relative errors of every quantity at a random state; `ask` returns those of Tarsus."""
    q, u = random_state(robot, seed)
    acceleration = np.random.default_rng(seed).uniform(-1, 1, robot.nu)
    theirs = Pinocchio(robot, model, q, u)
    M, bias = theirs.mass_matrix(), theirs.bias()
    kinetic, potential = theirs.energies()
    found = {
        "M": error_of_matrix(ask("mass_matrix", q=q), M),
        "c + g": error_of_force(ask("bias", q=q, u=u), bias, M),
        "g": error_of_force(ask("gravity", q=q), theirs.gravity(), M),
        "c": error_of_force(ask("velocity_terms", q=q, u=u), theirs.velocity_terms(), M),
        "tau": error_of_force(
            ask("inverse_dynamics", q=q, u=u, acceleration=acceleration),
            theirs.inverse_dynamics(acceleration),
            M,
        ),
        "com": relative_error(ask("center_of_mass", q=q), theirs.center_of_mass()),
        "T": relative_error(ask("kinetic_energy", q=q, u=u), kinetic),
        "V": relative_error(ask("potential_energy", q=q), potential),
        "momentum": relative_error(ask("momentum", q=q, u=u), theirs.momentum()),
    }
    for name in feet(robot):
        J = theirs.jacobian(model.getFrameId(name, pin.FrameType.BODY))
        found[f"J {name}"] = relative_error(ask("jacobian", name, q=q), J)
        found[f"v {name}"] = relative_error(ask("velocity", name, q=q, u=u), J @ u)
    return found


@pytest.mark.parametrize("file", [case(name) for name in FILES])
def test_dynamics_match_pinocchio(file: Path) -> None:
    robot, model = both(file)
    ask = Interpreted(robot)
    for seed in range(5):
        for name, error in errors(ask, robot, model, seed).items():
            assert error < TOLERANCE, name


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_dynamics_match_pinocchio(name: str) -> None:
    robot, model = both(FILES[name])
    q, u = (
        np.array(part)
        for part in zip(*(random_state(robot, seed) for seed in range(20)), strict=True)
    )
    tau = np.random.default_rng(0).uniform(-1, 1, u.shape)
    M, bias, feet_J = robot.mass_matrix(q), robot.bias(q, u), robot.jacobian(q, feet(robot)[0])
    forward, end = robot.forward_dynamics(q, u, tau), feet(robot)[0]
    centroidal = robot.centroidal_momentum_matrix(q), robot.centroidal_momentum_bias(q, u)
    com_J, bias_acceleration = (
        robot.center_of_mass_jacobian(q),
        robot.bias_acceleration(q, u, end),
    )
    acceleration = robot.frame_acceleration(q, u, tau, end)
    for k in range(len(q)):
        theirs = Pinocchio(robot, model, q[k], u[k])
        there = theirs.mass_matrix()
        assert error_of_matrix(M[k], there) < TOLERANCE
        assert error_of_force(bias[k], theirs.bias(), there) < TOLERANCE
        J = theirs.jacobian(model.getFrameId(feet(robot)[0], pin.FrameType.BODY))
        assert relative_error(feet_J[k], J) < TOLERANCE
        frame = model.getFrameId(end, pin.FrameType.BODY)
        pairs = (
            (centroidal[0][k], theirs.centroidal_momentum_matrix()),
            (centroidal[1][k], theirs.centroidal_momentum_bias()),
            (com_J[k], theirs.center_of_mass_jacobian()),
            (bias_acceleration[k], theirs.acceleration(frame, np.zeros(robot.nu))),
            (acceleration[k], theirs.acceleration(frame, tau[k])),
        )
        assert all(relative_error(ours, others) < TOLERANCE for ours, others in pairs)
        assert (
            error_of_force(theirs.inverse_dynamics(forward[k]), tau[k], there) < 1e-8
        )  # M is ill-conditioned


def test_derivatives_match_pinocchio() -> None:
    """Fixed in the world, where both have the same coordinates."""
    file = FILES["go2_description-go2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)
        robot = Robot.of(read(file, floating=False))
    model = pin.buildModelFromUrdf(str(file))
    data, order = (
        model.createData(),
        [model.joints[model.getJointId(n)].idx_v for n in robot.joint_names],
    )
    for seed in range(5):
        q, u = random_state(robot, seed)
        a, there = np.random.default_rng(seed).uniform(-1, 1, robot.nu), np.zeros((3, model.nv))
        there[:, order] = q, u, a
        theirs = pin.computeRNEADerivatives(model, data, *there)[:2]
        inverse = np.split(robot.inverse_dynamics_derivatives(q, u, a), 2, axis=-1)
        for ours, other in zip(inverse, theirs, strict=True):
            assert relative_error(ours, other[np.ix_(order, order)]) < TOLERANCE
        theirs = pin.computeABADerivatives(model, data, *there)
        forward = np.split(robot.forward_dynamics_derivatives(q, u, a), 3, axis=-1)
        for ours, other in zip(forward[:2], theirs[:2], strict=True):
            assert relative_error(ours, other[np.ix_(order, order)]) < TOLERANCE
        assert relative_error(forward[2], np.linalg.inv(robot.mass_matrix(q))) < TOLERANCE
