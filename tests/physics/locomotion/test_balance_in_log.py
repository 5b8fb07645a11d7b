"""Zero moment point, capture point and support margin, from numbers and in the log of a trot."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.simulation.recording.balance import balance, support_margin

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("target", "distance"),
    [((0.5, 0.5), 0.5), ((0.2, 0.7), 0.2), ((1.0, 0.3), 0.0), ((1.4, 0.5), -0.4), ((2, -3), -3)],
)
def test_margin_of_a_square_with_a_point_inside(target, distance):
    order = np.random.default_rng(1).permutation(5)
    found = support_margin(SQUARE[None, order], np.ones((1, 5), bool), np.array([target], float))
    assert found == pytest.approx([distance])


def test_margin_where_few_points_carry():
    points, target = np.repeat(SQUARE[None], 4, 0), np.tile([0.5, 0.2], (4, 1))
    carries = np.zeros((4, 5), bool)
    carries[1, 0], carries[2, :2], carries[3, :3] = True, True, True
    found = support_margin(points, carries, target)
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx([-np.hypot(0.5, 0.2), -0.2, 0.2])


def test_of_a_pendulum_in_numbers():
    point = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], float)
    force = np.array([[[1, 5, 2], [0, 0, 1], [0, -5, 1]]], float)
    center, velocity = np.array([[0.3, 0.3, 2.0]]), np.array([[0.5, -0.5, 9.0]])
    found = balance(center, velocity, point, force, np.zeros((1, 3)), gravity=8.0)
    assert found["zero_moment_point"] == pytest.approx(np.array([[0.25, 0.25, 0]]))
    assert found["capture_point"] == pytest.approx(np.array([[0.55, 0.05]]))
    assert found["support_margin"] == pytest.approx([0.25])
    flight = balance(center, velocity, point, 0 * force, np.ones((1, 3)), gravity=8.0)
    assert all(np.isnan(value).all() for value in flight.values())


def test_in_the_log_of_a_trot():
    simulation = Simulation("mini_cheetah", controller="trot")
    log, mass = simulation.run(0.6), simulation.robot.mass
    dt = simulation.dt
    force, point = log.force_world.values, log.contact_point.values
    zmp, velocity = log.zero_moment_point.values, log.center_of_mass_velocity.values
    loaded = force[..., 2].sum(1) > 1.0
    # the contact forces have no horizontal moment about it
    arm = point - zmp[:, None]
    assert np.abs(np.cross(arm, force).sum(1)[loaded, :2]).max() < 1e-3 * mass * 9.81
    # they move the center of mass, which moves as its velocity says
    gained = force.sum(1)[1:] * dt - mass * np.array([0, 0, 9.81]) * dt
    assert mass * np.diff(velocity, axis=0) == pytest.approx(gained, abs=2e-3)
    way = np.diff(log.center_of_mass.values, axis=0)
    assert way == pytest.approx(0.5 * dt * (velocity[1:] + velocity[:-1]), abs=1e-5)
    # a force cannot act outside the feet that push
    margin_of = log.support_margin.values[loaded]
    assert margin_of.min() > -1e-9 and margin_of.max() < 0.2
    assert log.capture_point.attrs["units"] == "m"
