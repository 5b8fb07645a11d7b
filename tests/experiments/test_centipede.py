"""Centipedes with increasing numbers of legs and contact points, for the scaling experiment."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.cut import change_coordinates
from tarsus_papers.gehring2014.centipede import centipede


@pytest.mark.parametrize(("legs", "points"), [(2, 1), (8, 2), (16, 4)])
def test_the_number_of_legs_sets_the_size(legs: int, points: int) -> None:
    mechanism = centipede(legs, points)
    sizes = {
        "minimal": (6 + 3 * legs, 0),
        "extended": (6 + 8 * legs, 5 * legs),
        "maximal": (6 + 18 * legs, 15 * legs),
    }
    for which, expected in sizes.items():
        cut = change_coordinates(mechanism, which)
        assert (cut.nu, loop_constraints.count_constraints(cut)) == expected
    assert len(mechanism.candidates) == legs * points


def test_the_centipede_stands_and_its_feet_carry_its_weight() -> None:
    robot = Robot.of(centipede(4, 2))
    simulation = Simulation(robot, Moreau(solver="sor"), controller=Stand(kp=300.0, kd=5.0))
    simulation.advance(2.0)
    weight = -robot.mass * robot.gravity_acceleration[2]
    assert simulation.contact_force[:, 0].sum() == pytest.approx(weight, rel=1e-3)
    assert np.abs(simulation.u).max() < 1e-2


@pytest.mark.parametrize(
    ("legs", "points", "subject"), [(3, 1, "legs"), (0, 1, "legs"), (4, 3, "points")]
)
def test_unsuitable_robots_are_rejected(legs: int, points: int, subject: str) -> None:
    with refused(InvalidValue, subject):
        centipede(legs, points)
