"""Derivatives of the step: by hand where a contact sticks, slides and opens, and by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint

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
    """d u after the step by (q, u) before it, and by mu."""
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


def test_a_point_that_sticks_forgets_its_velocity() -> None:
    state, mu = after(point(), np.array([0, 0, -1e-4]), np.array([0.1 * MU * G * DT, 0, -0.1]))
    np.testing.assert_allclose(state, 0, atol=2e-10)  # a trace on the diagonal: newton.SPREAD
    np.testing.assert_allclose(mu, 0, atol=1e-12)


def test_a_point_that_slides_is_braked_by_what_it_presses() -> None:
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
    """The way from state b to state a, as `Derivatives` counts it: q' = F(q) u in between."""
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


CASES: dict[str, Callable[[], tarsus.Simulation]] = {
    "moreau": lambda: tarsus.Simulation("mini_cheetah", Moreau(**SHARP)),
    "exact": lambda: tarsus.Simulation("mini_cheetah", Moreau(solver="exact", **SHARP)),
    "compliant": lambda: tarsus.Simulation("mini_cheetah", Compliant(), dt=0.0005),
    "rk4": lambda: tarsus.Simulation("mini_cheetah", Compliant(), "rk4", dt=0.001),
    "trot": lambda: tarsus.Simulation("mini_cheetah", Moreau(**SHARP), controller="trot"),
}


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[] if c == "trot" else pytest.mark.slow) for c in CASES],
)
def test_a_robot_on_its_feet_agrees_with_differences(case: str) -> None:
    sim = CASES[case]()
    sim.set(u=np.random.default_rng(3).normal(size=18) * 0.03)
    sim.advance(40 * sim.dt)
    assert np.count_nonzero(np.linalg.norm(sim.contact_force, axis=1) > 1) >= 2
    found = sim.derivatives()
    assert found.converged
    both = np.hstack([found.state, found.action])
    scale = np.maximum(np.abs(both).max(), 1)
    np.testing.assert_allclose(both, differences(sim), atol=2e-8 * scale, rtol=0)


def test_a_joint_on_its_stop_is_held() -> None:
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


def test_every_world_has_its_own_and_nothing_moves() -> None:
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


def test_other_torques_are_given() -> None:
    sim = tarsus.Simulation("mini_cheetah", Moreau(**SHARP))
    sim.set(u=np.random.default_rng(3).normal(size=18) * 0.03)
    sim.step(np.ones(12))
    asked = sim.derivatives(action=np.zeros(12))
    start = sim.state()
    sim.step(np.zeros(12))  # the last ones, from here on
    start[:, -12:] = 0
    sim.restore(start)
    np.testing.assert_array_equal(asked.state, sim.derivatives().state)
    with pytest.raises(TarsusError, match="the action"):
        sim.derivatives(action=np.zeros(3))


def test_what_cannot_be_is_a_sentence() -> None:
    sim = point()
    with pytest.raises(TarsusError, match="no parameter named 'nu'; did you mean mu"):
        sim.derivatives("nu")
    single = tarsus.Simulation(sim.robot, precision="float32", dt=DT)
    with pytest.raises(TarsusError, match="float64"):
        single.derivatives()
