"""Fallen built-in robots lie on their bodies, under every contact law."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import tarsus
from tarsus import registry
from tarsus.simulation.recording.step_observables import Array

ROBOTS = tuple(registry.names("tarsus.robots"))
LAWS = tuple(registry.names("tarsus.contact.laws"))
QUICK = (("mini_cheetah", "moreau"), ("mini_cheetah", "compliant"), ("biped", "moreau"))
TILTS = (("x", 90), ("x", -90), ("y", 90), ("y", -90), ("x", 180))  # degrees
DROP, SLOP = 0.02, 1e-3  # m
FALL, LAST = 4.0, 0.5  # s


@cache
def depth_under(law: str, mass: float) -> float:
    """Depth of a ball of this mass at rest, m: the law's deflection if one contact carries all."""
    ball = tarsus.Simulation(tarsus.world(tarsus.Ball(radius=0.1, mass=mass)), law)
    ball.advance(FALL)
    return 0.1 - float(ball.q[2])


def lowest(simulation: tarsus.Simulation) -> Array:
    """Height of the lowest point of all shapes in every world, m."""
    robot, q = simulation.robot, simulation.q
    return np.min([robot.position(q, c.name)[:, 2] - c.radius for c in robot.candidates], axis=0)


def energy(simulation: tarsus.Simulation) -> Array:
    robot = simulation.robot
    return robot.kinetic_energy(simulation.q, simulation.u) + robot.potential_energy(simulation.q)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow)
        for pair in product(ROBOTS, LAWS)
    ],
)
def test_a_fallen_robot_lies_on_its_body(name: str, law: str) -> None:
    """Servos hold the stance while it drops onto its sides, front, back and top."""
    simulation = tarsus.Simulation(name, law, controller="stand", worlds=len(TILTS))
    robot = simulation.robot
    q = np.array(simulation.q)
    tilts = Rotation.concatenate([Rotation.from_euler(*tilt, degrees=True) for tilt in TILTS])
    q[:, 3:7] = tilts.as_quat(scalar_first=True)
    simulation.set(q=q)
    q[:, 2] += DROP - lowest(simulation)
    simulation.set(q=q)
    start = energy(simulation)
    most = np.zeros(len(TILTS))
    for _ in range(round((FALL - LAST) / 0.05)):
        simulation.advance(0.05)
        most = np.maximum(most, energy(simulation) - start)
    rested = np.array(simulation.q)
    simulation.advance(LAST)
    depth = -lowest(simulation)
    frames = np.min([robot.position(simulation.q, b)[:, 2] for b in robot.body_names], axis=0)
    print(
        f"{name} {law}: allowed {depth_under(law, robot.mass):.5f} depth {depth.round(5)} frames"
        f" {frames.round(4)} moved {np.abs(simulation.q - rested).max():.2g}"
        f" u {np.abs(simulation.u).max(1).round(4)} gain {most.max():.3g}"
    )
    assert depth.max() < depth_under(law, robot.mass) + SLOP
    assert frames.min() > 0
    assert np.abs(simulation.q - rested)[:, :7].max() < 1e-3
    assert most.max() < 0.01 * robot.mass * 9.81
