"""Uneven ground in MuJoCo: MuJoCo's rays measure the heights of Tarsus's terrains."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from helpers.refused import refused

from tarsus.errors import Unsupported
from tarsus.mujoco_runs.height_field import HALF_WIDTH, sample_heights
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.terrain.base import Terrain
from tarsus.terrain.rough import Rough
from tarsus.terrain.tiles import Tiles


def measure_height(sim: MujocoSimulation, x: float, y: float) -> float:
    """Measure the height of the ground by a vertical ray from z = 2 m, in m."""
    down, geom = np.array([0, 0, -1.0]), np.zeros(1, np.int32)
    start = np.array([x, y, 2.0])
    return 2.0 - mujoco.mj_ray(sim.model, sim.data, start, down, None, 1, -1, geom)


@pytest.mark.parametrize(
    ("terrain", "most"),
    # a cell is 2.5 cm: of a wave of 25 cm, as high as the highest here, (pi / 10)^2 / 2 are missed;
    # of the side of a stone that rises by 2 cm over 6 cm, 2 mm
    [(Rough(amplitude=0.04), 3e-4), (Tiles(), 2e-3)],
    ids=["rough", "tiles"],
)
def test_ground_heights_match_in_mujoco_and_support_a_trot(terrain: Terrain, most: float) -> None:
    sim = MujocoSimulation("mini_cheetah", terrain=terrain, controller="trot")
    places = np.random.default_rng(0).uniform(-0.98 * HALF_WIDTH, 0.98 * HALF_WIDTH, (2, 300))
    measured = [measure_height(sim, *place) for place in places.T]
    np.testing.assert_allclose(measured, sample_heights(terrain, *places), atol=most)
    sim.set({"speed": 0.2})
    sim.advance(2.0)
    below = float(sample_heights(terrain, sim.q[:1], sim.q[1:2])[0])
    assert 0.2 < sim.q[2] - below < 0.35 and sim.q[0] > 0.1
    with refused(Unsupported, "terrain"):
        sim.run(0.1)


def test_ground_that_differs_by_world_is_rejected() -> None:
    with refused(Unsupported, "terrain"):
        MujocoSimulation("mini_cheetah", terrain=Rough(amplitude=np.array([0.01, 0.02])))
