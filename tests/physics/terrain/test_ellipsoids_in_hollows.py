"""An ellipsoid flatter than the hollow below it touches at two points, and does not sink in."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from helpers.free_body import free_body
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.model.ellipsoid_starts import STARTS_PER_ELLIPSOID
from tarsus.model.poses import rotation_from_quaternion
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane
from tarsus.terrain.sine import Sine
from tarsus.terrain.slope import Slope
from tarsus.terrain.surface import Surface

Array = NDArray[np.float64]
A, L = 0.03, 0.5  # m: its hollows have a radius of 0.21 m, the ellipsoid up to 0.38 m
WAVES = Sine(A, L)
HALF_AXES = np.array([0.15, 0.10, 0.06])
HOLLOW = np.array([-L / 4, L / 4])  # its lowest place
LAWS = {"moreau": 2.5e-3, "lcp_impulse": 2.5e-3, "soft_convex": 1e-3, "micro_macro": 1e-3}
LAWS |= {"compliant": 2.5e-4}  # s


def egg() -> Robot:
    size = " ".join(map(str, HALF_AXES))
    return free_body(f"type='ellipsoid' size='{size}'")


def skin(count: int = 4000) -> Array:
    """Points (count, 3) on the surface of the ellipsoid, m."""
    k = np.arange(count) + 0.5
    z, around = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    wide = np.sqrt(1 - z**2)
    return np.stack([wide * np.cos(around), wide * np.sin(around), z], 1) * HALF_AXES


def least_gap(q: Array, points: Array) -> float:
    """Gap of the lowest point above the waves along their normal, m."""
    x, y, z = (q[:3] + points @ rotation_from_quaternion(q[3:]).T).T
    k = 2 * np.pi / L
    height = A * np.sin(k * x) * np.sin(k * y)
    slopes = A * k * np.cos(k * x) * np.sin(k * y), A * k * np.sin(k * x) * np.cos(k * y)
    return float(((z - height) / np.sqrt(1 + slopes[0] ** 2 + slopes[1] ** 2)).min())


def dropped(simulation: Simulation, seed: int, seconds: float) -> xr.Dataset:
    """Log of a drop from 2 cm with a random attitude; it rolls and rocks."""
    random = np.random.default_rng(seed)
    turn, points = random.normal(size=4), skin()
    q = np.array([*random.uniform(-0.3, 0.3, 2), 0.5, *(turn / np.linalg.norm(turn))])
    for _ in range(30):
        q[2] -= 0.9 * (least_gap(q, points) - 0.02)
    u = [*random.normal(size=2) * 0.6, 0, *random.normal(size=3) * 4]
    simulation.set(q=q, u=u)
    return simulation.run(seconds)


def test_an_ellipsoid_does_not_sink_into_waves() -> None:
    """With a single contact point it sank by up to 28 mm and gained up to 1.7 J."""
    simulation, points = Simulation(egg(), Moreau(), terrain=WAVES, dt=2.5e-3), skin()
    for seed in range(3):
        log = dropped(simulation, seed, 2.0)
        depth = -min(least_gap(q, points) for q in log.q.values)
        energy = (log.kinetic_energy + log.potential_energy).values
        assert depth < 5e-3, "what falls and turns at 2 m/s moves in a step"
        assert (energy - np.minimum.accumulate(energy)).max() < 0.02 * energy[0]
        assert energy.max() < energy[0] + 1e-3
        assert log.converged.mean() > 0.999


@pytest.mark.parametrize("law", LAWS)
def test_every_law_supports_an_ellipsoid_at_two_points_of_a_hollow(law: str) -> None:
    """Its long axis is across the hollow: both ends carry equal loads, and no point lies deeper."""
    simulation = Simulation(egg(), law, terrain=WAVES, dt=LAWS[law])
    simulation.set(q=[*HOLLOW, 0.06 - A + 0.01, 1, 0, 0, 0])
    log = simulation.run(1.0)
    gaps, forces = log.gap.values[-1], log.force_world.values[-1, :, 2]
    assert np.sort(forces)[-2:] == pytest.approx(simulation.robot.mass * 9.81 / 2, rel=0.01)
    assert np.sort(forces)[:-2] == pytest.approx(0, abs=1e-6)
    assert least_gap(log.q.values[-1], skin(20000)) == pytest.approx(gaps.min(), abs=5e-5)
    assert np.abs(log.u.values[-1]).max() < 1e-3


def test_a_step_uses_the_deepest_ellipsoid_contacts() -> None:
    """Under a compliant law its depth is compared with that of all points."""
    simulation, points = Simulation(egg(), Compliant(), terrain=WAVES, dt=2.5e-4), skin()
    log = dropped(simulation, 3, 0.75)
    seen = log.gap.values.min(1)
    true = np.array([least_gap(q, points) for q in log.q.values])
    near = true < 0
    assert near.any()
    assert np.abs(true[:-1] - seen[1:])[near[:-1]].max() < 1e-3


@pytest.mark.parametrize("ground", [Plane(), Slope(0.2)])
def test_on_flat_ground_an_ellipsoid_has_one_contact(ground: Terrain) -> None:
    scene = Simulation(egg(), Moreau(), terrain=ground).plan.scene
    assert scene.geometry.contact_names == ["part"] and scene.candidates[0].start is None


def test_locally_flat_ground_gives_one_ellipsoid_contact() -> None:
    """On a level part of the surface it rolls as on a plane."""
    ends = []
    for ground in (Plane(), Surface(lambda x, y: 0 * x)):
        simulation = Simulation(egg(), Moreau(), terrain=ground, dt=1e-3)
        simulation.set(q=[0, 0, 0.06, 1, 0, 0, 0], u=[0.2, 0.1, 0, 1.0, 2.0, 0.3])
        log = simulation.run(0.5)
        ends.append(log.q.values[-1])
        touching = (log.gap.values < 0.5).sum(1)
    assert touching.max() == 1 and len(log.contact) == STARTS_PER_ELLIPSOID
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_results_do_not_depend_on_the_number_of_worlds() -> None:
    random, ends = np.random.default_rng(5), []
    q = np.tile([0.0, 0, 0.2, 1, 0, 0, 0], (7, 1))
    q[:, :2], q[:, 3:] = random.uniform(-0.3, 0.3, (7, 2)), random.normal(size=(7, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    many = Simulation(egg(), Moreau(), terrain=WAVES, worlds=7, dt=2.5e-3)
    many.set(q=q)
    many.advance(1.0)
    for own in q:
        alone = Simulation(egg(), Moreau(), terrain=WAVES, dt=2.5e-3)
        alone.set(q=own)
        alone.advance(1.0)
        ends.append(alone.q)
    np.testing.assert_array_equal(many.q, ends)


@pytest.mark.parametrize("stepper", ["rk4", "event_driven"])
def test_steppers_without_slots_detect_ellipsoid_contacts(stepper: str) -> None:
    law = "compliant" if stepper == "rk4" else "moreau"
    simulation = Simulation(egg(), law, terrain=WAVES, stepper=stepper, dt=5e-4)
    simulation.set(q=[*HOLLOW, 0.06 - A + 0.01, 1, 0, 0, 0])
    log = simulation.run(0.5)
    assert (log.force_contact.values[-1, :, 0] > 1).sum() == 2
