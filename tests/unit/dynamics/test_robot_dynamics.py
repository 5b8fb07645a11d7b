"""Dynamics of robots: laws that they must obey, compiled code against CasADi, batches against
single states.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.dynamics_oracles import Interpreted, error_of_force, error_of_matrix, relative_error
from helpers.numpy_mechanics import mass_matrix as mass_matrix_by_jacobians
from helpers.numpy_mechanics import random_state
from helpers.random_mechanisms import Numbers, mechanism_of

from tarsus.dynamics import crba, rnea
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.quantities import QUANTITIES, Terms
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.tree import support_path
from tarsus.model.mechanism import WORLD, Body, Frame, Inertia, Mechanism
from tarsus.program.ir import reference
from tarsus.robots import mini_cheetah

GARDEN = (  # two free trees and one that stands on the ground, every kind of joint
    *((WORLD, "free"), (0, "hinge"), (1, "ball"), (0, "slide")),
    *((WORLD, "free"), (4, "slide"), (5, "hinge")),
    *((WORLD, "slide"), (7, "ball"), (8, "hinge"), (7, "hinge")),
)
ROBOTS = {
    "mini cheetah": Robot.of(mini_cheetah.describe()),
    "garden": Robot.of(mechanism_of(GARDEN, Numbers(1, plain=False))),
    "plain garden": Robot.of(mechanism_of(GARDEN, Numbers(2, plain=True))),
    "arm": Robot.of(
        mechanism_of([(WORLD, "hinge"), (0, "hinge"), (1, "hinge")], Numbers(3, plain=False))
    ),
    "piston": Robot.of(mechanism_of([(WORLD, "slide")], Numbers(4, plain=False))),
}
ROUND_OFF = 1e-13
EVERY_ROBOT = pytest.mark.parametrize("name", ROBOTS)


def frame_of(robot: Robot) -> str:
    return robot.frames[-1].name


def inputs(robot: Robot, seed: int) -> dict[str, np.ndarray]:
    """Every argument that a quantity may want."""
    q, u = random_state(robot, seed)
    random = np.random.default_rng(seed)
    acceleration, tau, b = random.uniform(-5, 5, (3, robot.nu))
    return {
        "q": q,
        "u": u,
        "acceleration": acceleration,
        "tau": tau,
        "b": b,
        "wrench": random.uniform(-5, 5, 6),
    }


def ask(robot: Robot, quantity: str, given: dict[str, np.ndarray]) -> np.ndarray:
    """The robot's answer, about its last frame where one is wanted."""
    asked = QUANTITIES[quantity]
    chosen: dict[str, Any] = {name: given[name] for name in asked.inputs}
    if asked.has_frame:
        chosen["name"] = frame_of(robot)
    return getattr(robot, quantity)(**chosen)


@EVERY_ROBOT
def test_mass_matrix_is_symmetric_positive_definite(name: str) -> None:
    robot = ROBOTS[name]
    for seed in range(5):
        q, _ = random_state(robot, seed)
        M = robot.mass_matrix(q)
        assert (M == M.T).all()
        assert np.linalg.eigvalsh(M)[0] > 0
        assert error_of_matrix(M, mass_matrix_by_jacobians(robot, q)) < ROUND_OFF


@EVERY_ROBOT
def test_parts_of_the_equation_of_motion_add_up(name: str) -> None:
    robot = ROBOTS[name]
    given = inputs(robot, 5)
    q, u, acceleration, tau, b, wrench = given.values()
    M, bias = robot.mass_matrix(q), robot.bias(q, u)
    assert error_of_force(robot.velocity_terms(q, u) + robot.gravity(q), bias, M) < ROUND_OFF
    assert not robot.velocity_terms(q, 0 * u).any()
    required = robot.inverse_dynamics(q, u, acceleration)
    assert error_of_force(required, M @ acceleration + bias, M) < ROUND_OFF
    assert relative_error(robot.forward_dynamics(q, u, required), acceleration) < 1e-11
    assert error_of_force(M @ robot.forward_dynamics(q, u, tau) + bias, tau, M) < 1e-12
    assert error_of_force(M @ robot.solve_mass_matrix(q, b), b, M) < 1e-12
    assert relative_error(robot.solve_mass_matrix(q, b), np.linalg.solve(M, b)) < 1e-11
    J = robot.jacobian(q, frame_of(robot))
    assert (
        error_of_force(robot.external_force(q, frame_of(robot), wrench), J.T @ wrench, M)
        < ROUND_OFF
    )
    assert relative_error(robot.velocity(q, u, frame_of(robot)), J @ u) < ROUND_OFF
    assert robot.kinetic_energy(q, u) == pytest.approx(0.5 * u @ M @ u, rel=1e-13)


