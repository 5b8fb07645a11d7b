"""Boxes on level ground against closed-form distances; feet dragged over their edges, corners and
seams.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.bench import Bench
from helpers.refused import refused
from numpy.typing import ArrayLike, NDArray

import tarsus
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import InvalidValue, TarsusError
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.steps import Steps
from tarsus.validation.bodies import G, point_mass, pose, sphere

Array = NDArray[np.float64]
EDGE, CORNER = 0.005, 0.02  # m
TOP, BOX = 0.1, np.array([0.3, 0.2, 0.05])  # m
ONE = Boxes([[0.0, 0.0, 0.05]], BOX, edge_radius=EDGE, corner_radius=CORNER)


def look(terrain: Terrain, points: ArrayLike) -> tuple[Array, Array]:
    """Gaps (n,) and frames (n, 3, 3) at points (n, 3), or at one point per world."""
    b = Builder("look")
    distance, frame = terrain.surface(b.parameter("point", 3), terrain.symbols(b))
    program = b.program(distance=distance, frame=ca.vec(frame.T))
    parameters = {f"terrain.{name}": value for name, value in terrain.parameters().items()}
    found = reference.run(program, {"point": np.asarray(points, float), **parameters})
    return found["distance"][:, 0], found["frame"].reshape(-1, 3, 3)


def test_distance_to_faces_edges_corners_and_fillet() -> None:
    inner = BOX[:2] - EDGE  # where the rounding of the edges begins
    slant, ball = np.array([0.6, 0.8]), np.array([2.0, 3.0, 6.0]) / 7
    cases = [  # point, distance, normal
        ([0.1, 0.05, TOP + 0.03], 0.03, [0, 0, 1]),  # the top
        ([0.1, 0.05, TOP - 0.002], -0.002, [0, 0, 1]),
        ([BOX[0] + 0.04, 0.0, 0.06], 0.04, [1, 0, 0]),  # a side, above the fillet
        ([0.0, -BOX[1] - 0.01, 0.06], 0.01, [0, -1, 0]),
        ([1.0, 1.0, 0.3], 0.3, [0, 0, 1]),  # the ground
        ([1.0, 1.0, -0.01], -0.01, [0, 0, 1]),
        (
            [inner[0] + 0.03 * slant[0], 0.0, TOP - EDGE + 0.03 * slant[1]],
            0.03 - EDGE,
            [slant[0], 0, slant[1]],
        ),
        ([*(-inner - 0.03 * slant), 0.05], 0.03 - EDGE, [*-slant, 0]),  # an upright edge
        ([*inner, TOP - EDGE] + 0.02 * ball, 0.02 - EDGE, ball),  # a corner
        # the fillet: a quarter of a circle about (side + CORNER, CORNER)
        (
            [BOX[0] + CORNER - 0.015 * slant[0], 0.0, CORNER - 0.015 * slant[1]],
            0.005,
            [slant[0], 0, slant[1]],
        ),
    ]
    points, distances, normals = zip(*cases, strict=True)
    for yaw, shift in ((0.0, np.zeros(3)), (0.7, np.array([0.4, -2.0, 0.0]))):
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
        terrain = Boxes(
            [shift + np.array([0.0, 0.0, 0.05])], BOX, yaw, edge_radius=EDGE, corner_radius=CORNER
        )
        gap, frames = look(terrain, np.array(points) @ turn.T + shift)
        np.testing.assert_allclose(gap, distances, atol=1e-9)
        np.testing.assert_allclose(frames[:, 0], np.array(normals) @ turn.T, atol=1e-6)


def test_a_long_box_is_a_step() -> None:
    stair = Steps(rise=0.1, run=0.3, count=1, start=0.0, edge_radius=EDGE, corner_radius=CORNER)
    box = Boxes([[2.0, 0.0, 0.0]], [2.0, 3.0, 0.1], edge_radius=EDGE, corner_radius=CORNER)
    points = np.random.default_rng(0).uniform([-0.2, -0.3, -0.004], [0.2, 0.3, 0.3], (2000, 3))
    (gap, frames), (expected, normals) = look(box, points), look(stair, points)
    near = expected > -0.004
    assert near.sum() > 1500
    np.testing.assert_allclose(gap[near], expected[near], atol=1e-9)
    agree = np.abs(frames[near, 0] - normals[near, 0]).max(1) < 1e-6
    assert agree.mean() > 0.995  # but for points as near to the tread as to the riser


def test_frames_are_orthonormal_and_continuous() -> None:
    points = np.random.default_rng(1).uniform([-0.5, -0.4, -0.1], [0.5, 0.4, 0.3], (500, 3))
    _, frames = look(ONE, points)
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (500, 1, 1)), atol=1e-9
    )
    np.testing.assert_allclose(np.cross(frames[:, 0], frames[:, 1]), frames[:, 2], atol=1e-9)
    # 3 mm off the ground towards the box, up its side, and about one of its upright edges
    t = np.linspace(0, 1, 20_001)[:, None]
    profile = np.concatenate(
        [[0.6, 0.1, 0.003] + t * [-0.25, 0, 0], [BOX[0] + 0.003, 0.1, 0.05] + t * [0, 0, 0.045]]
    )
    inner, arc = (
        BOX[:2] - EDGE,
        (EDGE + 0.003) * np.array([np.cos(np.pi / 2 * t), np.sin(np.pi / 2 * t)])[..., 0].T,
    )
    corner = np.insert(inner + arc, 2, 0.06, axis=1)
    for path in (profile[:20_001], profile[20_001:], corner):
        gap, frames = look(ONE, path)
        np.testing.assert_allclose(gap, 0.003, atol=1e-9)
        turning = np.abs(np.diff(frames, axis=0)).max((1, 2)) / np.linalg.norm(
            np.diff(path, axis=0), axis=1
        )
        assert turning.max() < 1.01 / (
            0.003 + EDGE
        )  # rad/m: no sharper than the edge at this distance


@pytest.mark.parametrize("heading", [0.0, 0.6])
def test_a_ball_rolls_over_the_edge_of_a_box(heading: float) -> None:
    radius, dt = 0.02, 0.001
    way = np.array([np.cos(heading), np.sin(heading)])
    bench = Bench(sphere(1.0, radius), Moreau(mu=0.6), ONE)
    start = BOX[0] - 0.1 * way[0], -0.1 * way[1]
    u = [*(0.15 * way), 0, -0.15 / radius * way[1], 0.15 / radius * way[0], 0]
    log = bench.run(1500, dt, q=pose([*start, TOP + radius]), u=u)
    x, z = log["q"][:, 0, 0], log["q"][:, 0, 2]
    gap, frames = look(ONE, log["q"][:, 0, :3])
    on_edge = (log["impulse"][:, 0, 0] > 0) & (np.abs(x - BOX[0]) < 0.02) & (z > 0.06)
    leaning = frames[on_edge, 0, 0]
    assert (
        leaning.max() > 0.3 and np.diff(leaning).max() < 0.1
    )  # the normal turns outwards little by little
    assert (
        np.diff(np.nonzero(on_edge)[0]) == 1
    ).all()  # and the ball stays on the edge until it leaves for good
    assert x[-1] > BOX[0] + 0.03 and z[-1] < 0.05 and (gap - radius).min() > -2e-3


@pytest.mark.parametrize(
    "law, dt", [(Moreau(mu=0.3), 0.0025), (Compliant(mu=0.3, d_N=200.0), 0.0005)]
)
def test_a_foot_dragged_over_seams_is_neither_caught_nor_lost(
    law: Moreau | Compliant, dt: float
) -> None:
    """Five stones side by side: a round foot crosses the four grooves between them."""
    radius, width = 0.02, 0.1
    stones = Boxes(
        [[width * k, 0.0, 0.0] for k in range(5)], [width / 2, 0.2, 0.1], edge_radius=EDGE
    )
    foot = sphere(1.0, radius)
    bench = Bench(foot, law, stones)
    speed = 0.5
    start = pose([-0.02, 0.0, 0.1 + radius])
    log = bench.run(round(0.8 / dt), dt, q=start, u=[speed, 0, 0, 0, speed / radius, 0])
    x, z = log["q"][:, 0, 0], log["q"][:, 0, 2]
    assert x[-1] > 0.3  # past three grooves
    # between two edges of radius r their circles' centers are 2 r apart: the foot sinks in by this
    # much at most
    groove = radius + EDGE - np.sqrt((radius + EDGE) ** 2 - EDGE**2)
    assert z.min() > 0.1 + radius - groove - 2e-3
    assert (look(stones, log["q"][:, 0, :3])[0] - radius).max() < 2e-3  # nor thrown up


@pytest.mark.parametrize("push", [1.0, 4.0])
def test_a_foot_pressed_against_a_box_rests_there(push: float) -> None:
    drawn = point_mass(gravity=(push, 0.0, -G))
    bench = Bench(drawn, Moreau(mu=0.05), ONE)
    log = bench.run(4000, 0.0025, q=pose([-0.35, 0.05, 0.0]))
    x, z, gap = log["q"][:, 0, 0], log["q"][:, 0, 2], look(ONE, log["q"][:, 0, :3])[0]
    assert -BOX[0] - CORNER < x[-1] < -BOX[0] + 0.01 and -1e-3 < z[-1] < CORNER  # on the fillet
    assert np.abs(log["u"][-400:, 0, :3]).max() < 1e-6 and gap[-400:].min() > -0.01


def test_boxes_can_differ_by_world() -> None:
    half = [0.3, 0.2, 0.1]
    boxes = Boxes(
        [[[0.0, 0, 0.0]], [[3.0, 0, 0.0]]], half, yaw=[[0.0], [np.pi / 2]], ground=[0.0, -0.1]
    )
    gap, _ = look(boxes, [[0.0, 0.0, 0.2], [0.0, 0.0, 0.2]])
    np.testing.assert_allclose(gap, [0.1, 0.3], atol=1e-9)


def test_mini_cheetah_trots_over_the_default_stones() -> None:
    simulation = tarsus.Simulation("mini_cheetah", terrain="boxes", controller="trot")
    log = simulation.run(5.0)
    q = log["q"].values
    assert q[:, 2].min() > 0.2 and q[-1, 0] > 1.0 and bool(log["converged"].values.all())
    assert (1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)).min() > 0.8  # upright


@pytest.mark.parametrize(
    ("bad", "kind", "subject"),
    [
        (lambda: Boxes([0.0, 0.0, 0.0]), InvalidValue, "position"),
        (
            lambda: Boxes([[0.0, 0.0, 0.0]], half_sizes=[0.1, -0.1, 0.1]),
            InvalidValue,
            "half_sizes",
        ),
        (lambda: Boxes([[0.0, 0.0, 0.0]], half_sizes=np.ones((2, 3))), InvalidValue, "position"),
        (
            lambda: Boxes([[0.0, 0.0, 0.0]], [0.1, 0.1, 0.1], yaw=[0.0, 1.0]),
            InvalidValue,
            "position",
        ),
        (lambda: Boxes([[0.0, 0.0, 1.0]], [0.1, 0.1, 0.1]), InvalidValue, "position"),
        (lambda: Boxes([[0.0, 0.0, 0.0]], [0.1, 0.1, 0.01]), InvalidValue, "edge_radius"),
        (lambda: Boxes([[0.0, 0.0, 0.0]], [0.1, 0.001, 0.1]), InvalidValue, "edge_radius"),
        (lambda: Boxes([[0.0, np.nan, 0.0]]), InvalidValue, "position"),
    ],
)
def test_bad_boxes_are_refused(bad: Any, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        bad()
