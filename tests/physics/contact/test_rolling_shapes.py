"""Cylinders and ellipsoids roll: their contact points travel over the surface."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.free_body import free_body

from tarsus import Simulation
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics import support_points
from tarsus.model.outline import ellipsoid, rim
from tarsus.terrain.surface import Surface

R, HALF = 0.1, 0.05
LYING = f"type='cylinder' size='{R} {HALF}' euler='90 0 0'"


def numbers(outline: object) -> tuple[ca.Function, ca.Function]:
    """Functions for the farthest point along a direction, and for its velocity."""
    toward, spin = SX.sym("toward", 3), SX.sym("spin", 3)
    own = support_points.parameters(outline)  # type: ignore[arg-type]
    place, travel = (
        support_points.support_point(own, toward),
        support_points.support_point_velocity(own, toward, spin),
    )
    return ca.Function("place", [toward], [place]), ca.Function("travel", [toward, spin], [travel])


def test_support_points_are_the_farthest_points() -> None:
    random = np.random.default_rng(1)
    around = random.normal(size=(20000, 3))
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    egg, wheel = ellipsoid((0.3, 0.2, 0.1)), rim(0.2, 0)
    for toward in around[:20]:
        for outline in (egg, wheel):
            best = np.linalg.norm(outline.spread @ toward)
            found = np.array(numbers(outline)[0](toward)).ravel()
            assert found @ toward == pytest.approx(best, abs=2e-6)
    # it lies on the surface
    found = np.array(numbers(egg)[0](around[0])).ravel()
    assert np.linalg.norm(found / [0.3, 0.2, 0.1]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("outline", [ellipsoid((0.3, 0.2, 0.1)), rim(0.2, 0), rim(0.2, 2)])
def test_contact_travel_is_the_derivative_of_the_contact_point(outline: object) -> None:
    place, travel = numbers(outline)
    random, h = np.random.default_rng(2), 1e-6
    for _ in range(20):
        toward, spin = random.normal(size=(2, 3))
        toward /= np.linalg.norm(toward)
        ahead = [np.array(place(toward + k * h * np.cross(toward, spin))).ravel() for k in (1, -1)]
        expected = (ahead[0] - ahead[1]) / (2 * h)
        assert np.allclose(np.array(travel(toward, spin)).ravel(), expected, atol=1e-6)


@pytest.mark.parametrize("law", [Moreau(), Compliant()])
def test_a_wheel_rolls_a_meter_without_loss(law: Moreau | Compliant) -> None:
    wheel = free_body(LYING)
    simulation = Simulation(wheel, law, dt=2.5e-3 if isinstance(law, Moreau) else 5e-4)
    q = simulation.q
    q[..., 2] = R - 1e-10 if isinstance(law, Moreau) else R - wheel.mass * 9.81 / 2 / law.c_N
    simulation.set(q=q, u=[1.0, 0, 0, 0, 1.0 / R, 0])
    log = simulation.run(1.0)
    assert log.q.values[-1, 0] == pytest.approx(1.0, abs=1e-8)
    assert log.u.values[-1, 0] == pytest.approx(1.0, abs=1e-7)
    assert (log.converged == 1).all()
    assert sorted(log.force_contact.values[-1, :, 0].round(6))[:4] == [0.0] * 4, "two points touch"


def test_the_contact_of_an_ellipsoid_travels() -> None:
    """It rolls and rocks without slip, conserves energy and stays in contact."""
    simulation = Simulation(free_body("type='ellipsoid' size='.15 .08 .1'"), Moreau(mu=5.0))
    spin = np.array([1.5, 4.0, 0.5])
    touching = [0, 0, 0.1 - 1e-10, 1, 0, 0, 0]
    simulation.set(q=touching, u=[*np.cross(spin, [0, 0, 0.1]), *spin])
    log = simulation.run(2.0)
    energy = (log.kinetic_energy + log.potential_energy).values
    assert np.ptp(energy) < 1e-3 * energy[0]
    assert np.abs(log.gap.values).max() < 2e-5
    assert np.ptp(log.q.values[:, 2]) > 5e-3, "it rocks"
    assert (log.converged == 1).all()


@pytest.mark.slow
def test_rims_and_ellipsoids_match_in_slots() -> None:
    """A wheel with many other candidates that never touch rolls as it does alone."""
    far = "".join(
        f"<geom type='sphere' size='.001' mass='0' pos='0 0 {0.01 * k}'/>" for k in range(9)
    )
    turned, ends = [np.sqrt(0.5), np.sqrt(0.5), 0, 0], []
    for law in (Moreau(), Compliant(c_N=1e5, d_N=500.0)):
        for beside in ("", far):
            wheel = free_body(f"type='cylinder' size='{R} {HALF}'", beside=beside)
            simulation = Simulation(wheel, law, contacts="*", dt=5e-4)
            simulation.set(q=[0, 0, R, *turned], u=[0.5, 0.1, 0, 0.1, 1.0, 0.3 / R])
            simulation.advance(0.5)
            ends.append(simulation.q)
        scene = simulation.plan.scene
        rare = [scene.candidates[i] for i in scene.secondary]
        assert any(candidate.outline is not None for candidate in rare)
        np.testing.assert_allclose(ends[-2], ends[-1], atol=1e-7)


@pytest.mark.slow
def test_a_cylinder_dropped_on_its_end_stands() -> None:
    tilted = "type='cylinder' size='.1 .1' euler='3 2 0'"
    simulation = Simulation(free_body(tilted))
    q = simulation.q
    upright = np.cos(np.deg2rad(3)) * np.cos(np.deg2rad(2))
    q[..., 2] = 0.1 * (upright + np.sqrt(1 - upright**2)) + 0.02  # m: its rim 2 cm up
    simulation.set(q=q)
    log = simulation.run(4.0)
    assert np.abs(log.u.values[-1]).max() < 1e-9
    carried = log.force_contact.values[-1, :, 0]
    assert (carried > 1).sum() == 3 and carried.sum() == pytest.approx(1000 * 0.002 * np.pi * 9.81)
    assert log.q.values[-1, 2] == pytest.approx(0.1, abs=5e-4)


@pytest.mark.slow
def test_a_wheel_in_a_hollow_is_where_it_touches() -> None:
    """On ground like a shallow egg box the gap is accurate to a millimeter."""
    ground = Surface(lambda x, y: 0.02 * ca.sin(4 * x))
    simulation = Simulation(free_body(LYING), terrain=ground)
    q = simulation.q
    q[..., 2] = R + 4e-4  # m: about where it touches
    simulation.set(q=q)
    simulation.advance(0.5)
    x, z = simulation.q[..., 0].item(), simulation.q[..., 2].item()
    along = np.linspace(x - R, x + R, 200001)
    nearest = np.hypot(along - x, 0.02 * np.sin(4 * along) - z).min()
    assert nearest == pytest.approx(R, abs=1e-3)
