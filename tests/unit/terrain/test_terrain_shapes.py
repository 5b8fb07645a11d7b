"""Drawn shapes have the poses of the kinematics, for robots of any file format."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import xarray as xr
from helpers.refused import refused
from helpers.warned import warned

import tarsus
from tarsus.dynamics.poses import poses
from tarsus.errors import InvalidFile, TarsusWarning, UnmetCondition, warning_record
from tarsus.model.mechanism import WORLD, Body, Inertia, Joint
from tarsus.model.poses import Pose, rotation_about
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.ice_patch import IcePatch
from tarsus.terrain.patched import Patched
from tarsus.terrain.plane import Plane
from tarsus.terrain.sine import Sine
from tarsus.terrain.slope import Slope
from tarsus.viewer import solids
from tarsus.viewer.ground import SLIPPERY, ground_shapes, level_height, terrain_of
from tarsus.viewer.mesh_files import split_creases
from tarsus.viewer.model_shapes import model_shapes
from tarsus.viewer.page import quaternions
from tarsus.viewer.shapes import drawn_shapes, links

MATTER = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
RANDOM = np.random.default_rng(15)


def coordinates(robot: tarsus.Robot, count: int = 2) -> np.ndarray:
    """Random ones (count, nq)."""
    u = RANDOM.normal(size=(count, robot.nu))
    return robot.integrate(np.tile(robot.neutral(), (count, 1)), u, 0.7)


def volume(mesh: solids.Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def test_drawn_bodies_match_kinematics() -> None:
    robot = tarsus.load("mini_cheetah")
    q = coordinates(robot, 3)
    positions, rotations = poses(robot, q)
    for k, name in enumerate(robot.body_names):
        np.testing.assert_allclose(positions[:, k], robot.position(q, name), atol=1e-12)
        np.testing.assert_allclose(rotations[:, k], robot.rotation(q, name), atol=1e-12)
    np.testing.assert_allclose(rotations[:, WORLD], np.tile(np.eye(3), (3, 1, 1)))
    np.testing.assert_allclose(np.linalg.norm(quaternions(rotations), axis=-1), 1.0)


@pytest.mark.parametrize(
    ("mesh", "expected"),
    [
        (solids.box((0.1, 0.2, 0.3)), 0.048),
        (solids.sphere(0.5), 4 / 3 * np.pi * 0.125),
        (solids.cylinder(0.5, 1.0), np.pi * 0.5),
        (solids.capsule(0.5, 1.0), np.pi * 0.5 + 4 / 3 * np.pi * 0.125),
        (solids.sphere(1.0).scale((0.1, -0.2, 0.3)), 4 / 3 * np.pi * 0.006),
    ],
)
def test_solids_have_the_right_volume(mesh: solids.Mesh, expected: float) -> None:
    assert volume(mesh) == pytest.approx(expected, rel=0.02)  # of 32 sides
    pose = Pose(np.array([1.0, 2.0, 3.0]), rotation_about([0.6, 0.0, 0.8], 1.0))
    assert volume(mesh.at(pose)) == pytest.approx(volume(mesh), rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-9)


def test_creases_keep_every_triangle() -> None:
    box = solids.box((0.1, 0.2, 0.3))
    again = split_creases(box.vertices, box.faces)
    np.testing.assert_allclose(again.vertices[again.faces], box.vertices[box.faces])
    assert len(again.vertices) == 24  # four corners a side, so that all edges are sharp


def test_visual_shapes_of_a_urdf_match_pinocchio() -> None:
    folder = robots_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed")
    path = folder / LEGGED["solo12"]
    robot = tarsus.load(path)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    geometry = pin.buildGeomFromUrdf(
        model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(folder.parents[1])]
    )
    q = coordinates(robot, 1)[0]
    theirs = np.concatenate([q[:3], q[[4, 5, 6, 3]], _by_joint(robot, q, model)])
    data, placed = model.createData(), geometry.createData()
    pin.updateGeometryPlacements(model, data, geometry, placed, theirs)
    positions, rotations = poses(robot, q)
    ours = [
        positions[0, shape.body] + shape.mesh.vertices @ rotations[0, shape.body].T
        for shape in model_shapes(robot)
    ]
    found = []
    for thing, pose in zip(geometry.geometryObjects, placed.oMg, strict=True):
        vertices = np.array(thing.geometry.vertices()) * thing.meshScale
        found.append(vertices @ pose.rotation.T + pose.translation)
    assert len(ours) == len(found) > 12
    np.testing.assert_allclose(_boxes(ours), _boxes(found), atol=1e-5)


def _boxes(clouds: list[np.ndarray]) -> np.ndarray:
    """Lowest and highest corners, sorted."""
    found = np.array([[*cloud.min(0), *cloud.max(0)] for cloud in clouds])
    return found[np.lexsort(np.round(found, 4).T)]


def _by_joint(robot: tarsus.Robot, q: np.ndarray, model: pin.Model) -> list[float]:
    starts = {name: at.start for name, at in zip(robot.joint_names, robot.q_slices, strict=True)}
    return [q[starts[name]] for name in list(model.names)[2:]]


MJCF = """<mujoco><worldbody>
  <body name="base" pos="0 0 1"><freejoint/><geom type="box" size=".2 .1 .05" mass="3"/>
    <body name="thigh" pos=".2 .1 0" euler="10 20 30">
      <joint name="a" axis="0 1 0" pos=".01 .02 .03" ref="20"/><joint name="b" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0 .1 -.2" size=".03" rgba=".9 .1 .1 1"/>
      <geom type="sphere" size=".4" group="3"/>
      <body name="cap" pos="0 .1 -.2">
        <geom type="ellipsoid" size=".02 .03 .05" euler="0 40 0"/></body>
      <body name="shank" pos="0 0 -.3"><joint name="c" type="slide" axis="0 0 1" ref=".1"/>
        <geom type="cylinder" size=".02 .1" pos="0 .05 0" euler="30 0 0"/></body>
    </body></body>
  <geom type="plane" size="1 1 1"/></worldbody></mujoco>"""


def test_visual_geoms_match_mujoco(tmp_path: Path) -> None:
    path = tmp_path / "leg.xml"
    path.write_text(MJCF)
    robot = tarsus.load(path)
    shapes = drawn_shapes(robot)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    data.qpos[:] = coordinates(robot, 1)[0]
    mujoco.mj_kinematics(model, data)
    positions, rotations = poses(robot, np.array(data.qpos))
    middles = [
        positions[0, s.body]
        + rotations[0, s.body] @ (s.mesh.vertices.max(0) + s.mesh.vertices.min(0)) / 2
        for s in shapes
        if s.color == pytest.approx((0.9, 0.1, 0.1))
    ]
    # one capsule in red; the geoms of one color of a body are joined; group 3 is not seen
    np.testing.assert_allclose(middles, data.geom_xpos[[2]], atol=1e-9)
    assert len(shapes) == 4 and max(np.ptp(s.mesh.vertices, axis=0).max() for s in shapes) < 0.45
    every = np.concatenate(
        [positions[0, s.body] + s.mesh.vertices @ rotations[0, s.body].T for s in shapes]
    )
    assert np.ptp(every, axis=0).max() < 1.5


def test_robots_without_visuals_are_drawn_as_sticks() -> None:
    robot = tarsus.load("mini_cheetah").with_contacts("*_foot")
    for shape in links(robot):
        if shape.body > 0 and shape.color == links(robot)[1].color:
            below = [b.position for b in robot.bodies if b.parent == shape.body]
            below += [c.position for c in robot.candidates if c.body == shape.body]
            length = max(np.linalg.norm(position) for position in below)
            assert np.linalg.norm(shape.mesh.vertices, axis=1).max() < 1.35 * length
    box = next(shape for shape in links(robot) if shape.body == 0)
    half = np.ptp(box.mesh.vertices, axis=0) / 2
    inertia = robot.bodies[0].inertia
    moment = inertia.mass / 3 * (half[1] ** 2 + half[2] ** 2)
    assert moment == pytest.approx(inertia.about_com[0, 0], rel=1e-6)


def test_missing_meshes_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="l">{MATTER}<visual><geometry><mesh filename="gone.stl"/>'
        "</geometry></visual></link></robot>"
    )
    with warned("visual-meshes-missing", "gone.stl"):
        robot = tarsus.load(path)
    with pytest.warns(TarsusWarning) as told:
        assert drawn_shapes(robot)[0].body == 0  # as a box of its inertia
    (notice,) = (warning_record(w.message) for w in told)
    assert (notice.code, notice.subject) == ("mesh-not-found", "gone.stl")


def test_the_drawn_ground_matches_the_terrain() -> None:
    path = np.array([[0.0, 0.0], [1.0, 0.5]])
    for terrain in (Slope(), Sine()):
        vertices = ground_shapes(terrain, path)[0].mesh.vertices
        far = vertices[(vertices[:, :2] - 0.3).argmax(0)[0]]
        if isinstance(terrain, Slope):
            assert far[2] == pytest.approx(far[0] * np.tan(terrain.angle), abs=1e-9)
        assert level_height(terrain) is None and np.ptp(vertices[:, 2]) > 1e-3
    assert level_height(Plane()) == 0.0 and ground_shapes(Plane(), path) == []
    ice = ground_shapes(IcePatch(), path)
    assert [shape.color for shape in ice] == [SLIPPERY] and level_height(IcePatch()) == 0.0
    aside = np.linalg.norm(ice[0].mesh.vertices[:, :2] - [1.0, 0.0], axis=1)
    assert aside.max() == pytest.approx(0.4, abs=0.06)
    boxes = ground_shapes(Boxes(), path)
    tops = [shape.mesh.vertices[:, 2].max() for shape in boxes]
    described = Boxes().parameters()["boxes"].reshape(-1, 7)
    np.testing.assert_allclose(tops, described[:, 6])


@pytest.mark.parametrize("terrain", [Slope(0.1), Boxes(), IcePatch(), Patched(Sine())])
def test_the_terrain_of_a_log_is_recreated(terrain: Terrain) -> None:
    from tarsus.simulation.recording.provenance import part_attributes

    log = xr.Dataset(attrs=part_attributes(tarsus.load("biped"), {"terrain": terrain}))
    again = terrain_of(log.attrs)
    assert type(again) is type(terrain)
    for name, value in terrain.parameters().items():
        np.testing.assert_array_equal(again.parameters()[name], value)


def test_terrains_that_logs_cannot_store_are_reported() -> None:
    with pytest.warns(TarsusWarning) as told:
        assert isinstance(terrain_of({"terrain": "surface"}), Plane)
    (notice,) = (warning_record(w.message) for w in told)
    assert (notice.code, notice.subject) == ("terrain-not-drawn", "surface")
    with refused(UnmetCondition, "ghost"):
        drawn_shapes(tarsus.Robot("ghost", (Body("b", WORLD, Joint("j", "free"), Inertia(0.0)),)))


@pytest.mark.parametrize(
    ("shape", "attribute"),
    [
        ('<origin xyz="0 0 up"/><geometry><sphere radius=".1"/></geometry>', "xyz"),
        ('<geometry><box size="1 2"/></geometry>', "size"),
        ("<geometry><cylinder radius='.1'/></geometry>", "length"),
    ],
)
def test_an_invalid_visual_shape_is_refused(tmp_path: Path, shape: str, attribute: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="l">{MATTER}<visual>{shape}</visual></link></robot>'
    )
    with refused(InvalidFile, attribute):
        drawn_shapes(tarsus.load(path))
