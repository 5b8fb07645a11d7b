"""Terrains: distances, normals and frames against independent geometry; feet that cross borders,
edges and corners.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench
from helpers.refused import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from scipy.spatial import cKDTree

import tarsus
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import InvalidFile, InvalidValue, TarsusError
from tarsus.program.ir import reference
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.terrain.base import Terrain
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.patched import Patched
from tarsus.terrain.plane import Plane
from tarsus.terrain.rough import Rough
from tarsus.terrain.sine import Sine
from tarsus.terrain.slope import Slope
from tarsus.terrain.steps import Steps
from tarsus.terrain.surface import Surface
from tarsus.terrain.tiles import Tiles
from tarsus.validation.bodies import G, point_mass, pose, sphere

Array = NDArray[np.float64]
BUMPS = 0.01 * np.random.default_rng(3).random((40, 60))  # m
TERRAINS: dict[str, Terrain] = {
    "plane": Plane(),
    "slope": Slope(0.3, 0.7),
    "egg_box": Sine(0.02, 0.4),
    "washboard": Sine(0.02, 0.4, heading=0.6),
    "rough": Rough(seed=5, amplitude=0.03),
    "surface": Surface(lambda x, y: 0.03 * ca.sin(4 * x) * ca.exp(-(y**2)) + 0.1 * x),
    "heightfield": HeightField(BUMPS, cell=0.05),
    "heightfield_sharper": HeightField(BUMPS, cell=(0.05, 0.07), origin=(-1.5, -1.0), rounding=0.4),
    "tiles": Tiles(side=1.2, run=0.2, size=0.2, edge=0.05, stone=0.01, rise=0.01),
    "steps_up": Steps(rise=0.1, run=0.3, count=4, start=-0.5),
    "steps_down": Steps(rise=-0.1, run=0.3, count=4, start=-0.5),
}
GRAPHS = [name for name in TERRAINS if not name.startswith("steps")]


@cache
def looking(name: str) -> Program:
    """Function from points to gaps and frames; `worlds` are points."""
    return program_of(TERRAINS[name])


def program_of(terrain: Terrain) -> Program:
    b = Builder("look")
    distance, frame = terrain.surface(b.parameter("point", 3), terrain.symbols(b))
    return b.program(distance=distance, frame=ca.vec(frame.T))


def look(
    terrain: Terrain, points: ArrayLike, program: Program | None = None
) -> tuple[Array, Array]:
    """Gaps (n,) and frames (n, 3, 3) at points (n, 3)."""
    parameters = {f"terrain.{name}": value for name, value in terrain.parameters().items()}
    found = reference.run(
        program or program_of(terrain), {"point": np.asarray(points, float), **parameters}
    )
    return found["distance"][:, 0], found["frame"].reshape(-1, 3, 3)


def heights(name: str, xy: Array) -> Array:
    """Height of the ground below xy (n, 2), from the distance function alone."""
    point = np.column_stack([xy, np.zeros(len(xy))])
    for _ in range(60):
        gap, frame = look(TERRAINS[name], point, looking(name))
        point[:, 2] -= gap / frame[:, 0, 2]
    return point[:, 2]


def normal_impulse(log: dict[str, Array]) -> Array:
    return log["impulse"][..., 0]


# ---------------------------------------------------------------- geometry


@pytest.mark.parametrize("name", TERRAINS)
@settings(deadline=None, max_examples=15)
@given(
    points=st.lists(
        st.tuples(*[st.floats(-2, 2), st.floats(-2, 2), st.floats(-0.5, 1)]),
        min_size=1,
        max_size=40,
    )
)
def test_frames_are_orthonormal_and_right_handed(
    name: str, points: list[tuple[float, float, float]]
) -> None:
    _, frames = look(TERRAINS[name], points, looking(name))
    np.testing.assert_allclose(
        frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (len(points), 1, 1)), atol=1e-9
    )
    np.testing.assert_allclose(np.cross(frames[:, 0], frames[:, 1]), frames[:, 2], atol=1e-9)


@pytest.mark.parametrize("name", GRAPHS)
def test_gap_and_normal_match_the_ground(name: str) -> None:
    random = np.random.default_rng(0)
    xy = random.uniform(-1.8, 1.8, (300, 2))
    z = heights(name, xy)
    on = np.column_stack([xy, z])
    gap, frames = look(TERRAINS[name], on, looking(name))
    assert np.abs(gap).max() < 1e-14
    assert (look(TERRAINS[name], on + np.array([0, 0, 0.01]), looking(name))[0] > 0).all()
    assert (look(TERRAINS[name], on - np.array([0, 0, 0.01]), looking(name))[0] < 0).all()
    h = 1e-6  # m
    slopes = [
        (heights(name, xy + step) - heights(name, xy - step)) / (2 * h) for step in (h * np.eye(2))
    ]
    normal = np.column_stack([-slopes[0], -slopes[1], np.ones(len(xy))])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    np.testing.assert_allclose(frames[:, 0], normal, atol=2e-5)
    near, _ = look(TERRAINS[name], on + 1e-3 * normal, looking(name))
    np.testing.assert_allclose(near, 1e-3, rtol=2e-2)  # to first order the distance itself


def test_tiles_have_their_named_shapes() -> None:
    """Kinds alternate along x and are zero along their borders; heights follow the number of
    each.
    """
    tiles = Tiles(incline=0.1, rise=0.03, wave=0.02, stone=0.01)
    program = program_of(tiles)

    def ground(x: ArrayLike, y: ArrayLike) -> Array:
        """Heights from level points above: distance times the vertical component of the normal."""
        points = np.column_stack([*np.broadcast_arrays(x, y), np.zeros(np.broadcast(x, y).size)])
        gap, frame = look(tiles, points, program)
        return -gap / frame[:, 0, 2]

    span = np.linspace(-1.999, 1.999, 401)
    x, y = (part.ravel() for part in np.meshgrid(span, span))
    plain, hill, stairs, waves, stones = (ground(x + 4 * k, y) for k in range(5))
    assert not plain.any()
    np.testing.assert_allclose(ground(x + 20, y), 0)  # the sixth is as the first
    np.testing.assert_allclose(ground(x + 4, y + 20), hill, atol=1e-12)  # and along y
    np.testing.assert_allclose(ground(x, y + 4), waves, atol=1e-12)
    assert hill.max() == pytest.approx(0.1 * 1.7) and hill.min() >= 0
    assert stairs.max() == pytest.approx(6 * 0.03) and stairs.min() == 0
    assert np.abs(waves).max() == pytest.approx(0.02, rel=1e-3)
    assert 0.009 < stones.max() < 0.01 and -0.01 < stones.min() < -0.009
    # treads are level: on the middle's line, half-way between two risers
    treads = ground(8 - 2 + 0.3 * np.arange(1, 7) + 0.2, 0)
    np.testing.assert_allclose(treads, 0.03 * np.arange(1, 7), atol=1e-12)
    border = np.concatenate([ground(4 * k + span, 2.0) for k in range(5)])
    np.testing.assert_allclose(border, 0, atol=1e-12)


@pytest.mark.parametrize(
    "terrain", [Rough(), Sine(), Tiles(), Patched(Rough())], ids=lambda t: type(t).__name__
)
def test_a_level_scales_heights(terrain: Terrain) -> None:
    b = Builder("levels")
    p, point = terrain.symbols(b), SX.sym("point", 3)
    whole, [half] = (
        terrain.elevations([point], p),
        terrain.elevations([point], terrain.at_level(p, SX(0.5))),
    )
    names = [getattr(p, name) for name in terrain.parameters()]
    both = ca.Function("both", [point, *names], [*whole, half])
    for place in np.random.default_rng(1).uniform(-9, 9, (20, 3)):
        all_of_it, half_of_it = both(place, *terrain.parameters().values())
        assert float(half_of_it) == pytest.approx(0.5 * float(all_of_it), abs=1e-12)


def test_a_function_and_a_formula_give_the_same_ground() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    own = Surface(lambda x, y: 0.02 * ca.sin(2 * np.pi * x / 0.4) * ca.sin(2 * np.pi * y / 0.4))
    for mine, theirs in zip(look(own, points), look(Sine(0.02, 0.4), points), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-14)


@pytest.mark.parametrize("name", ["heightfield", "heightfield_sharper"])
def test_slopes_of_a_height_field_are_continuous(name: str) -> None:
    x = np.linspace(-2, 2, 40_001)  # beyond both borders
    gap, frames = look(TERRAINS[name], np.column_stack([x, 0.3 * x, 0 * x]), looking(name))
    assert np.abs(np.diff(gap)).max() < 1e-4
    assert np.abs(np.diff(frames[:, 0], axis=0)).max() < 5e-3
    at_border, _ = look(TERRAINS[name], [[9, 9, 0.0], [99, 9, 0.0], [1e9, 9, 0.0]], looking(name))
    np.testing.assert_allclose(at_border, -BUMPS[-1, -1], atol=1e-15)


def test_a_height_field_stays_close_to_its_heights() -> None:
    field = HeightField(BUMPS, 0.05, origin=(0, 0), rounding=1e-3)
    rows, cols = np.indices(BUMPS.shape)
    points = np.column_stack([0.05 * cols.ravel(), 0.05 * rows.ravel(), np.zeros(cols.size)])
    gap, frames = look(field, points)
    np.testing.assert_allclose(-gap / frames[:, 0, 2], BUMPS.ravel(), atol=1e-5)


# ---------------------------------------------------------------- steps


def profile(s: Steps) -> tuple[Array, Array]:
    """Points (n, 2) and outward normals (n, 2) of the rounded profile of ascending stairs."""
    rise, run, start = (
        float(np.asarray(s.rise)),
        float(np.asarray(s.run)),
        float(np.asarray(s.start)),
    )
    t, arc = np.linspace(0, 1, 2000)[:, None], np.linspace(0, np.pi / 2, 500)[:, None]
    e, c, up, back = s.edge_radius, s.corner_radius, np.array([[0.0, 1.0]]), np.array([[-1.0, 0.0]])
    pieces = [([start - 2, 0] + t * [2 - c, 0], up + 0 * t)]
    for k in range(s.count):
        x, z, last = start + k * run, k * rise, k == s.count - 1
        turn = -np.sin(arc) * [1, 0] + np.cos(arc) * [0, 1]  # from up to back
        pieces.append(([x - c, z + c] - c * turn, turn))
        pieces.append(([x, z + c] + t * [0, rise - c - e], back + 0 * t))
        pieces.append(([x + e, z + rise - e] + e * turn[::-1], turn[::-1]))
        pieces.append(([x + e, z + rise] + t * [2 if last else run - c - e, 0], up + 0 * t))
    points, normals = zip(*pieces, strict=True)
    return np.concatenate(points), np.concatenate(normals)


@pytest.mark.parametrize("name", ["steps_up", "steps_down"])
def test_distance_to_stairs_is_exact(name: str) -> None:
    up, random = TERRAINS["steps_up"], np.random.default_rng(1)
    assert isinstance(up, Steps)
    drawn, normals = profile(up)
    points = drawn[np.abs(drawn[:, 0]) < 1][::7]
    points = points + random.uniform(-1, 1, points.shape) * random.choice(
        [0.08, 0.02, 0.005], (len(points), 1)
    )
    nearest = cKDTree(drawn).query(points)[1]
    distance = np.sum((points - drawn[nearest]) * normals[nearest], axis=1)
    expected = np.insert(normals[nearest], 1, 0, axis=1)
    if name == "steps_down":  # the same stairs seen from the other side
        points, expected = [2 * -0.5 + 0.9, -0.4] + points * [-1, 1], expected * [-1, 1, 1]
    gap, frames = look(TERRAINS[name], np.insert(points, 1, 0.3, axis=1), looking(name))
    valid = (distance > -0.004) & (
        gap > -0.05
    )  # deeper than the edges' radius it is no distance any more
    assert valid.mean() > 0.5
    np.testing.assert_allclose(gap[valid], distance[valid], atol=2e-5)
    assert (gap[distance < -0.004] < 0).all()
    agree = np.abs(expected - frames[:, 0]).max(1) < 0.05
    assert agree[valid].mean() > 0.995  # but for points as near to the tread as to the riser


def test_a_ball_rolls_over_the_edge_of_a_step() -> None:
    radius, dt = 0.02, 0.001
    down = Bench(sphere(1.0, radius), Moreau(mu=0.6), Steps(rise=-0.1, run=0.3, count=2, start=0.0))
    log = down.run(1500, dt, q=pose([-0.1, 0, radius]), u=[0.15, 0, 0, 0, 0.15 / radius, 0])
    x, z = log["q"][:, 0, 0], log["q"][:, 0, 2]
    gap, frames = look(down.terrain, log["q"][:, 0, :3])
    pressed = normal_impulse(log)[:, 0] > 0
    on_edge = pressed & (np.abs(x) < 0.02) & (z > -0.05)
    leaning = frames[on_edge, 0, 0]
    assert (
        leaning.max() > 0.3 and np.diff(leaning).max() < 0.1
    )  # the normal turns forward little by little
    assert (
        np.diff(np.nonzero(on_edge)[0]) == 1
    ).all()  # and the ball stays on the edge until it leaves for good
    assert x[-1] > 0.03 and z[-1] < -0.05 and np.isfinite(log["u"]).all()
    assert (gap - radius).min() > -2e-3


@pytest.mark.parametrize("push", [1.0, 4.0, 15.0])
def test_a_foot_pressed_into_a_corner_rests_there(push: float) -> None:
    """A round foot that hardly turns slides to the riser and stays in the corner of tread and
    riser.
    """
    radius, dt, ball = 0.0175, 0.0025, sphere(1.0, 0.0175)
    heavy = replace(
        ball.bodies[0], inertia=replace(ball.bodies[0].inertia, about_com=100 * np.eye(3))
    )
    pressed = replace(ball, bodies=(heavy,), gravity_acceleration=(push, 0.0, -G))
    bench = Bench(pressed, Moreau(mu=0.09), Steps(rise=0.1, run=0.3, count=2, start=0.0))
    log = bench.run(4000, dt, q=pose([-0.05, 0, radius]))
    gap = look(bench.terrain, log["q"][:, 0, :3])[0] - radius
    assert (
        gap.min() > -4e-3
    )  # what it sinks in when it arrives at up to 1 m/s; hard contact corrects no position
    assert np.abs(log["u"][2000:, 0, :3]).max() < 1e-4  # it still rolls, as its inertia is finite
    assert np.ptp(log["q"][2000:, 0, :3], axis=0).max() < 5e-4 and np.ptp(gap[2000:]) < 1e-5
    x, z = log["q"][-1, 0, 0], log["q"][-1, 0, 2]
    assert -0.05 < x < -radius + 4e-3 and radius - 4e-3 < z < 0.1
    assert (normal_impulse(log)[2000:] > 0).all()


def test_a_point_inside_a_riser_is_free_to_leave() -> None:
    """It touches the riser, not the tread far above, so that no friction with a tread holds it."""
    lifted = point_mass(gravity=(0.0, 0.0, 5.0))
    up = Bench(lifted, Moreau(mu=0.8), Steps(rise=0.15, run=0.3, count=1, start=0.0))
    log = up.run(100, 0.0025, q=pose([0.003, 0, 0.08]))
    assert log["q"][-1, 0, 2] == pytest.approx(0.08 + 0.5 * 5.0 * 0.25**2, abs=0.01)


# ---------------------------------------------------------------- height fields under a foot


@pytest.mark.parametrize(
    "law", [Moreau(mu=0.4), Moreau(mu=0.4, solver="exact"), Compliant(mu=0.4, d_N=200.0)]
)
def test_a_foot_dragged_over_many_cells_never_leaves_the_ground_nor_sticks(
    law: Moreau | Compliant,
) -> None:
    dragged = point_mass(gravity=(0.4 * G, 0.05 * G, -G))
    field = HeightField(0.6 * BUMPS, 0.05)
    dt = 0.0005 if isinstance(law, Compliant) else 0.0025
    bench = Bench(dragged, law, field)
    height = -look(field, [[-1.2, 0, 0.0]])[0][0]
    log = bench.run(round(4.0 / dt), dt, q=pose([-1.2, 0, height]), u=[0.4, 0, 0, 0, 0, 0])
    x, late = log["q"][:, 0, 0], slice(round(0.1 / dt), None)
    assert x[-1] - x[0] > 20 * 0.05
    assert (normal_impulse(log)[late] > 0).all()
    assert np.linalg.norm(log["u"][:, 0, :3], axis=1)[: round(2.0 / dt)].min() > 0.02
    gap, _ = look(field, log["q"][:, 0, :3])
    assert np.abs(gap[late]).max() < (2e-3 if isinstance(law, Compliant) else 5e-4)


def test_a_sloped_height_field_equals_a_slope() -> None:
    """A ball rolls down it without an effect of the cell borders."""
    angle, radius = 0.2, 0.1
    x = np.linspace(-4, 4, 81)
    field = HeightField(np.tile(np.tan(angle) * x, (30, 1)), 0.1)
    q = pose([1.03 - radius * np.sin(angle), 0.02, 1.03 * np.tan(angle) + radius * np.cos(angle)])
    runs = [
        Bench(sphere(), Moreau(), terrain).run(600, 0.0025, q=q)
        for terrain in (field, Slope(angle))
    ]
    assert runs[0]["q"][-1, 0, 0] < 0
    for name in ("q", "u", "impulse"):
        np.testing.assert_allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-10)
    speed = 5 / 7 * G * np.sin(angle) * 600 * 0.0025
    assert np.linalg.norm(runs[0]["u"][-1, 0, :3]) == pytest.approx(speed, rel=5e-3)


@pytest.mark.slow
def test_a_flat_height_field_equals_a_plane() -> None:
    """Feet stand on it and beyond its border."""
    logs = []
    for terrain in (HeightField(np.zeros((3, 4)), 0.1), Plane()):
        simulation = tarsus.Simulation("mini_cheetah", terrain=terrain, controller="stand")
        simulation.set(q=simulation.q + 0.05 * np.eye(simulation.q.size)[2])
        logs.append(simulation.run(0.5))
    assert float(logs[0].gap.min()) < 0
    for name in ("q", "u", "impulse_world"):
        np.testing.assert_allclose(logs[0][name], logs[1][name], rtol=0, atol=1e-9)


# ---------------------------------------------------------------- compiled code


@pytest.mark.parametrize("name", [*GRAPHS[2:], "steps_up"])
def test_compiled_code_equals_the_reference_and_itself_in_any_batch(name: str) -> None:
    bench, random = Bench(sphere(1.0, 0.02), Moreau(), TERRAINS[name]), np.random.default_rng(2)
    q = np.array([pose([*random.uniform(-0.8, 0.8, 2), 0.5]) for _ in range(11)])
    u = np.hstack([random.uniform(-1, 1, (11, 2)), np.full((11, 1), -2.0), np.zeros((11, 3))])
    log = bench.run(160, 0.0025, q=q, u=u)
    assert (normal_impulse(log) > 0).any()
    expected = reference.run(bench.program, bench.start(0.0025, q=q, u=u), 160)
    np.testing.assert_allclose(log["q"][-1], expected["q"], rtol=0, atol=1e-7)
    for lanes in (1, 2, 8):
        assert np.array_equal(bench.run(160, 0.0025, q=q, u=u, lanes=lanes)["q"], log["q"])
    for world in (0, 7):
        alone = bench.run(160, 0.0025, q=q[world], u=u[world])["q"][:, 0]
        assert np.array_equal(alone, log["q"][:, world])


def test_ground_can_differ_by_world() -> None:
    point = np.array([[0.1, 0.2, 0.0]])
    seeds = look(Rough(seed=np.arange(3)), np.tile(point, (3, 1)))[0]
    assert np.array_equal(seeds, [look(Rough(seed=k), point)[0][0] for k in range(3)])
    assert len(set(seeds)) == 3
    origins = np.array([[0.0, 0.0], [0.3, -0.2]])
    moved = look(HeightField(BUMPS, 0.05, origin=origins), np.tile(point, (2, 1)))[0]
    expected = look(
        HeightField(BUMPS, 0.05, origin=(0, 0)), point - np.insert(origins, 2, 0, axis=1)
    )[0]
    np.testing.assert_allclose(moved, expected, atol=1e-15)
    stairs = look(Steps(rise=[0.1, -0.1], start=-1.0), np.tile([[5, 0, 0.0]], (2, 1)))[0]
    np.testing.assert_allclose(
        stairs, [-0.405 + 0.4, 0.5], atol=0.5
    )  # inside the stairs, above the stairs
    assert stairs[0] < 0 < stairs[1]


# ---------------------------------------------------------------- a robot


@pytest.mark.parametrize(
    "terrain",
    [
        pytest.param(Sine(amplitude=[0.01, 0.02]), marks=pytest.mark.slow),
        pytest.param(Rough(seed=[0, 1, 2], amplitude=[0.01, 0.02, 0.02]), marks=pytest.mark.slow),
        HeightField(0.02 * np.random.default_rng(0).random((60, 60)), 0.1),
    ],
    ids=["sine", "rough", "heightfield"],
)
def test_mini_cheetah_trots_over_uneven_ground(terrain: Terrain) -> None:
    worlds = max((v.shape[0] for v in terrain.parameters().values() if v.ndim > 1), default=1)
    simulation = tarsus.Simulation(
        "mini_cheetah", terrain=terrain, controller="trot", worlds=worlds
    )
    log = simulation.run(3.0)
    q = np.asarray(log.q).reshape(-1, worlds, 19) if worlds > 1 else np.asarray(log.q)[:, None]
    assert q[..., 2].min() > 0.2
    assert (1 - 2 * (q[..., 4] ** 2 + q[..., 5] ** 2)).min() > 0.9  # upright
    assert (q[-1, :, 0] - q[0, :, 0] > 0.5).all()
    assert bool(np.asarray(log.converged).all())


@pytest.mark.slow
def test_a_robot_is_placed_on_the_ground() -> None:
    for terrain in (
        Sine(0.03, 0.3),
        Steps(rise=0.06, start=0.1),
        Rough(seed=[1, 2]),
        HeightField(BUMPS, 0.05),
    ):
        worlds = 2 if isinstance(terrain, Rough) else 1
        simulation = tarsus.Simulation(
            "mini_cheetah", terrain=terrain, worlds=worlds, controller="stand"
        )
        gap = np.asarray(simulation.run(simulation.dt).gap)
        assert (
            np.abs(gap.reshape(worlds, -1).min(1)).max() < 2e-4
        )  # the lowest foot, half a step on
        assert gap.max() < 0.05


# ---------------------------------------------------------------- bad input


def _branching(x: ca.SX, y: ca.SX) -> Any:
    return 0.1 if x > 0 else 0.0


@pytest.mark.parametrize(
    ("bad", "kind", "subject"),
    [
        (lambda: HeightField(), InvalidValue, "heights"),
        (lambda: HeightField(np.zeros((1, 5))), InvalidValue, "heights"),
        (lambda: HeightField(np.zeros(5)), InvalidValue, "heights"),
        (lambda: HeightField([[0.0, np.nan], [0.0, 0.0]]), InvalidValue, "heights"),
        (lambda: HeightField(np.zeros((3, 3)), cell=0.0), InvalidValue, "cell"),
        (lambda: HeightField(np.zeros((3, 3)), cell=(0.1, -0.1)), InvalidValue, "cell"),
        (lambda: HeightField(np.zeros((3, 3)), rounding=0.0), InvalidValue, "rounding"),
        (lambda: HeightField(np.zeros((3, 3)), rounding=2.0), InvalidValue, "rounding"),
        (lambda: HeightField(np.zeros((3, 3)), origin=(0.0, 0.0, 0.0)), InvalidValue, "origin"),
        (lambda: HeightField.from_image("nowhere.png"), InvalidFile, "nowhere.png"),
        (lambda: HeightField.from_image(__file__), InvalidFile, __file__),
        (lambda: Sine(wavelength=0.0), InvalidValue, "wavelength"),
        (lambda: Sine(amplitude=np.inf), InvalidValue, "amplitude"),
        (lambda: Rough(seed=0.5), InvalidValue, "seed"),  # type: ignore[arg-type]
        (lambda: Rough(shortest=2.0, longest=1.0), InvalidValue, "shortest"),
        (lambda: Steps(rise=0.02), InvalidValue, "edge_radius"),
        (lambda: Steps(count=0), InvalidValue, "count"),
        (lambda: Surface(), InvalidValue, "height"),
        (lambda: Surface(_branching), InvalidValue, "height"),
        (lambda: Surface(lambda x, y: [x, y]), InvalidValue, "height"),
        (lambda: Surface(lambda x, y: ca.vertcat(x, y)), InvalidValue, "height"),
        (lambda: Surface(lambda x, y: ca.SX.sym("t") * x), InvalidValue, "height"),
        (lambda: Surface(lambda x, y: np.nan), InvalidValue, "height"),
        (lambda: Surface(lambda x, y: None), InvalidValue, "height"),
    ],
)
def test_bad_ground_is_refused(bad: Any, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        bad()


@pytest.mark.parametrize("dtype, white", [(np.uint8, 255), (np.uint16, 65535)])
def test_a_height_field_is_read_from_an_image(tmp_path: Path, dtype: Any, white: int) -> None:
    shade = np.zeros((3, 4), dtype)
    shade[0, 3] = white  # top right: greatest x and y
    Image.fromarray(shade).save(tmp_path / "ground.png")
    field = HeightField.from_image(tmp_path / "ground.png", height=0.2, cell=0.1)
    assert np.asarray(field.heights)[2, 3] == 0.2
    gap, _ = look(field, [[9, 9, 0], [-9, -9, 0], [9, -9, 0]])
    np.testing.assert_allclose(gap, [-0.2, 0, 0], atol=1e-15)


def test_parameters_reach_the_compiled_code_by_name() -> None:
    p = Sine().symbols(Builder("names"))
    assert isinstance(p, SimpleNamespace) and p.amplitude.numel() == 1 and callable(p.lookup)
