"""The rim of a cylinder touches uneven ground at its closest point, not only below the center."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from casadi import SX, Function
from helpers.free_body import free_body
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.comparison.trajectory import build_trajectory, log_to_arrays
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import WORLD
from tarsus.model.poses import rotation_from_quaternion
from tarsus.model.spans import ARCS
from tarsus.terrain.plane import Plane
from tarsus.terrain.sine import Sine
from tarsus.terrain.steps import Steps
from tarsus.terrain.surface import Surface

Array = NDArray[np.float64]
RADIUS, HALF = 0.1, 0.03  # m
STAIRS = Steps(rise=0.1, run=0.3, start=0.0)
RISER = Steps(rise=0.15, run=0.4, start=0.3, corner_radius=0.01)
WAVES = Sine(0.03, 0.5)
ON_EDGE = np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0])  # a wheel that rolls along x
LAWS = {"moreau": 2.5e-3, "lcp_impulse": 2.5e-3, "soft_convex": 1e-3, "compliant": 2.5e-4}  # s


def wheel(half: float = HALF) -> Robot:
    return free_body(f"type='cylinder' size='{RADIUS} {half}'")


def rims(half: float = HALF, count: int = 720) -> Array:
    """Points (2 count, 3) of both rims, m."""
    angle = 2 * np.pi * np.arange(count) / count
    circle = RADIUS * np.stack([np.cos(angle), np.sin(angle)], 1)
    return np.concatenate([np.column_stack([circle, np.full(count, z)]) for z in (-half, half)])


def heights(simulation: Simulation) -> Function:
    """Vertical distance of the ground, m, below many points (3, n)."""
    ground = simulation.plan.scene.terrain
    point = SX.sym("point", 3)
    given = type(
        "Given", (), {k: SX(float(np.ravel(v)[0])) for k, v in ground.parameters().items()}
    )
    [(distance, _)] = ground.surfaces([point], given)
    return Function("distance", [point], [distance]).map(2 * 720)


def depths(simulation: Simulation, seed: int, seconds: float) -> tuple[Array, Array]:
    """Depth of the rims, m, and energy, J, of a disc that tumbles from 2 cm with a random
    attitude.
    """
    random, points, below = np.random.default_rng(seed), rims(), heights(simulation)

    def gap(q: Array) -> float:
        return float(np.array(below((q[:3] + points @ rotation_from_quaternion(q[3:]).T).T)).min())

    turn = random.normal(size=4)
    q = np.array([*random.uniform(0, 1, 2), 1.0, *(turn / np.linalg.norm(turn))])
    for _ in range(30):
        q[2] -= 0.9 * (gap(q) - 0.02)
    simulation.set(q=q, u=[*random.normal(size=2) * 0.6, 0, *random.normal(size=3) * 4])
    log = simulation.run(seconds)
    energy = (log.kinetic_energy + log.potential_energy).values
    assert log.converged.mean() > 0.999
    return -np.array([gap(q) for q in log.q.values]), energy


def into_riser(simulation: Simulation) -> xr.Dataset:
    """Log of a wheel that rolls at 0.4 m/s against the first stair."""
    simulation.set(q=[0, 0, RADIUS, *ON_EDGE], u=[0.4, 0, 0, 0, 0, -4.0])
    return simulation.run(1.5)


@pytest.mark.parametrize("ground", [STAIRS, WAVES], ids=["steps", "sine"])
def test_a_disc_does_not_sink_into_corners_and_hollows(ground: Steps | Sine) -> None:
    """Rims sank by 40 to 67 mm when only their lowest point and two neighbors were checked."""
    simulation = Simulation(wheel(), Moreau(), terrain=ground, dt=2.5e-3)
    for seed in (1, 3):
        depth, energy = depths(simulation, seed, 1.5)
        assert depth.max() < 6e-3, "what falls and turns at 2 m/s moves in a step"
        assert energy.max() < energy[0] + 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_a_wheel_stops_at_a_riser(law: str) -> None:
    """At rest its rim is tangent to tread and riser."""
    log = into_riser(Simulation(wheel(), law, terrain=RISER, dt=LAWS[law]))
    x, z = log.q.values[:, 0], log.q.values[:, 2]
    assert x.max() == pytest.approx(0.3 - RADIUS, abs=4e-3)
    assert z[x < 0.19].min() == pytest.approx(RADIUS, abs=1e-3)
    force = log.force_world.values
    assert force[..., 0].sum(1).min() < -1, "the riser pushes it back"


def test_on_level_ground_a_disc_moves_as_on_a_plane() -> None:
    """On a level part of the surface no arc is in contact."""
    for turn, u in ((ON_EDGE, [0.3, 0, 0, 0, 0, -3.0]), ([1, 0, 0, 0], [0.3, 0.1, 0, 0, 0, 2.0])):
        height = RADIUS if turn is ON_EDGE else HALF
        ends = []
        for ground in (Plane(), Surface(lambda x, y: 0 * x)):
            simulation = Simulation(wheel(), Moreau(), terrain=ground, dt=1e-3)
            simulation.set(q=[0, 0, height, *turn], u=u)
            log = simulation.run(0.3)
            ends.append(log.q.values[-1])
        names = simulation.plan.scene.geometry.contact_names
        assert sum("+" in name for name in names) == 2 * ARCS + 2, "arcs and flat ends"
        assert not any("+" in name for name in log.contact.values)
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_results_do_not_depend_on_the_number_of_worlds() -> None:
    random, ends = np.random.default_rng(5), []
    q = np.tile([0.5, 0, 0.5, 1, 0, 0, 0], (7, 1))
    q[:, :2] += random.uniform(-0.3, 0.3, (7, 2))
    q[:, 3:] = random.normal(size=(7, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    many = Simulation(wheel(), Moreau(), terrain=STAIRS, worlds=7, dt=2.5e-3)
    many.set(q=q)
    many.advance(1.0)
    for own in q:
        alone = Simulation(wheel(), Moreau(), terrain=STAIRS, dt=2.5e-3)
        alone.set(q=own)
        alone.advance(1.0)
        ends.append(alone.q)
    np.testing.assert_array_equal(many.q, ends)


def test_a_log_is_judged_with_its_arcs() -> None:
    simulation = Simulation(wheel(), Moreau(), terrain=RISER, dt=2.5e-3)
    log = into_riser(simulation)
    assert any("+" in name for name in log.contact.values)
    run = build_trajectory(log_to_arrays(log, simulation.robot), simulation.robot)
    assert set(run.contact_bodies) == {(0, WORLD)}
