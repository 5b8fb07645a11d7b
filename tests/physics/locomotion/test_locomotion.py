"""The virtual-model gait: force distribution against a general solver; standing, trotting, turning,
pushed.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize

from tarsus import Simulation
from tarsus.contact.laws.compliant import Compliant
from tarsus.control.force_distribution import Cost, Feet, distribute
from tarsus.control.gaits.virtual_model import VirtualModel
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.robots import mini_cheetah
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.substeps import Substeps

COST = Cost(1.0, 25.0, 0.01, 0.6)
FEET = np.array(
    [[0.25, 0.185, -0.4], [0.25, -0.185, -0.4], [-0.25, 0.185, -0.4], [-0.25, -0.185, -0.4]]
)
STANCES = ([1, 1, 1, 1], [1, 0, 0, 1], [1, 0.3, 0.3, 1])
SOFT = replace(Compliant(), mu=0.8, c_N=3e4, c_T=3e4, d_N=50.0, d_T=50.0)
GROUNDS = {
    "hard": ("moreau", "midpoint"),
    "compliant": (SOFT, Substeps(Midpoint(), 2)),
}  # Gehring 2014's parameters
COMMANDS = {  # speed, sideways, turn, gait
    "stand": (0.3, 0.0, 0.0, 0.0),
    "on the spot": (0.0, 0.0, 0.0, 1.0),
    "forward": (0.3, 0.0, 0.0, 1.0),
    "backward": (-0.3, 0.0, 0.0, 1.0),
    "sideways": (0.0, 0.2, 0.0, 1.0),
    "turning": (0.0, 0.0, 0.5, 1.0),
}


def distribution(iterations: int) -> ca.Function:
    arms, loads, wrench, error = (
        ca.SX.sym("x", *size) for size in ((3, 4), (4, 1), (6, 1), (6, 1))
    )
    feet = Feet(ca.horzsplit(arms), ca.vertsplit(loads))
    forces, after = distribute(feet, wrench, COST, error, iterations)
    return ca.Function(
        "distribution", [arms, loads, wrench, error], [ca.vertcat(*forces), after], {"cse": True}
    )


def objective(forces: np.ndarray, arms: np.ndarray, loads: np.ndarray, wrench: np.ndarray) -> float:
    f = forces.reshape(-1, 3)
    short = np.concatenate([f.sum(0), np.cross(arms, f).sum(0)]) - wrench
    weights = np.repeat([COST.force, COST.moment], 3)
    return float(short @ (weights * short) + COST.alpha * np.sum(f**2 / loads[:, None] ** 2))


def best(arms: np.ndarray, loads: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Solution of SciPy's SLSQP for the forces of the loaded legs alone."""
    on = loads > 0
    cone = {
        "type": "ineq",
        "fun": lambda x: COST.mu * x[2::3] - np.sqrt(x[::3] ** 2 + x[1::3] ** 2 + 1e-12),
    }
    start = np.tile([0.0, 0.0, 50.0], on.sum())
    options = {"ftol": 1e-14, "maxiter": 500}
    given = (arms[on], loads[on], wrench)
    found = minimize(objective, start, given, method="SLSQP", constraints=cone, options=options)
    forces = np.zeros((4, 3))
    forces[on] = found.x.reshape(-1, 3)
    return forces


def problems(spread: float) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng, found = np.random.default_rng(0), []
    for loads in STANCES * 5:
        wrench = np.array([0, 0, 224.0, 0, 0, 0]) + spread * rng.normal(size=6) * [
            60,
            60,
            60,
            15,
            15,
            10,
        ]
        found.append((FEET + 0.05 * rng.normal(size=(4, 3)), np.array(loads, float), wrench))
    return found


def test_force_distribution_equals_a_general_solver():
    solve = distribution(20)
    for arms, loads, wrench in problems(1.0):
        forces = np.array(solve(arms.T, loads, wrench, np.zeros(6))[0]).reshape(4, 3)
        tangential = np.hypot(forces[:, 0], forces[:, 1])
        assert np.all(tangential <= COST.mu * forces[:, 2] + 1e-5) and not forces[loads == 0].any()
        reference = best(arms, loads, wrench)
        on = loads > 0
        ours, theirs = (objective(f[on], arms[on], loads[on], wrench) for f in (forces, reference))
        assert ours <= theirs * (1 + 1e-6) + 1e-6
        assert forces == pytest.approx(reference, abs=0.05)


