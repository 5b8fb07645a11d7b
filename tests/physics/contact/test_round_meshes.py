"""Round meshes are recognized: they roll like the ball, disc or tire that they represent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.model.candidates import CORNERS, Shape
from tarsus.model.mjcf import read_mjcf
from tarsus.model.poses import Pose, rotation_about
from tarsus.model.round_meshes import MAX_FLAT, recognize_round_shape, round_shapes
from tarsus.morphology.feet import find_feet

Array = NDArray[np.float64]
TYRE = [(-0.026, 0.067), (-0.017, 0.0815), (0.0, 0.086), (0.017, 0.0815), (0.026, 0.067)]
DRUM = [(-0.03, 0.1), (0.03, 0.1)]
CONE = [(-0.05, 0.1), (0.15, 0.0)]
RING = [(0.01 * np.sin(t), 0.006 + 0.01 * np.cos(t)) for t in np.deg2rad(np.arange(-56, 57, 8))]
TURNED = rotation_about([0.36, 0.48, 0.8], 0.7)
ASIDE = np.array([0.3, -0.2, 0.1])


def turned(profile: list[tuple[float, float]], corners: int) -> Array:
    """Vertices about z, each (z, radius) of the profile as a polygon."""
    angles = 2 * np.pi * np.arange(corners) / corners
    rows = [[r * np.cos(a), r * np.sin(a), z] for z, r in profile for a in angles]
    return np.array(rows)


def ball(around: int, down: int) -> Array:
    """Vertices of a unit ball, as spheres are drawn: meridians and parallels."""
    angles = np.pi * np.arange(down + 1) / down
    return turned([(float(np.cos(a)), float(np.sin(a))) for a in angles], around)


def drawn(vertices: Array) -> Shape:
    """A mesh at a pose in its link, its vertices in rotated axes."""
    rotation = rotation_about([0.0, 0.6, 0.8], 1.1)
    pose = Pose(ASIDE - TURNED @ ASIDE, TURNED)
    return Shape("mesh", (), pose, "mesh", vertices @ rotation.T + ASIDE, friction=0.7)


@pytest.mark.parametrize(
    ("vertices", "kind", "size"),
    [
        (ball(12, 8), "sphere", [1.0]),
        (ball(48, 32) * 0.02, "sphere", [0.02]),
        (turned(DRUM, 12), "cylinder", [0.1, 0.03]),
        (turned(DRUM, 13), "cylinder", [0.1, 0.03]),
        (turned(TYRE, 60), "revolved", np.ravel(TYRE)),
        (turned(TYRE[::-1], 24), "revolved", np.ravel(TYRE)),
        (turned(CONE, 24), "revolved", [-0.1, 0.1, 0.1, 0.0]),
        (turned(RING, 48), "torus", [0.006, 0.01]),
    ],
)
def test_round_meshes_are_recognized(vertices: Array, kind: str, size: Array) -> None:
    found = recognize_round_shape(drawn(vertices))
    assert (found.kind, found.name, found.friction) == (kind, "mesh", 0.7)
    sizes = np.array(found.size)
    if kind == "revolved" and sizes[1] < sizes[-1]:  # either end may be the first
        sizes = sizes.reshape(-1, 2)[::-1].ravel() * np.tile([-1, 1], len(sizes) // 2)
    np.testing.assert_allclose(sizes, size, atol=MAX_FLAT * 0.016 if kind == "torus" else 1e-9)


def test_a_round_mesh_stands_at_its_drawn_pose() -> None:
    mesh = drawn(turned(CONE, 24))
    found = recognize_round_shape(mesh)
    rims = np.reshape(found.size, (-1, 2))
    back = (mesh.pose.point(mesh.vertices) - found.pose.position) @ found.pose.rotation
    for z, radius in rims:
        near = back[np.abs(back[:, 2] - z) < 1e-9]
        assert len(near) == 24
        np.testing.assert_allclose(np.linalg.norm(near[:, :2], axis=1), radius, atol=1e-9)


@pytest.mark.parametrize(
    "vertices",
    [
        CORNERS * [0.1, 0.2, 0.3],
        CORNERS * 0.1,  # its corners lie on a sphere
        turned(DRUM, 8),
        turned(TYRE, 40) * [1.0, 1.1, 1.0],
        ball(24, 16) * [1.0, 1.0, 0.0],
        ball(24, 16) * [1.0, 1.0, 1e-13],
        np.maximum(ball(24, 16), [-2.0, -2.0, -0.8]) + 0.05 * ball(24, 16)[:, [1, 2, 0]],
    ],
    ids=["box", "cube", "eight corners", "oval", "flat", "nearly flat", "dented"],
)
def test_other_meshes_are_not_replaced(vertices: Array) -> None:
    assert recognize_round_shape(drawn(vertices)).kind == "mesh"


UPS = {0: np.array([0.0, 0.0, 1.0])}
SHANK = ("link", 0, Shape("box", (0.02, 0.02, 0.1), Pose(np.array([0.0, 0.0, 0.1]))))


def split(*shapes: Shape) -> list[Shape]:
    """The shapes of a link after round meshes are recognized."""
    return [shape for _, _, shape in round_shapes([("link", 0, own) for own in shapes], UPS)]


def test_a_rubber_foot_below_its_shank_is_a_ball() -> None:
    uneven = 0.02 * ball(24, 16) * [1.0, 0.95, 1.0]  # too uneven for a ball on its own
    foot = Shape("mesh", vertices=uneven[uneven[:, 2] < 0.014])  # cut where the shank begins
    tip, shank = split(foot, SHANK[2])
    assert (tip.kind, shank.kind) == ("sphere", "box")
    assert tip.size[0] == pytest.approx(0.0195, abs=0.0005)
    np.testing.assert_allclose(tip.pose.position, 0.0, atol=0.001)


def test_a_shank_with_a_round_tip_is_a_ball_and_the_rest() -> None:
    top = turned([(0.3, 0.03), (0.28, 0.03)], 6)
    tip, rest = split(Shape("mesh", vertices=np.concatenate([0.02 * ball(24, 16), top])))
    assert (tip.kind, rest.kind) == ("sphere", "mesh")
    assert tip.size[0] == pytest.approx(0.02, rel=0.02)
    np.testing.assert_allclose(rest.vertices[:, 2].min(), 0.28, atol=1e-12)


@pytest.mark.parametrize(
    "vertices",
    [
        (0.02 * ball(24, 16) * [1.0, 0.95, 1.0])[ball(24, 16)[:, 2] <= 1e-9],
        turned([(0.0, 0.03), (0.05, 0.03)], 30) * [1.0, 1.5, 1.0],
        0.1 * ball(24, 16) * [1.0, 1.3, 0.3],
    ],
    ids=["dome, on a ball if upside down", "flat sole", "pebble"],
)
def test_other_tips_keep_their_vertices(vertices: Array) -> None:
    assert [shape.kind for shape in split(Shape("mesh", vertices=vertices))] == ["mesh"]


def test_a_round_foot_stands_on_its_lowest_candidate() -> None:
    foot = "<geom name='foot' type='sphere' size='0.03' pos='0 0 -0.3'/>"
    inside = "<geom type='cylinder' size='0.015 0.15' pos='0 0 -0.172'/>"  # ends inside the ball
    legs = "".join(
        f"<body name='leg{x}' pos='{x} 0 0'><joint type='hinge' axis='0 1 0'/>{foot}{inside}"
        "</body>".replace("foot", f"foot{x}")
        for x in (0.0, 0.2)
    )
    robot = read_mjcf(
        f"<mujoco><worldbody><body pos='0 0 0.33'><freejoint/><geom type='box' size='.2 .1 .02'/>"
        f"{legs}</body></worldbody></mujoco>"
    )
    assert [candidate.radius for candidate in find_feet(robot)] == [0.03, 0.03]


def body(vertices: Array, height: float) -> Robot:
    """Free body of a mesh whose axis is along y, with given mass and inertia."""
    numbers = " ".join(f"{x:.9g}" for x in vertices[:, [0, 2, 1]].ravel())
    return Robot.of(
        read_mjcf(
            f"<mujoco><asset><mesh name='m' vertex='{numbers}'/></asset><worldbody>"
            f"<body pos='0 0 {height}'><freejoint/><geom type='mesh' mesh='m'/>"
            "<inertial pos='0 0 0' mass='2' diaginertia='0.004 0.007 0.004'/></body>"
            "</worldbody></mujoco>"
        )
    )


@pytest.mark.parametrize(
    ("vertices", "radius"),
    [
        (turned(TYRE, 36), 0.086),
        (turned(DRUM, 16), 0.1),
        (0.05 * ball(24, 16), 0.05),
    ],
    ids=["tyre", "drum", "ball"],
)
def test_a_round_mesh_rolls_a_meter_without_loss(vertices: Array, radius: float) -> None:
    simulation = Simulation(body(vertices, radius - 1e-8), Moreau(), dt=2.5e-3)
    u = np.zeros(6)
    u[0], u[4] = 1.0, 1.0 / radius
    simulation.set(u=u)
    simulation.advance(1.0)
    # but for what the solver's tolerance leaves; MuJoCo keeps vertices in single precision
    assert simulation.q[0] == pytest.approx(1.0, abs=1e-6)
    assert simulation.u[0] == pytest.approx(1.0, abs=1e-6)
    assert simulation.q[2] == pytest.approx(radius, abs=2e-8)


def test_a_ring_rolls_over_its_tube_without_loss() -> None:
    """From upright and from tilted attitudes, as a foot rolls sideways while its leg moves."""
    robot = body(turned(RING, 48), 0.0)
    first = robot.candidates[0]
    assert first.outline is not None
    radius, tube = first.outline.size, float(first.radius)
    tilts, rate = np.deg2rad([0.0, 25.0, 50.0]), 2.0
    simulation = Simulation(robot, Moreau(mu=2.0, recovery=0.0), worlds=3, dt=2.5e-4)
    q, u = simulation.q, np.zeros((3, 6))
    q[:, 3:7] = np.c_[np.cos(tilts / 2), np.sin(tilts / 2), 0 * tilts, 0 * tilts]
    q[:, 2] = tube + radius * np.cos(tilts) - 1e-9
    u[:, 1:4] = np.c_[-rate * q[:, 2], -rate * radius * np.sin(tilts), 0 * tilts + rate]
    simulation.set(q=q, u=u)

    def energy() -> Array:
        q, u = simulation.q, simulation.u
        kinetic = 0.5 * np.einsum("ni,nij,nj->n", u, robot.mass_matrix(q), u)
        return kinetic + 2.0 * 9.81 * q[:, 2]

    before = energy()
    simulation.advance(0.1)
    np.testing.assert_allclose(energy(), before, atol=2e-5)
    now = 2 * np.arctan2(simulation.q[:, 4], simulation.q[:, 3])
    assert (now - tilts > 0.19).all()
    heights = tube + radius * np.cos(now)
    np.testing.assert_allclose(simulation.q[:, 2], heights, atol=1e-6)
    rolled = tube * (now - tilts) + radius * (np.sin(now) - np.sin(tilts))
    np.testing.assert_allclose(simulation.q[:, 1], -rolled, atol=2e-6)


def test_a_wheel_that_lies_down_rests_on_its_side() -> None:
    robot = body(turned(TYRE, 36), 0.03)
    simulation = Simulation(robot, Moreau(), dt=2.5e-3)
    q = simulation.q
    q[3:7] = np.array([np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0])  # its axis upright
    simulation.set(q=q)
    log = simulation.run(0.5)
    assert np.abs(log.u[-1]).max() < 1e-9
    assert log.q[-1, 2] == pytest.approx(0.026, abs=1e-4)


def test_a_wheel_mesh_of_a_file_rolls(tmp_path: Path) -> None:
    import trimesh

    trimesh.creation.cylinder(radius=0.1, height=0.06, sections=32).export(tmp_path / "wheel.stl")
    (tmp_path / "wheel.urdf").write_text(
        '<robot name="wheel"><link name="hub"><inertial><mass value="2"/><inertia ixx="0.006" '
        'ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.01"/></inertial><collision><geometry>'
        '<mesh filename="wheel.stl"/></geometry></collision></link></robot>'
    )
    from tarsus import load

    robot = load(str(tmp_path / "wheel.urdf"))
    assert len(robot.candidates) == 6
    assert [solid.name for solid in robot.solids] == ["hub"]  # and so it meets other bodies
    assert any("hub" in note for note in robot.notes)
