"""Capsules and boxes that replace cylinders and ellipsoids have the reported error."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Ball, Box, Cylinder, Simulation, world
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.stand_ins import STAND_INS, StandIn
from tarsus.morphology.self_contacts import self_contacts
from tarsus.simulation.setup_warnings import approximation_warnings


def reach(kind: str, size: tuple[float, ...], n: np.ndarray) -> np.ndarray:
    """Support function of a shape, m: how far it reaches along unit directions n (k, 3)."""
    if kind == "ellipsoid":
        return np.linalg.norm(n * size, axis=1)
    radius, half = size
    return radius * np.hypot(n[:, 0], n[:, 1]) + half * np.abs(n[:, 2])


def reach_of(found: StandIn, n: np.ndarray) -> np.ndarray:
    """The same of what stands in: of a capsule its segment has one half length that is not 0."""
    return np.abs(n) @ np.array(found.half) + found.radius


def directions() -> np.ndarray:
    random = np.random.default_rng(4)
    n = np.vstack([random.normal(size=(40000, 3)), np.eye(3), np.array([[1.0, 1.0, 0.0]])])
    return n / np.linalg.norm(n, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("cylinder", (0.05, 0.2)),
        ("cylinder", (0.1, 0.02)),
        ("ellipsoid", (0.3, 0.1, 0.1)),
        ("ellipsoid", (0.05, 0.1, 0.2)),
        ("ellipsoid", (0.1, 0.1, 0.03)),
        ("ellipsoid", (0.1, 0.1, 0.1)),
    ],
)
def test_the_surface_error_matches_the_report(kind: str, size: tuple[float, ...]) -> None:
    found, n = STAND_INS[kind](*size), directions()
    # support functions: the distance of convex shapes in the sense of Hausdorff
    off = np.abs(reach_of(found, n) - reach(kind, size, n)).max()
    assert off == pytest.approx(found.max_deviation, rel=0.01, abs=1e-12)


@pytest.mark.parametrize("size", [(0.3, 0.1, 0.1), (0.3, 0.2, 0.1)])
def test_the_capsule_is_the_closest_fit_to_an_ellipsoid(size: tuple[float, ...]) -> None:
    found, n = STAND_INS["ellipsoid"](*size), directions()
    for radius in found.radius * np.linspace(0.9, 1.1, 9):
        for half in found.half[0] * np.linspace(0.9, 1.1, 9):
            other = StandIn((half, 0.0, 0.0), radius)
            off = np.abs(reach_of(other, n) - reach("ellipsoid", size, n)).max()
            assert off > 0.99 * found.max_deviation


def test_an_ellipsoid_touches_at_its_surface() -> None:
    text = """<mujoco><option gravity='0 0 0'/><worldbody>
    <body name='a'><joint name='a' type='slide' axis='1 0 0'/>
      <geom name='a' type='sphere' size='0.1' mass='1'/></body>
    <body name='b' pos='1 0 0'><joint name='b' type='slide' axis='1 0 0'/>
      <geom name='b' type='ellipsoid' size='0.1 0.3 0.1' euler='0 0 90' mass='2'/></body>
    </worldbody></mujoco>"""
    simulation = Simulation(Robot.of(read_mjcf(text)), self_collision=True)
    [off] = [s.max_deviation for s in simulation.robot.solids if s.max_deviation]
    simulation.set(u=[1.0, 0.0])
    log = simulation.run(1.0)
    pressed = log.impulse_contact.sel(contact="a:b").values[:, 0]
    first = int(np.argmax(pressed > 0))
    assert float(log.time[first]) == pytest.approx(1.0 - 0.1 - 0.3, abs=off + 2 * 0.0025)
    # a plastic impact, but for what brings up the depth of a landing
    np.testing.assert_allclose(log.u.values @ [1.0, 2.0], 1.0, atol=1e-12)
    np.testing.assert_allclose(log.u.values[-1], 1 / 3, atol=5e-3)


def test_the_warning_names_the_approximated_shape() -> None:
    objects = world(Ball(), Cylinder(radius=0.1, length=0.3), Box(), at=[(0.5, 0.0), (1.0, 0.0)])
    [notice] = approximation_warnings(self_contacts(objects, False).possible)
    assert (notice.code, notice.subject) == ("shapes-approximated", "cylinder")
    assert "41.4 mm" in notice
