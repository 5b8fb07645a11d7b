"""The contact normal of a round shape is that of the ground at the contact point."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from helpers.free_body import free_body

from tarsus import HeightField, Simulation, registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.simulation.simulation import Simulation as AnySimulation
from tarsus.terrain.base import Terrain
from tarsus.terrain.surface import Surface

LAWS, G, R = "tarsus.contact.laws", 9.81, 1.0
AMPLITUDE = 0.1  # rad, of the swing in a bowl


def sphere(radius: float, side: int, along_y: int = 1) -> Surface:
    """Return a bowl (side 1) or a hill (-1); a trough or ridge if `along_y` is 0."""

    def height(x: ca.SX, y: ca.SX) -> ca.SX:
        below = radius**2 - x**2 - along_y * y**2
        return side * (radius - ca.sqrt(ca.fmax(below, 1e-4)))

    return Surface(height)


def field_of_bowl() -> HeightField:
    grid = np.linspace(-0.3, 0.3, 61)
    return HeightField(R - np.sqrt(R**2 - grid**2 - grid[:, None] ** 2), cell=0.01)


def swinging(simulation: AnySimulation, r: float, seconds: float = 4.5) -> tuple[float, float]:
    """Return the period of a body that rolls in a bowl from rest, and its gain of energy.

    The gain is relative to the energy of the swing.
    """
    q = np.array(simulation.q).ravel()
    q[:3] = (R - r) * np.sin(AMPLITUDE), 0, R - (R - r) * np.cos(AMPLITUDE)
    simulation.set(q=q)
    log = simulation.run(seconds)
    x, time = log.q.values[:, 0], log.time.values
    (k,) = np.nonzero((x[:-1] < 0) & (x[1:] >= 0))
    crossings = time[k] - x[k] * (time[k + 1] - time[k]) / (x[k + 1] - x[k])
    energy = (log.kinetic_energy + log.potential_energy).values
    swing = simulation.robot.mass * G * (R - r) * (1 - np.cos(AMPLITUDE))
    return float(np.diff(crossings).mean()), float((energy.max() - energy[0]) / swing)


def period(r: float, inertia: float) -> float:
    """Period of a body with inertia m r^2 `inertia` about its axis, at this amplitude."""
    return 2 * np.pi * np.sqrt((1 + inertia) * (R - r) / G) * (1 + AMPLITUDE**2 / 16)


@pytest.mark.parametrize("r", [0.002, 0.05, 0.2])
@pytest.mark.parametrize(
    "terrain", [pytest.param(sphere(R, 1), id="surface"), pytest.param(field_of_bowl(), id="field")]
)
def test_a_ball_swings_in_a_bowl(r: float, terrain: Terrain) -> None:
    simulation = Simulation(
        free_body(f"type='sphere' size='{r}'", r), Moreau(mu=2.0), terrain=terrain
    )
    measured, gain = swinging(simulation, r)
    assert measured == pytest.approx(period(r, 2 / 5), rel=1e-3)
    assert gain < 1e-6


@pytest.mark.parametrize(
    "name",
    [
        name if name == "compliant" else pytest.param(name, marks=pytest.mark.slow)
        for name in registry.names(LAWS)
    ],
)
def test_a_swinging_ball_gains_no_energy_under_any_law(name: str) -> None:
    gives_way = issubclass(registry.member_class(LAWS, "law", name, Law), ForceLaw)
    robot, dt = free_body("type='sphere' size='.1'", 0.1), 2e-4 if gives_way else 2.5e-3
    simulation = Simulation(robot, name, terrain=sphere(R, 1), dt=dt)
    simulation.set(mu=1.5)
    measured, gain = swinging(simulation, 0.1)
    assert measured == pytest.approx(period(0.1, 2 / 5), rel=1e-3)
    assert gain < 1e-6


def test_a_capsule_swings_across_a_trough() -> None:
    """Its lateral surface touches as its ends do."""
    r, robot = 0.1, free_body("type='capsule' size='.1 .15' euler='90 0 0'", 0.1)
    simulation = Simulation(robot, Moreau(mu=2.0), terrain=sphere(R, 1, along_y=0))
    inertia = np.sort(np.linalg.eigvalsh(robot.bodies[0].inertia.about_com))[0]
    measured, gain = swinging(simulation, r)
    assert measured == pytest.approx(period(r, inertia / (robot.mass * r**2)), rel=1e-3)
    assert gain < 1e-6


def test_a_ball_rolls_off_a_hill() -> None:
    """Near the top x = x0 cosh(t sqrt(5 g / (7 (R + r))))."""
    r, x0 = 0.1, 1e-3
    simulation = Simulation(
        free_body("type='sphere' size='.1'", r), Moreau(mu=2.0), terrain=sphere(R, -1), dt=1e-3
    )
    q = np.array(simulation.q).ravel()
    q[:3] = x0, 0, np.sqrt((R + r) ** 2 - x0**2) - R
    simulation.set(q=q)
    log = simulation.run(1.5)
    rate = np.sqrt(5 * G / (7 * (R + r)))
    expected = x0 * np.cosh(rate * log.time.values[-1])
    assert log.q.values[-1, 0] == pytest.approx(expected, rel=5e-3)


def test_normal_and_distance_are_those_of_the_closest_point() -> None:
    """Compared with a ball that touches an egg box at a point found by Newton's method."""
    r, high, k = 0.05, 0.03, 2 * np.pi
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    h = high * ca.sin(k * x) * ca.sin(k * y)
    slopes = ca.Function("slopes", [x, y], [h, ca.jacobian(h, x), ca.jacobian(h, y)])
    simulation = Simulation(
        free_body("type='sphere' size='.05'", 1.0),
        Moreau(),
        terrain=Surface(lambda x, y: high * ca.sin(k * x) * ca.sin(k * y)),
    )
    rng = np.random.default_rng(2)
    for x0, y0 in rng.uniform(0, 1, (5, 2)):
        z0, a, b = (float(value) for value in slopes(x0, y0))
        normal = np.array([-a, -b, 1]) / np.sqrt(1 + a * a + b * b)
        q = np.array(simulation.q).ravel()
        q[:3] = np.array([x0, y0, z0]) + (r - 1e-4) * normal
        simulation.set(q=q, u=np.zeros(6))
        log = simulation.run(simulation.dt)
        assert log.contact_normal.values[0, 0] @ normal > 1 - 1e-5
        assert log.gap.values[0, 0] == pytest.approx(-1e-4, abs=2e-5)
