"""Derivatives of the step, against closed forms for sticking, sliding and opening contacts, and
against differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import InvalidValue, UnknownName, Unsupported
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint
from tarsus.robots import load
from tarsus.terrain.slope import Slope

DT, G, MU = 0.002, 9.81, 0.5
SHARP: dict[str, Any] = {"T_rel": 1e-12, "T_abs": 1e-12}
Array = np.ndarray


def point() -> tarsus.Simulation:
    """A point of 2 kg on slides along x, y, z, on the ground."""
    axes, bodies = np.eye(3), []
    for k, axis in enumerate(axes):
        mass = Inertia(2.0 if k == 2 else 0.0, np.zeros(3), np.zeros((3, 3)))
        bodies.append(Body("xyz"[k], k - 1, Joint("xyz"[k], "slide", axis), mass))
    robot = tarsus.Robot("point", tuple(bodies), (Candidate("tip", 2, np.zeros(3), 0.0),))
    return tarsus.Simulation(robot, Moreau(mu=MU, recovery=0), dt=DT)


def after(sim: tarsus.Simulation, q: Array, u: Array) -> tuple[Array, Array]:
    """Derivative of u after the step by (q, u) before it, and by mu."""
    sim.set(q=q, u=u)
    found = sim.derivatives("mu")
    assert found.converged
    return found.state[3:], found.parameters["mu"][3:, 0]


def test_a_point_in_flight_keeps_its_velocity() -> None:
    sim = point()
    state, mu = after(sim, np.array([0, 0, 0.1]), np.array([1.0, 0, 0.5]))
    np.testing.assert_allclose(state, np.hstack([np.zeros((3, 3)), np.eye(3)]), atol=1e-14)
    np.testing.assert_array_equal(mu, 0)
    moved = sim.derivatives().state[:3]
    np.testing.assert_allclose(moved, np.hstack([np.eye(3), DT * np.eye(3)]), atol=1e-14)


def test_a_point_that_separates_is_free() -> None:
    state, mu = after(point(), np.array([0, 0, -1e-4]), np.array([0.3, 0, 0.2]))
    np.testing.assert_allclose(state, np.hstack([np.zeros((3, 3)), np.eye(3)]), atol=1e-14)
    np.testing.assert_array_equal(mu, 0)


def test_a_sticking_point_does_not_depend_on_its_velocity() -> None:
    state, mu = after(point(), np.array([0, 0, -1e-4]), np.array([0.1 * MU * G * DT, 0, -0.1]))
    np.testing.assert_allclose(state, 0, atol=2e-10)  # a trace on the diagonal: newton.SPREAD
    np.testing.assert_allclose(mu, 0, atol=1e-12)


def test_friction_of_a_sliding_point_depends_on_its_normal_force() -> None:
    speed, fall = np.array([0.6, 0.8]), -0.05
    state, mu = after(point(), np.array([0, 0, -1e-4]), np.array([*speed, fall]))
    pressed = G * DT - fall  # normal impulse a mass
    # u_T' = u_T (1 - mu pressed / |u_T|), u_N' = 0
    along = np.outer(speed, speed)
    expected = np.zeros((3, 6))
    expected[:2, 3:5] = np.eye(2) - MU * pressed * (np.eye(2) - along)
    expected[:2, 5] = MU * speed
    np.testing.assert_allclose(state, expected, atol=1e-9)
    np.testing.assert_allclose(mu, [*(-pressed * speed), 0], atol=1e-9)


def change(robot: tarsus.Robot, a: tuple[Array, Array], b: tuple[Array, Array]) -> Array:
    """Difference of states a and b as `Derivatives` defines it: q' = F(q) u from b to a."""
    middle = (a[0] + b[0]) / 2
    F = np.stack([robot.coordinate_rate(middle, u) for u in np.eye(robot.nu)], 1)
    return np.concatenate([np.linalg.lstsq(F, a[0] - b[0])[0], a[1] - b[1]])


def differences(sim: tarsus.Simulation, h: float = 1e-6) -> Array:
    """Central differences of the next state by state and action, (2 nu, 2 nu + actuators)."""
    start, q, u, nu = sim.state(), sim.q, sim.u, sim.robot.nu
    held = np.asarray(sim.backend.get("action"))[0] if "action" in sim.backend else np.zeros(0)

    def moved(by: Array) -> tuple[Array, Array]:
        sim.restore(start)
        sim.set(q=sim.robot.integrate(q, by[:nu], 1.0), u=u + by[nu : 2 * nu])
        sim.step(held + by[2 * nu :]) if held.size else sim.step()
        return sim.q, sim.u

    ways = h * np.eye(2 * nu + held.size)
    columns = [change(sim.robot, moved(way), moved(-way)) / (2 * h) for way in ways]
    sim.restore(start)
    return np.stack(columns, 1)


# the sweeps' own tolerance shows in differences of 1e-6: 1e-12 / 1e-6
SHARPER: dict[str, Any] = {"T_rel": 1e-14, "T_abs": 1e-14}

