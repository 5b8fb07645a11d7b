"""Falls: robots without torques, thrown in any attitude, stay finite and gain no energy."""

from __future__ import annotations

import numpy as np
import pytest

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.simulation.recording.step_observables import Array
from tarsus.stepping import fast_motion


def thrown(name: str, worlds: int, rate: float) -> tuple[Robot, tarsus.Simulation]:
    """A robot half a meter above where it stands, in random attitudes, its joints turning."""
    robot = tarsus.load(name)
    simulation = tarsus.Simulation(robot, worlds=worlds)
    rng = np.random.default_rng(0)
    q = np.array(simulation.q)
    q[:, 2] += 0.5
    q[:, 3:7] = rng.normal(size=(worlds, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    simulation.set(q=q, u=rate * rng.normal(size=(worlds, robot.nu)))
    return robot, simulation


def energy(robot: Robot, simulation: tarsus.Simulation) -> Array:
    """Kinetic and potential energy of every world, J."""
    return robot.kinetic_energy(simulation.q, simulation.u) + robot.potential_energy(simulation.q)


@pytest.mark.parametrize("name", ["hoap1", "biped", "hyq", "mini_cheetah", "starleth"])
def test_a_fall_gains_no_energy(name: str) -> None:
    """No motors, hard ground, dt = 2.5 ms: HOAP-1 and the biped used to end in NaN here."""
    robot, simulation = thrown(name, worlds=128, rate=1.0)
    start = energy(robot, simulation)
    weight = robot.mass * 9.81
    for _ in range(25):
        simulation.advance(0.1)
        gained = energy(robot, simulation) - start
        assert np.isfinite(gained).all()
        assert gained.max() < 0.01 * weight  # the energy of a centimeter of height


def test_velocity_terms_of_fast_joints_keep_momentum_to_second_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Mini Cheetah that tumbles in the air: half the step, a quarter of the error in momentum."""
    monkeypatch.setattr(fast_motion, "FAST", 0.0)  # all steps are fast
    robot = tarsus.load("mini_cheetah")
    rng = np.random.default_rng(0)
    q, u = np.array(robot.keyframes["stand"]), 4 * rng.normal(size=robot.nu)
    q[2] += 10

    def after(dt: float) -> Array:
        simulation = tarsus.Simulation(robot, dt=dt)
        simulation.set(q=q, u=u)
        simulation.advance(0.2)
        return robot.momentum(simulation.q, simulation.u).ravel()

    # in the air the weight's impulse is all that changes linear momentum
    coarse, fine, finer = (after(dt) for dt in (0.004, 0.002, 0.001))
    ratio = np.linalg.norm(coarse - fine) / np.linalg.norm(fine - finer)
    assert ratio == pytest.approx(4, rel=0.1)


def test_what_is_taken_from_the_joints_leaves_momentum_alone() -> None:
    """The limiter takes energy from the joints' motion and nothing from the robot's momentum."""
    from casadi import DM, SX

    from tarsus.dynamics import crba, rnea
    from tarsus.dynamics.kinematics import kinematics

    robot = tarsus.load("hyq")
    rng = np.random.default_rng(1)
    kin = kinematics(robot, SX(robot.keyframes["stand"]))
    M = crba.mass_matrix(kin, rnea.body_inertias(robot))
    u = rng.normal(size=robot.nu)
    dense = np.array(DM(M))
    kinetic = 0.5 * u @ dense @ u

    def limited(allowed: float) -> Array:
        return np.array(DM(fast_motion.without_gain(robot, M, SX(u), SX(allowed)))).ravel()

    slower = limited(kinetic - 0.1)
    np.testing.assert_allclose(dense[:6] @ slower, dense[:6] @ u, rtol=1e-12, atol=1e-12)
    assert 0.5 * (u @ dense @ u - slower @ dense @ slower) == pytest.approx(0.1, rel=1e-9)
    np.testing.assert_allclose(limited(kinetic + 1.0), u, rtol=1e-14)
    hardly = limited(0.01 * kinetic)  # less than the locked robot has
    assert 0.5 * hardly @ dense @ hardly == pytest.approx(0.01 * kinetic, rel=1e-9)


def test_steps_of_fast_joints_are_counted() -> None:
    """The log has no balance of momentum for them, and says how many there were."""
    simulation = tarsus.Simulation("hoap1")
    u = np.zeros(simulation.robot.nu)
    u[10] = 60.0  # rad/s: 0.15 rad a step
    q = np.array(simulation.q)
    q[2] += 1
    simulation.set(q=q, u=u)
    log = simulation.run(0.02)
    fast = int(np.isnan(log["equation_residual"].values).sum())
    assert fast == log.attrs["fast_steps"] > 0
    assert any("turned by more than 0.1 rad" in text for text in log.attrs["warnings"])
