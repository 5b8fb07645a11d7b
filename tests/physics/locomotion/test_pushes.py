"""External pushes: momentum changes by force times time, the log's balance of motion holds, bad
input is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation, judge, rerun
from tarsus.errors import IncompatibleOptions, InvalidValue, UnknownName
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

PUSH = np.array([3.0, -2.0, 5.0, 0.4, -0.3, 0.2])
STEPS, DT = 40, 0.0025
TOP = Mechanism(
    "top",
    (Body("top", -1, Joint("free", "free"), Inertia(2.0, np.zeros(3), 0.05 * np.eye(3))),),
    (Candidate("tip", 0, np.array([0.0, 0.0, -0.1])),),
)


def in_flight(robot: Mechanism | str, **options) -> Simulation:
    """Robot well above the ground, tumbling."""
    simulation = Simulation(robot, dt=DT, **options)
    q, u = simulation.q, np.random.default_rng(0).normal(size=simulation.robot.nu)
    q[..., 2] += 3.0
    simulation.set(q=q, u=u)
    return simulation


def test_momentum_changes_by_force_and_moment_times_time():
    simulation = in_flight(TOP, pushes="top")
    simulation.set(
        push={"top": PUSH}, u=np.append(simulation.u[:3], np.zeros(3))
    )  # turning about the moment alone
    before = momentum(simulation)
    simulation.advance(STEPS * DT)
    weight = 2.0 * np.array(TOP.gravity_acceleration)
    gained = momentum(simulation) - before
    assert gained[:3] == pytest.approx((PUSH[:3] + weight) * STEPS * DT, rel=1e-12)
    assert gained[3:] == pytest.approx(PUSH[3:] * STEPS * DT, rel=1e-9)


def momentum(simulation: Simulation) -> np.ndarray:
    """Linear and angular momentum (6,) of the ball-like top in world axes."""
    R = simulation.robot.rotation(simulation.q, "top")
    return np.concatenate([2.0 * simulation.u[:3], 0.05 * R @ simulation.u[3:]])


@pytest.mark.parametrize("worlds", [1, 2])
def test_time_varying_pushes_are_logged(worlds):
    simulation = in_flight(TOP, pushes="top", worlds=worlds, mass_scale={"top": 1.5})
    simulation.set(u=np.zeros(6))
    given = np.outer([1.0, 2.0][:worlds], PUSH).squeeze()
    log = simulation.run(STEPS * DT, push=lambda t: {"top": given * (t >= 10 * DT)})
    held = np.repeat([0.0, 1.0], [10, STEPS - 10])
    expected = held.reshape(-1, *[1] * given.ndim) * given
    np.testing.assert_array_equal(log["push"].sel(pushed="top").values, expected)
    gained = log["u"].values[-1, ..., :3] - np.array(TOP.gravity_acceleration) * STEPS * DT
    np.testing.assert_allclose(gained, given[..., :3] / 3.0 * (STEPS - 10) * DT, rtol=1e-9)
    assert log["equation_residual"].values.max() < 1e-9
    assert rerun(log, robot=simulation.robot).reproduced
    if worlds == 1:
        card = judge(log, simulation.robot)
        assert card["residuals"]["equation_N"] < 1e-9
        assert abs(card["energy"]["unbalanced"]) < 1e-9


@pytest.mark.parametrize("body", ["base", "LF_THIGH"])
def test_push_enters_the_motion_and_the_logs_balance(body):
    simulation = in_flight("starleth", pushes=[body], worlds=2)
    simulation.set(push={body: np.stack([PUSH, 0 * PUSH])})
    log = simulation.run(STEPS * DT)
    assert log["equation_residual"].values.max() < 1e-9
    pushed, free = log["u"].values[0].astype(float)
    robot, start = simulation.robot, log["q_start"].values[0]
    expected = robot.solve_mass_matrix(start, robot.external_force(start, body, PUSH)) * DT
    assert pushed - free == pytest.approx(expected, rel=0.05, abs=0.02 * np.abs(expected).max())


def test_worlds_can_be_pushed_and_released_separately():
    simulation = in_flight(TOP, pushes=["top"], worlds=3)
    forces = np.array([[1.0, 0, 0], [0, 0, 0], [-2.0, 0, 0]])
    start = simulation.u[:, 0]
    simulation.set(push={"top": forces})
    simulation.advance(0.1)
    simulation.set(where=[True, False, False], push={"top": np.zeros(3)})
    simulation.advance(0.1)
    assert simulation.u[:, 0] - start == pytest.approx(
        forces[:, 0] * [0.1, 0.2, 0.2] / 2.0, abs=1e-12
    )


def test_pushes_are_off_by_default():
    names = [register.name for register in Simulation(TOP).program.registers]
    assert "push" not in names
    with refused(IncompatibleOptions, "push"):
        Simulation(TOP).set(push={"top": np.zeros(3)})


def test_bad_pushes_are_refused():
    with refused(UnknownName, "tp"):
        Simulation(TOP, pushes=["tp"])
    simulation = Simulation(TOP, pushes=["top"])
    with refused(UnknownName, "base"):
        simulation.set(push={"base": np.zeros(3)})
    for push in (np.zeros(4), [np.nan, 0, 0]):
        with refused(InvalidValue, "push"):
            simulation.set(push={"top": push})