CASES: dict[str, Callable[[], tarsus.Simulation]] = {
    "moreau": lambda: tarsus.Simulation("mini_cheetah", Moreau(**SHARP)),
    "exact": lambda: tarsus.Simulation("mini_cheetah", Moreau(solver="exact", **SHARPER)),
    "compliant": lambda: tarsus.Simulation("mini_cheetah", Compliant(), dt=0.0005),
    "rk4": lambda: tarsus.Simulation("mini_cheetah", Compliant(), "rk4", dt=0.001),
    "trot": lambda: tarsus.Simulation("mini_cheetah", Moreau(**SHARP), controller="trot"),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[] if c == "trot" else pytest.mark.slow) for c in CASES],
)
def test_a_robot_on_its_feet_agrees_with_differences(case: str) -> None:
    """To 1e-9 of the largest entry; the rest is round-off of the differences, which decreases
    with larger h.
    """
    sim = CASES[case]()
    sim.set(u=np.random.default_rng(3).normal(size=18) * 0.03)
    sim.advance(40 * sim.dt)
    assert np.count_nonzero(np.linalg.norm(sim.contact_force, axis=1) > 1) >= 2
    found = sim.derivatives()
    assert found.converged
    both = np.hstack([found.state, found.action])
    scale = np.maximum(np.abs(both).max(), 1)
    np.testing.assert_allclose(both, differences(sim), atol=1e-9 * scale, rtol=0)


def frictionless(robot: tarsus.Robot) -> tarsus.Robot:
    """Robot without dry friction and damping of joints."""
    joints = [replace(body.joint, dry_friction=0.0, damping=0.0) for body in robot.bodies]
    bodies = [replace(b, joint=joint) for b, joint in zip(robot.bodies, joints, strict=True)]
    return replace(robot, bodies=tuple(bodies))


def on_its_feet(law: Moreau, steps: int = 60, **options: Any) -> tuple[tarsus.Simulation, Array]:
    """Mini Cheetah after some steps of standing, without joint limits, and torques that hold it."""
    robot = frictionless(load("mini_cheetah"))
    sim = tarsus.Simulation(robot, law, limits=False, **options)
    bent = robot.keyframes["stand"][7:]
    for _ in range(steps):
        sim.step(60.0 * (bent - sim.q[7:]) - 1.5 * sim.u[6:])
    return sim, 60.0 * (bent - sim.q[7:]) - 1.5 * sim.u[6:]


def test_two_feet_stick_and_two_separate() -> None:
    """With two feet as joints, du = dt (M^-1 - M^-1 J^T (J M^-1 J^T)^-1 J M^-1) S dtau at the
    middle of the step.
    """
    sim, torques = on_its_feet(Moreau(mu=2.0, recovery=0, standing="midpoint", **SHARP))
    robot, u = sim.robot, sim.u
    for leg in ("FR", "HL"):
        u[robot.u_slices[robot.joint_names.index(f"{leg}_knee_joint")]] += 1.5
    sim.set(u=u)
    found = sim.derivatives(action=torques)
    middle = robot.integrate(sim.q, sim.u, sim.dt / 2)
    sim.step(torques)
    pressing = np.linalg.norm(sim.contact_force, axis=1) > 1
    assert pressing.tolist() == [c.name in ("FL_foot", "HR_foot") for c in robot.candidates]
    rows = []
    for foot in (c for c in robot.candidates if c.name in ("FL_foot", "HR_foot")):
        J = robot.jacobian(middle, foot.name)
        rows.append(J[:3] - foot.radius * np.array([J[4], -J[3], 0 * J[3]]))  # its lowest point
    J, S = np.vstack(rows), np.vstack([np.zeros((6, 12)), np.eye(12)])
    inverse = np.linalg.inv(robot.mass_matrix(middle))
    free = inverse @ S
    held = free - inverse @ J.T @ np.linalg.solve(J @ inverse @ J.T, J @ free)
    assert found.converged
    np.testing.assert_allclose(found.action[18:], sim.dt * held, atol=1e-10)
    straight = np.r_[0:3, 6:18]  # the base's turning is curved: its rows differ by 6e-9
    moved = sim.dt**2 / 2 * held[straight]
    np.testing.assert_allclose(found.action[straight], moved, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "exact", "jor", "sor", "jor_velocity"])
def test_a_step_that_begins_at_its_solution_has_the_same_derivatives(solver: str) -> None:
    """From the impulses of the last step any solver converges at once; the derivatives are
    those of the solution, independent of the iterations.
    """
    first, torques = on_its_feet(Moreau(**SHARP))
    q, u = first.q, first.u
    found = []
    for name in ("newton", solver):
        sim = tarsus.Simulation(first.robot, Moreau(solver=name, **SHARP), limits=False)
        for _ in range(3):  # from the same state: the last ones begin with the solution
            sim.set(q=q, u=u)
            sim.step(torques)
        sim.set(q=q, u=u)
        step = sim.derivatives("mu", action=torques)
        assert step.converged
        found.append(np.hstack([step.state, step.action, step.parameters["mu"]]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-9 * np.abs(found[0]).max(), rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "exact"])
