"""HOAP-1 squats and sways, and jumps: its center of mass, the ground's forces, momentum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.robots import hoap1

Array = NDArray[np.float64]
G, DT = 9.81, 0.0025


@dataclass(frozen=True)
class Moved:
    """Motion in every step.

    Center of mass and its velocity (steps, 3), angular momentum about it (steps, 3), force on each
    foot (steps, 2), cosine of the tilt, and whether the solver converged.
    """

    center: Array
    velocity: Array
    spin: Array
    feet: Array
    upright: Array
    converged: Array


def moved(gait: str, seconds: float) -> Moved:
    simulation = Simulation("hoap1", controller=gait, dt=DT)
    robot, q, u, feet, converged = simulation.robot, [], [], [], []
    for _ in range(round(seconds / DT)):
        simulation.step()
        q.append(simulation.q)
        u.append(simulation.u)
        normal = simulation.contact_force[:, 0]
        feet.append((normal[:4].sum(), normal[4:8].sum()))
        converged.append(simulation.converged)
    coordinates, velocities = np.array(q), np.array(u)
    center, momentum = robot.center_of_mass(coordinates), robot.momentum(coordinates, velocities)
    linear, angular = momentum[:, :3], momentum[:, 3:]
    return Moved(
        center,
        linear / robot.mass,
        angular - np.cross(center, linear),
        np.array(feet),
        1 - 2 * (coordinates[:, 4] ** 2 + coordinates[:, 5] ** 2),
        np.array(converged),
    )


@pytest.mark.slow
def test_hoap1_squats_and_sways():
    done = moved("squat", 5.0)
    weight = hoap1.MASS * G
    height, aside, load = done.center[800:, 2], done.center[800:, 1], done.feet[800:]
    assert done.upright.min() > np.cos(np.radians(3)) and done.converged.all()
    assert np.ptp(height) == pytest.approx(0.15 * done.center[0, 2], rel=0.05)
    assert np.ptp(aside) == pytest.approx(0.6 * 0.078, rel=0.1)
    assert load.sum(1).mean() == pytest.approx(weight, rel=0.02)
    assert np.ptp(load[:, 0]) > 0.4 * weight and load.min() > 0.1 * weight


@pytest.mark.slow
def test_hoap1_jumps_and_lands():
    done = moved("jump", 3.0)
    air = np.flatnonzero(done.feet.sum(1) == 0)
    first, last = air[0], air[-1]
    flight = slice(first + 1, last)
    assert np.ptp(air) == len(air) - 1 and len(air) * DT >= 0.1, "one flight"
    # a parabola, and no angular momentum gained or lost
    speed = done.velocity[first, 2]
    apex = done.center[flight, 2].max() - done.center[first, 2]
    assert apex == pytest.approx(speed**2 / (2 * G), rel=0.02)
    fall = np.diff(done.velocity[flight], axis=0) / DT
    assert fall.mean(0) == pytest.approx([0, 0, -G], abs=0.05)
    assert np.ptp(done.spin[flight], axis=0).max() < 2e-3
    # it lands upright and stands
    assert done.upright.min() > np.cos(np.radians(15))
    assert done.upright[-1] > np.cos(np.radians(0.5)) and done.converged.all()
    assert np.abs(done.velocity[-1]).max() < 1e-3
    assert done.feet[-1] == pytest.approx([hoap1.MASS * G / 2] * 2, rel=0.05)
    assert done.center[-1, 2] == pytest.approx(done.center[0, 2], rel=0.01)
