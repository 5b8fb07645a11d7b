"""Rays: distances to planes and steps in closed form, and to waves by points on them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused
from numpy.typing import NDArray

import tarsus
from tarsus.errors import InvalidValue
from tarsus.model.poses import rotation_from_quaternion
from tarsus.sensing.ray import RaySensor
from tarsus.terrain.base import Terrain
from tarsus.terrain.sine import Sine
from tarsus.terrain.slope import Slope
from tarsus.terrain.steps import Steps
from tarsus.validation.bodies import sphere

Array = NDArray[np.float64]
REACH = 4.0  # m
WAYS = np.random.default_rng(2).normal(size=(12, 3))
TURN = np.array([0.8, 0.1, -0.5, 0.3]) / np.linalg.norm([0.8, 0.1, -0.5, 0.3])
ORIGIN = np.array([0.3, -0.2, 1.0])
LEVEL = (1.0, 0.0, 0.0, 0.0)


def told(ground: Terrain, ways: Array = WAYS, turn: object = TURN, **options: object) -> Array:
    """Readings of rays along `ways` from a ball at ORIGIN, m."""
    directions = tuple(map(tuple, np.asarray(ways, float).tolist()))
    rays = RaySensor(directions=directions, **({"reach": REACH} | options))  # type: ignore[arg-type]
    simulation = tarsus.Simulation(sphere(), terrain=ground, sensors={"rays": rays})
    simulation.set(q=[*ORIGIN, *turn])  # type: ignore[misc]
    return simulation.sense()["rays"]


def seen(ways: Array = WAYS) -> Array:
    """Unit vectors of the same directions in the world."""
    world = ways @ rotation_from_quaternion(TURN).T
    return world / np.linalg.norm(world, axis=1, keepdims=True)


def test_distances_to_a_plane_match_the_closed_form() -> None:
    normal = np.array([-np.sin(0.3), 0.0, np.cos(0.3)])
    way = -(ORIGIN @ normal) / (seen() @ normal)
    expected = np.where((way > 0) & (way < REACH), way, REACH)
    assert 3 < (expected < REACH).sum() < 12
    assert told(Slope(angle=0.3)) == pytest.approx(expected, abs=1e-9)


def test_a_ray_ends_where_it_first_meets_a_wave() -> None:
    waves, found = Sine(amplitude=0.2, wavelength=1.0), told(Sine(amplitude=0.2, wavelength=1.0))
    number = 2 * np.pi / float(np.asarray(waves.wavelength))

    def above(s: Array) -> Array:
        x, y, z = np.moveaxis(ORIGIN + s[..., None] * seen(), -1, 0)
        return z - 0.2 * np.sin(number * x) * np.sin(number * y)

    hit = found < REACH
    assert hit.sum() > 3 and np.abs(above(found)[hit]).max() < 1e-8
    before = np.linspace(0, 0.999, 500)[:, None] * found
    assert (above(before) > 0).all()


def test_a_level_ray_ends_on_the_riser_and_a_downward_one_on_the_tread() -> None:
    stairs = Steps(rise=0.6, run=0.5, start=0.8, count=3)  # the second riser, at 1.3 m, is as high
    ways = np.array([[1.0, 0, 0], [0, 0, -1.0], [-1.0, 0, 0]])
    assert told(stairs, ways, LEVEL) == pytest.approx([1.0, 1.0, REACH], abs=1e-9)
    assert told(Slope(angle=0.0), -ways, LEVEL, reach=0.5) == pytest.approx([0.5] * 3)


def test_rays_below_the_ground_have_distance_zero() -> None:
    high = Steps(rise=2.0, run=1.0, start=-1.0, count=1)
    assert told(high) == pytest.approx(np.zeros(12))


def test_rays_are_compiled_into_the_step_with_their_delay_and_bias() -> None:
    """The distance below a falling ball is its height, with delay and bias."""
    rays = RaySensor(delay=np.array([0, 3]), bias=np.array([0.0, 0.5]))
    made = tarsus.Simulation(sphere(), worlds=2, dt=0.01, sensors={"ray": rays})
    made.set(q=np.tile([0, 0, 2.0, *LEVEL], (2, 1)))
    log = made.run(0.2)
    height = log.q.values[:, 0, 2]
    found = log["sensed_ray"].values[..., 0]
    assert found[:, 0] == pytest.approx(height, abs=1e-8)
    assert found[3:, 1] == pytest.approx(height[:-3] + 0.5, abs=1e-8)


@pytest.mark.parametrize("ways", [np.zeros((1, 3)), np.ones((1, 2)), np.zeros((0, 3))])
def test_directions_are_rows_of_three(ways: Array) -> None:
    with refused(InvalidValue, "directions"):
        told(Slope(), ways)