def test_four_feet_that_slide_agree_with_differences(solver: str) -> None:
    """Steady sliding down a slope at the friction angle, where each step starts at its solution."""
    law, slope = Moreau(mu=0.3, solver=solver, **SHARPER), float(np.arctan(0.3))
    robot = load("mini_cheetah")
    sim = tarsus.Simulation(robot, law, terrain=Slope(angle=slope), stiction=False)
    bent, down = robot.keyframes["stand"][7:], -0.5 * np.array([np.cos(slope), 0, np.sin(slope)])
    sim.set(u=np.concatenate([down, np.zeros(15)]))
    for _ in range(300):
        sim.step(60.0 * (bent - sim.q[7:]) - 1.5 * sim.u[6:])
    assert (np.linalg.norm(sim.contact_force, axis=1) > 1).all() and sim.u[0] < -0.4
    found = sim.derivatives()
    both = np.hstack([found.state, found.action])
    # differences of 1e-6 pass a switch; round-off of those of 1e-7 is ten times as large
    np.testing.assert_allclose(both, differences(sim, 1e-7), atol=2e-8, rtol=0)


def test_a_joint_at_its_limit_is_locked() -> None:
    sim = tarsus.Simulation("mini_cheetah", Moreau(**SHARP))
    knee = sim.robot.joint_names.index("FL_knee_joint")
    q = sim.q
    q[2] += 0.5  # in the air
    q[sim.robot.q_slices[knee]] = sim.robot.bodies[knee].joint.lower
    sim.set(q=q, u=np.zeros(18))
    sim.step(-30.0 * np.ones(12))
    found, at = sim.derivatives(), sim.robot.u_slices[knee].start
    # u' = -gap / dt, with the gap at the midpoint: q - lower + u dt / 2
    expected = np.zeros(36)
    expected[[at, 18 + at]] = -1 / sim.dt, -0.5
    np.testing.assert_allclose(found.state[18 + at], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.action[18 + at], 0, atol=1e-5)
    # beside one that stands, which does not run what stops take
    stopped = sim.state()
    sim.reset()
    stands = sim.derivatives()
    both = tarsus.Simulation("mini_cheetah", Moreau(**SHARP), worlds=2)
    both.restore(np.concatenate([sim.state(), stopped]))
    both.backend.set("action", [np.zeros(12), -30.0 * np.ones(12)])
    together = both.derivatives()
    np.testing.assert_array_equal(together.state, [stands.state, found.state])
    assert together.converged.all()


def test_derivatives_differ_by_world_and_leave_the_state_unchanged() -> None:
    speeds, mus = [[1.0, 0, -0.1], [0, 0.001, -0.1], [0.3, 0.4, 0.1]], [0.2, 0.5, 0.9]
    robot = point().robot
    many = tarsus.Simulation(robot, Moreau(recovery=0), worlds=3, dt=DT)
    many.set(q=[0, 0, -1e-4], u=speeds, mu=mus)
    before, found = many.state(), many.derivatives("mu", "dt", "law.mu")
    np.testing.assert_array_equal(found.parameters["law.mu"], found.parameters["mu"])
    assert np.any(found.parameters["mu"])
    np.testing.assert_array_equal(many.state(), before)
    assert found.state.shape == (3, 6, 6) and found.action.shape == (3, 6, 0)
    assert found.command.shape == (3, 6, 0) and found.parameters["dt"].shape == (3, 6, 1)
    for k, mu in enumerate(mus):
        one = tarsus.Simulation(robot, Moreau(mu=mu, recovery=0), dt=DT)
        one.restore(before[k])
        alone = one.derivatives("mu", "dt")
        np.testing.assert_array_equal(alone.state, found.state[k])
        for name in ("mu", "dt"):
            np.testing.assert_array_equal(alone.parameters[name], found.parameters[name][k])


def test_derivatives_accept_torques() -> None:
    sim = tarsus.Simulation("mini_cheetah", Moreau(**SHARP))
    sim.set(u=np.random.default_rng(3).normal(size=18) * 0.03)
    sim.step(np.ones(12))
    asked = sim.derivatives(action=np.zeros(12))
    start = sim.state()
    sim.step(np.zeros(12))  # the last ones, from here on
    start[:, -12:] = 0
    sim.restore(start)
    np.testing.assert_array_equal(asked.state, sim.derivatives().state)
    with refused(InvalidValue, "action"):
        sim.derivatives(action=np.zeros(3))


def test_unsupported_derivatives_are_rejected_in_one_sentence() -> None:
    sim = point()
    with refused(UnknownName, "nu"):
        sim.derivatives("nu")
    single = tarsus.Simulation(sim.robot, precision="float32", dt=DT)
    with refused(Unsupported, "derivatives"):
        single.derivatives()