@EVERY_ROBOT
def test_power_and_momentum_balance(name: str) -> None:
    """dT/dt = u.(tau - g), dV/dt = u.g and dp/dt = m g, exactly: derivatives along q' = F u and
    u'.
    """
    robot = ROBOTS[name]
    given = inputs(robot, 6)
    q, u, tau = given["q"], given["u"], given["tau"]
    free_joints = [
        at
        for body, at in zip(robot.bodies, robot.u_slices, strict=True)
        if body.joint.kind == "free"
    ]
    for at in free_joints:
        tau[at] = 0
    symbols = {"q": ca.SX.sym("q", robot.nq), "u": ca.SX.sym("u", robot.nu)}
    terms, x = Terms(robot, symbols), ca.vertcat(*symbols.values())
    wanted = [
        QUANTITIES[key].expression(terms)
        for key in ("kinetic_energy", "potential_energy", "momentum")
    ]
    rate = ca.SX.sym("rate", robot.nq + robot.nu)
    function = ca.Function("rates", [x, rate], [ca.jtimes(ca.vertcat(*wanted), x, rate)])
    motion = np.concatenate([robot.coordinate_rate(q, u), robot.forward_dynamics(q, u, tau)])
    rates = np.asarray(function(np.concatenate([q, u]), motion)).ravel()
    power = u @ (tau - robot.gravity(q))
    assert rates[0] == pytest.approx(power, rel=1e-11)
    assert rates[1] == pytest.approx(u @ robot.gravity(q), rel=1e-11)
    if all(body.parent != WORLD or body.joint.kind == "free" for body in robot.bodies):
        weight = robot.mass * np.array(robot.gravity_acceleration)
        moment = np.cross(robot.center_of_mass(q), weight)
        assert np.allclose(rates[2:], [*weight, *moment], rtol=0, atol=1e-11 * abs(weight[2]))


@EVERY_ROBOT
def test_regrouped_inertias_give_the_same_dynamics(name: str) -> None:
    robot = ROBOTS[name]
    q, u = ca.SX.sym("q", robot.nq), ca.SX.sym("u", robot.nu)
    kin, answers = kinematics(robot, q, u), []
    for inertias in (rnea.body_inertias(robot), base_parameters(robot)):
        outputs = [ca.densify(crba.mass_matrix(kin, inertias)), rnea.bias(kin, inertias)]
        answers.append(ca.Function("f", [q, u], outputs)(*random_state(robot, 7)))
    (M, bias), (M_base, bias_base) = [[np.asarray(x) for x in answer] for answer in answers]
    assert error_of_matrix(M_base, M) < 1e-12
    assert error_of_force(bias_base.ravel(), bias.ravel(), M) < 1e-12


def test_a_tiny_robot_is_as_exact_as_a_big_one() -> None:
    """Lengths / 1000, masses / 10^9: a matrix of 10^-12 kg m^2 is no round-off."""
    big = replace(ROBOTS["mini cheetah"], candidates=(), frames=())
    length, mass = 1e-3, 1e-9
    bodies = []
    for body in big.bodies:
        i = body.inertia
        small = Inertia(mass * i.mass, length * i.com, mass * length**2 * i.about_com)
        joint = replace(body.joint, armature=mass * length**2 * body.joint.armature)
        bodies.append(replace(body, joint=joint, inertia=small, position=length * body.position))
    tiny = Robot.of(replace(big, bodies=tuple(bodies)))
    q, u = random_state(tiny, 8)
    q[:3], u[:3] = length * q[:3], length * u[:3]
    assert error_of_matrix(tiny.mass_matrix(q), mass_matrix_by_jacobians(tiny, q)) < ROUND_OFF
    assert tiny.kinetic_energy(q, u) == pytest.approx(0.5 * u @ tiny.mass_matrix(q) @ u, rel=1e-12)


