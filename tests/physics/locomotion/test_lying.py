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
TILTS = (("x", 90), ("x", -90), ("y", 90), ("y", -90), ("x", 150))  # degrees
DROP, SLOP = 0.02, 1e-3  # m
G = 9.81  # m/s^2
FALL, LONGEST = 4.0, 10.0  # s; HyQ tips over late from its end on soft ground
RECOVERING = ("moreau",)  # laws that lift what has sunk back to SLOP


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
    """Servos hold the stance while it drops onto its sides, front, back and top.

    No shape is deeper than a ball as heavy as the robot. Most rigid laws also keep the depth that
    the shape reached within the step in which it landed.
    """
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
    weight, height = robot.mass * G, robot.keyframes["stand"][2]
    resting = 1e-3 * weight * height  # J: at rest, or rocking slowly on soft ground
    kinetic = np.inf
    while simulation.time < FALL or (kinetic > resting and simulation.time < LONGEST):
        simulation.advance(0.05)
        most = np.maximum(most, energy(simulation) - start)
        kinetic = robot.kinetic_energy(simulation.q, simulation.u).max()
    depth = -lowest(simulation)
    # joints that are no contact points, as some of HOAP-1's are
    points = [robot.position(simulation.q, c.name) for c in robot.candidates if c.radius == 0]
    joints = [robot.position(simulation.q, body) for body in robot.body_names]
    joints = [p for p in joints if all(np.abs(p - point).max() > 1e-9 for point in points)]
    landing = 0.0 if law in RECOVERING else np.sqrt(2 * G * height) * simulation.dt
    allowed = depth_under(law, robot.mass) + landing + SLOP
    print(
        f"{name}, {law}: depth {depth.max():.5f} of {allowed:.5f} m, energy gained"
        f" {most.max():.1e} J, kinetic at the end {kinetic:.1e} J"
    )
    assert depth.max() < allowed
    assert np.min(joints, axis=0)[:, 2].min() > 0  # above the ground
    assert kinetic < resting
    assert most.max() < 0.01 * weight  # the energy of a centimeter of height