def test_two_iterations_a_step_follow_a_changing_wrench():
    """Over twenty control steps a push grows until cones are active; with a warm start two
    iterations suffice.
    """
    two, many = distribution(2), distribution(20)
    for arms, loads, wrench in problems(1.0):
        upright, error, exact = np.array([0, 0, 224.0, 0, 0, 0]), np.zeros(6), np.zeros(0)
        forces = exact
        for part in np.linspace(0, 1, 20).tolist() + [1.0] * 2:
            now = upright + part * (wrench - upright)
            forces, error = two(arms.T, loads, now, error)
            exact = many(arms.T, loads, now, np.zeros(6))[0]
        assert np.array(forces) == pytest.approx(np.array(exact), abs=0.5)


def tried(robot: str, ground: str, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates (times, worlds, nq) every 0.1 s, headings and cosines of the tilt; one
    command per world.
    """
    law, stepper = GROUNDS[ground]
    simulation = Simulation(robot, law, stepper, controller="virtual_model", worlds=len(COMMANDS))
    columns = np.array(list(COMMANDS.values())).T
    simulation.set(command=dict(zip(("speed", "sideways", "turn", "gait"), columns, strict=True)))
    seen = [simulation.q]
    for _ in range(round(seconds / 0.1)):
        simulation.advance(0.1)
        seen.append(simulation.q)
    q = np.array(seen)
    w, x, y, z = np.moveaxis(q[..., 3:7], -1, 0)
    heading = np.unwrap(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)), axis=0)
    return q, heading, 1 - 2 * (x * x + y * y)


@pytest.mark.parametrize(
    ("robot", "ground"),
    [
        ("starleth", "compliant"),
        ("mini_cheetah", "hard"),
        pytest.param("starleth", "hard", marks=pytest.mark.slow),
        pytest.param("mini_cheetah", "compliant", marks=pytest.mark.slow),
    ],
)
def test_stands_trots_and_turns(robot, ground):
    q, heading, upright = tried(robot, ground, 7.0)
    rate = dict(
        zip(COMMANDS, np.c_[(q[-1] - q[20])[:, :2], heading[-1] - heading[20]] / 5.0, strict=True)
    )
    assert upright.min() > np.cos(np.radians(6))
    assert np.abs(q[:, :, 2] / q[0, :, 2] - 1).max() < 0.05
    assert q[:, 0, :2] == pytest.approx(
        np.zeros((71, 2)), abs=1e-3
    )  # told to stand, at whatever speed
    assert np.abs(q[-1, 1, :2]).max() < 0.15
    assert rate["forward"] == pytest.approx([0.3, 0, 0], abs=0.06)
    assert rate["backward"] == pytest.approx([-0.3, 0, 0], abs=0.06)
    assert rate["sideways"] == pytest.approx([0, 0.2, 0], abs=0.04)
    assert rate["turning"] == pytest.approx([0, 0, 0.5], abs=0.05)


@pytest.mark.parametrize("gait", [0.0, 1.0])
def test_starleth_withstands_pushes(gait):
    """16 N s on 22.9 kg in 0.2 s, from four sides, at four phases of the cycle. At 18 N s,
    which it withstands without joint limits, a joint reaches its limit.
    """
    angles, impulse, time = np.radians([0, 90, 180, 270]), 16.0, 0.2
    simulation = Simulation("starleth", controller="virtual_model", pushes="base", worlds=4)
    force = impulse / time * np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
    for delay in (2.0, 2.2, 2.4, 2.6) if gait else (2.0,):
        simulation.reset()
        simulation.set(command={"speed": 0.0, "gait": gait}, push={"base": np.zeros(3)})
        simulation.advance(delay)
        simulation.set(push={"base": force})
        simulation.advance(time)
        simulation.set(push={"base": np.zeros(3)})
        simulation.advance(3.0)
        q, speed = simulation.q, np.linalg.norm(simulation.u[:, :2], axis=1)
        assert (1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)).min() > np.cos(np.radians(5))
        assert q[:, 2].min() > 0.38 and speed.max() < 0.3


def test_stops_with_all_feet_down_and_starts_again():
    simulation = Simulation("starleth", controller="virtual_model")
    simulation.advance(2.13)
    simulation.set(command={"gait": 0.0})
    simulation.advance(4.0)
    place = simulation.q
    names, normal = simulation.plan.scene.geometry.contact_names, simulation.contact_force[:, 0]
    on_feet = np.array(["foot" in name for name in names])
    assert np.all(normal[on_feet] > 30) and not normal[~on_feet].any()
    simulation.advance(1.0)
    assert simulation.q == pytest.approx(place, abs=1e-3)
    simulation.set(command={"gait": 1.0})
    simulation.advance(3.0)
    assert simulation.q[0] > place[0] + 0.6


def test_needs_a_floating_base_and_four_legs():
    robot = mini_cheetah.describe()
    three = Mechanism(
        "three",
        robot.bodies[:10],
        robot.candidates[:3],
        keyframes={"stand": robot.keyframes["stand"][:16]},
    )
    with pytest.raises(TarsusError, match="four legs"):
        VirtualModel().initial_memory(three)