@pytest.mark.parametrize("name", ["mini cheetah", "garden", "piston"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_compiled_and_interpreted_results_match(name: str, quantity: str) -> None:
    robot, asked = ROBOTS[name], QUANTITIES[quantity]
    states = [inputs(robot, seed) for seed in range(13)]
    batch = {key: np.array([state[key] for state in states]) for key in states[0]}
    answers, shape = ask(robot, quantity, batch), asked.shape_for(robot)
    assert answers.shape == (13, *shape) and np.isfinite(answers).all()
    for state, answer in zip(states, answers, strict=True):
        assert np.array_equal(ask(robot, quantity, state), answer)
    assert np.shape(ask(robot, quantity, states[0])) == shape

    frame = robot.frame(frame_of(robot)) if asked.has_frame else None
    program = asked.program(robot, quantity, frame)
    values = {key: batch[key] for key in asked.inputs}
    expected = asked.reshape(robot, reference.run(program, values)[quantity])
    for answer, wanted in zip(answers, expected, strict=True):
        assert relative_error(answer, wanted) < (1e-10 if quantity == "forward_dynamics" else 1e-12)
    interpreted = Interpreted(robot)(quantity, frame.name if frame else "", **states[0])
    assert np.allclose(interpreted, expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["mini cheetah", "garden"])
def test_derivatives_of_the_dynamics_match_differences(name: str) -> None:
    """Central differences along each coordinate; inverse and forward dynamics agree."""
    robot, step = ROBOTS[name], 1e-6
    given = inputs(robot, 4)
    q, u, a = (given[key] for key in ("q", "u", "acceleration"))
    changes = step * np.eye(robot.nu)
    plus, minus = (
        np.array([robot.integrate(q, sign * change, 1.0) for change in changes])
        for sign in (1.0, -1.0)
    )
    rows = len(changes)
    all_u, all_a = np.tile(u, (rows, 1)), np.tile(a, (rows, 1))
    all_q = np.tile(q, (rows, 1))
    by_q = robot.inverse_dynamics(plus, all_u, all_a) - robot.inverse_dynamics(minus, all_u, all_a)
    by_u = robot.inverse_dynamics(all_q, u + changes, all_a) - robot.inverse_dynamics(
        all_q, u - changes, all_a
    )
    inverse = robot.inverse_dynamics_derivatives(q, u, a)
    differences = np.hstack([by_q.T, by_u.T]) / (2 * step)
    assert np.abs(inverse - differences).max() < 1e-6 * np.abs(differences).max()

    tau, M = robot.inverse_dynamics(q, u, a), robot.mass_matrix(q)
    forward = robot.forward_dynamics_derivatives(q, u, tau)
    expected = np.hstack([-inverse, np.eye(robot.nu)])
    assert np.abs(M @ forward - expected).max() < 1e-9 * np.abs(expected).max()


def test_position_and_velocity_of_a_frame() -> None:
    """Against the derivative of the place along the motion."""
    robot = ROBOTS["garden"]
    q, u = random_state(robot, 9)
    name, dt = frame_of(robot), 1e-6
    before, after = robot.integrate(q, u, -dt), robot.integrate(q, u, dt)
    velocity = robot.velocity(q, u, name)
    moved = (robot.position(after, name) - robot.position(before, name)) / (2 * dt)
    assert np.allclose(velocity[:3], moved, atol=1e-8)
    R = robot.rotation(q, name)
    spin = (robot.rotation(after, name) - robot.rotation(before, name)) / (2 * dt) @ R.T
    assert np.allclose(velocity[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.allclose((after - before) / (2 * dt), robot.coordinate_rate(q, u), atol=1e-8)


def test_integrate() -> None:
    robot = ROBOTS["garden"]
    q, u = random_state(robot, 10)
    assert np.allclose(robot.integrate(q, u, 0.0), q, rtol=0, atol=1e-15)
    there = robot.integrate(robot.integrate(q, u, 0.3), u, 0.4)
    assert np.allclose(there, robot.integrate(q, u, 0.7), rtol=0, atol=1e-14)
    back = robot.integrate(there, u, -0.7)
    assert np.allclose(back, q, rtol=0, atol=1e-14)
    fast = robot.integrate(q, 1e4 * u, 1.0)
    assert np.linalg.norm(fast[3:7]) == pytest.approx(1, abs=1e-15)
    many = robot.integrate(np.tile(q, (3, 1)), u, np.array([0.0, 0.3, 0.7]))
    assert many.shape == (3, robot.nq) and np.allclose(many[2], there, rtol=0, atol=1e-14)


def test_difference_inverts_integrate() -> None:
    robot = ROBOTS["garden"]
    q, u = random_state(robot, 10)
    u *= 2.0 / np.abs(u).max()  # less than half a turn
    there = robot.integrate(q, u, 1.0)
    assert np.allclose(robot.difference(there, q), u, rtol=0, atol=1e-13)
    assert np.allclose(robot.difference(q, q), 0, rtol=0, atol=1e-15)
    many = robot.difference(np.tile(there, (3, 1)), np.tile(q, (3, 1)))
    assert many.shape == (3, robot.nu) and np.allclose(many, u, rtol=0, atol=1e-13)


def test_gravity_of_the_world() -> None:
    robot = ROBOTS["arm"]
    q, u = random_state(robot, 11)
    moon = replace(robot, gravity_acceleration=(0.0, 0.0, -1.62))
    assert np.allclose(moon.gravity(q), robot.gravity(q) * 1.62 / 9.81, rtol=1e-13)
    assert np.array_equal(
        replace(robot, gravity_acceleration=(0.0, 0.0, 0.0)).bias(q, u), robot.velocity_terms(q, u)
    )


def test_point_mass_by_hand() -> None:
    """A pendulum of 2 kg and 0.5 m about y: M = m l^2, g = m g l sin q, V = -m g l cos q."""
    joint = replace(ROBOTS["arm"].bodies[0].joint, axis=np.array([0.0, 1.0, 0.0]), armature=0.125)
    bob = Inertia(2.0, np.array([0.0, 0.0, -0.5]))
    end = Frame("bob", 0, bob.com)
    robot = Robot.of(Mechanism("pendulum", (Body("rod", WORLD, joint, bob),), frames=(end,)))
    q, u = np.array([0.3]), np.array([2.0])
    assert robot.mass_matrix(q) == pytest.approx(0.5 + 0.125)
    assert robot.gravity(q) == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.3))
    assert robot.potential_energy(q) == pytest.approx(-2 * 9.81 * 0.5 * np.cos(0.3))
    assert robot.kinetic_energy(q, u) == pytest.approx(0.5 * 0.625 * 4)
    assert robot.position(q, "bob") == pytest.approx([-0.5 * np.sin(0.3), 0, -0.5 * np.cos(0.3)])
    assert robot.velocity(q, u, "bob") == pytest.approx([-np.cos(0.3), 0, np.sin(0.3), 0, 2, 0])
    assert robot.momentum(q, u) == pytest.approx([-2 * np.cos(0.3), 0, 2 * np.sin(0.3), 0, 1, 0])
    assert robot.external_force(q, "bob", [0, 0, 1, 0, 3, 0]) == pytest.approx(
        0.5 * np.sin(0.3) + 3
    )


def test_the_factor_has_entries_only_between_ancestors() -> None:
    robot = ROBOTS["garden"]
    terms = Terms(robot, {"q": ca.SX.sym("q", robot.nq)})
    M = crba.mass_matrix(terms.kin, terms.base_inertias)
    paths = [support_path(robot, n) for n in range(len(robot.bodies))]
    carrier = [n for n, body in enumerate(robot.bodies) for _ in range(body.joint.nu)]
    related = {(k, i) for k in range(robot.nu) for i in range(k) if carrier[i] in paths[carrier[k]]}
    assert set(terms.factor.L) == related
    rows, columns = M.sparsity().get_triplet()
    assert {(k, i) for k, i in zip(rows, columns, strict=True) if i < k} <= related
