"""Candidates of a body that matter on flat ground: the corners of their hull."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.model.mechanism import Candidate
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.morphology.convex_hull import hull_candidates, hull_corners

CUBE = np.array([(x, y, z) for x in (0, 1.0) for y in (0, 1.0) for z in (0, 1.0)])


@pytest.mark.parametrize("extent", [(1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 0, 0), (2, 1e-3, 1e-3)])
def test_corners_are_found_for_flat_point_sets(extent: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    own = np.unique(CUBE * extent, axis=0)
    inside = own.mean(axis=0) + 0.4 * (rng.uniform(size=(30, 3)) - 0.5) * extent
    points = np.concatenate([inside, own, own]) @ turn.T + rng.normal(size=3)
    if not any(extent):
        assert len(hull_corners(points)) == 1
        return
    assert hull_corners(points) == list(range(30, 30 + len(own)))


def test_points_on_edges_and_faces_are_not_corners() -> None:
    middles = np.array([(0.5, 0.5, 0), (0.5, 0, 0), (1, 1, 0.25)])
    assert hull_corners(np.concatenate([middles, CUBE])) == list(range(3, 11))


def test_distinct_candidates_are_kept() -> None:
    ball = [Candidate("ball", 0, np.full(3, 0.5), radius=0.1)]
    slick = [Candidate("slick", 0, np.full(3, 0.5), friction=0.5)]
    other = [Candidate("other", 1, np.full(3, 0.5))]
    cube = [Candidate(f"corner_{k}", 0, place) for k, place in enumerate(CUBE)]
    inside = [Candidate("inside", 0, np.full(3, 0.5))]
    assert hull_candidates([*ball, *inside, *cube, *slick, *other]) == (
        *ball,
        *cube,
        *slick,
        *other,
    )


@pytest.mark.parametrize("name", ["go1", "anymal_c"])
def test_candidate_selection_keeps_the_lowest_point_in_any_attitude(name: str) -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    robot = tarsus.load(Path(folder) / LEGGED[name])
    balls = [c for c in robot.candidates if c.outline is None]
    few, ways = hull_candidates(balls), np.random.default_rng(1).normal(size=(2000, 3))
    assert len(few) < 0.8 * len(balls)

    def lowest(chosen: tuple[Candidate, ...] | list[Candidate], body: int) -> np.ndarray:
        own = [c for c in chosen if c.body == body]
        below = ways @ np.array([c.position for c in own]).T - [c.radius for c in own]
        return below.min(axis=1)

    for body in {c.body for c in balls}:
        assert lowest(few, body) == pytest.approx(lowest(balls, body), abs=1e-9)


def test_named_candidates_and_uneven_ground_keep_all_candidates() -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("needs example-robot-data")
    robot = tarsus.load(Path(folder) / LEGGED["go1"])
    named = [c.name for c in robot.candidates if c.body == 0]
    sim = tarsus.Simulation(robot, contacts=named)
    assert len(sim.plan.scene.candidates) == len(named)
    sim = tarsus.Simulation(robot, contacts="all")
    assert len(sim.plan.scene.candidates) < len(robot.candidates)
    sim = tarsus.Simulation(robot, contacts="all", terrain="rough")
    assert len(sim.plan.scene.candidates) == len(robot.candidates)
