"""Ground from the fixed geoms of an MJCF file: heights match MuJoCo's rays."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus import TarsusError
from tarsus.cli import main
from tarsus.errors import InvalidFile, InvalidValue, Unsupported, WorldGeometryIgnored
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.simulation.ground_samples import sample_ground
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.plane import Plane
from tarsus.terrain.world import World

mujoco: Any = pytest.importorskip("mujoco")
YARD = Path(__file__).parents[2] / "helpers" / "yard.xml"
FLOOR = '<geom type="plane" size="0 0 1"/>'
HILLS = """<geom type="cylinder" size=".2 .1" pos="0 0 .1"/>
  <geom type="box" size=".3 .2 .05" pos="1 0 .1" euler="0 20 0"/>
  <geom type="ellipsoid" size=".4 .3 .2" pos="0 1 0"/>
  <geom type="capsule" size=".05 .2" pos="-1 0 .1" euler="0 90 40"/>"""
LEVEL = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # normal, and tangents along x and y
ELEVATION = " ".join(map(str, np.random.default_rng(1).random(35).round(3)))
DUNE = f"""<asset><hfield name="dune" nrow="5" ncol="7" size=".3 .2 .1 .01"
  elevation="{ELEVATION}"/></asset>"""


def file(folder: Path, fixed: str, before: str = "") -> str:
    path = folder / "ground.xml"
    path.write_text(f"<mujoco>{before}<worldbody>{fixed}</worldbody></mujoco>")
    return str(path)


def heights(terrain: Terrain, places: np.ndarray) -> np.ndarray:
    """Heights of the terrain at positions (n, 2)."""
    return sample_ground(terrain, places)[0]


def rays(path: str, places: np.ndarray) -> np.ndarray:
    """First fixed, colliding shape hit by a vertical ray from 10 m."""
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    model.geom_group[(model.geom_contype == 0) | (model.body_weldid[model.geom_bodyid] != 0)] = 3
    groups, hit = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8), np.zeros(1, dtype=np.int32)
    down = np.array([0.0, 0.0, -1.0])
    return np.array(
        [
            10 - mujoco.mj_ray(model, data, np.array([x, y, 10.0]), down, groups, True, -1, hit)
            for x, y in places
        ]
    )


def test_a_floor_with_upright_boxes_is_exact() -> None:
    """The floor, a standing box, and one that floats, rotated with its body. Shapes that move
    or do not collide are no ground.
    """
    world = World(str(YARD))
    assert isinstance(world.ground, Boxes) and len(world.ground.position) == 2
    places = np.random.default_rng(0).uniform(-1.8, 1.8, (400, 2))
    found, asked = heights(world, places), rays(str(YARD), places)
    np.testing.assert_allclose(found, asked, atol=1e-9)
    assert len(np.unique(asked.round(6))) == 3


def test_a_floor_alone_is_a_plane(tmp_path: Path) -> None:
    assert isinstance(World(file(tmp_path, FLOOR)).ground, Plane)
    high = World(file(tmp_path, FLOOR.replace("/>", ' pos="0 0 .3"/>')))
    np.testing.assert_allclose(heights(high, np.zeros((1, 2))), 0.3)


@pytest.mark.parametrize(("top", "turn"), [(0.0, 0), (0.3, 30)])
def test_a_box_whose_edges_are_far_is_a_floor(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, top: float, turn: int
) -> None:
    """Alone, above a plane, and below other shapes."""
    far = f'<geom name="deck" type="box" size="80 90 1" pos="9 -9 {top - 1}" euler="0 0 {turn}"/>'
    for below in ("", FLOOR.replace("/>", ' pos="0 0 -2"/>')):
        world = World(file(tmp_path, below + far))
        assert world.ground.flat and isinstance(world.ground, HeightField if top else Plane)
        np.testing.assert_allclose(heights(world, np.array([[0, 0], [30.0, -40]])), top, atol=1e-12)
    assert "deck" in caplog.text
    stone = f'<geom type="box" size=".2 .1 .1" pos="1 0 {top}"/>'
    places = np.random.default_rng(0).uniform(-1.8, 1.8, (200, 2))
    path = file(tmp_path, far + stone)
    world = World(path)
    assert isinstance(world.ground, Boxes) and len(world.ground.position) == 1
    np.testing.assert_allclose(heights(world, places), rays(path, places), atol=1e-9)


@pytest.mark.parametrize("pose", ['size="40 90 1"', 'size="90 90 1" pos="60 0 0"'])
def test_a_box_whose_edges_are_nearer_keeps_them(tmp_path: Path, pose: str) -> None:
    path = file(tmp_path, FLOOR + f'<geom type="box" {pose}/>')
    world = World(path)
    assert isinstance(world.ground, Boxes) and not world.ground.flat
    places = np.array([[x, 0.0] for x in (-41.0, -39.0, -29.0, 0.0, 39.0, 41.0)])
    np.testing.assert_allclose(heights(world, places), rays(path, places), atol=1e-9)


def test_level_heights_are_a_plane_at_a_height() -> None:
    """Exactly, on the field and beyond it."""
    field = HeightField(np.full((3, 4), 0.3), 0.1)
    b = Builder("level")
    point = b.parameter("point", 3)
    distance, frame = field.surface(point, field.symbols(b))
    program = b.program(distance=distance, frame=ca.vec(frame))
    points = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    found = reference.run(program, {"point": points, "terrain.origin": [[0.0, 0.0]]})
    np.testing.assert_array_equal(found["distance"][:, 0], points[:, 2] - 0.3)
    np.testing.assert_array_equal(found["frame"], np.tile(LEVEL.T.ravel(), (50, 1)))


def test_other_ground_shapes_become_heights(tmp_path: Path) -> None:
    """At the nodes of the grid; the side of a capsule is accurate to about 1e-7 m."""
    path = file(tmp_path, FLOOR + HILLS)
    world = World(path, cell=0.047)
    field = world.ground
    assert isinstance(field, HeightField)
    found = np.array(field.heights)
    rows, columns = found.shape
    x, y = np.meshgrid(
        *(np.asarray(field.origin)[k] + 0.047 * np.arange(n) for k, n in enumerate((columns, rows)))
    )
    places = np.column_stack([x.ravel(), y.ravel()])
    np.testing.assert_allclose(found.ravel(), rays(path, places), atol=1e-6)
    assert np.ptp(found) > 0.2
    # beyond them the floor goes on
    np.testing.assert_allclose(heights(world, np.array([[9.0, 9.0], [-9.0, 0.0]])), 0.0)


def test_height_fields_of_files_keep_their_heights(tmp_path: Path) -> None:
    path = file(tmp_path, FLOOR + '<geom type="hfield" hfield="dune" pos=".1 .2 .03"/>', DUNE)
    field = World(path).ground
    assert isinstance(field, HeightField)
    found = np.array(field.heights)
    assert found.shape == (5, 7)
    x, y = np.meshgrid(0.1 + np.linspace(-0.3, 0.3, 7), 0.2 + np.linspace(-0.2, 0.2, 5))
    inside = np.column_stack([x.ravel(), y.ravel()])
    inside = (inside - [0.1, 0.2]) * (1 - 1e-9) + [0.1, 0.2]  # a ray on the border misses
    np.testing.assert_allclose(found.ravel(), rays(path, inside), atol=1e-6)


def test_a_ball_comes_to_rest_on_a_ground_box_of_its_file(tmp_path: Path) -> None:
    sim = tarsus.Simulation(str(YARD), terrain=str(YARD), controller=None, dt=0.001)
    start = sim.q.copy()
    start[:3] = 1.0, 0.1, 0.251
    sim.set(q=start)
    log = sim.run(1.0, to=tmp_path / "ball.nc")
    assert log.q.values[-1, 2] == pytest.approx(0.2 + 0.05, abs=1e-4)
    assert log.attrs["terrain"] == "world"
    # the log says all that it takes to run it again
    assert main(["rerun", str(tmp_path / "ball.nc")]) == 0


def test_changed_ground_files_are_detected(tmp_path: Path) -> None:
    path = tmp_path / "yard.xml"
    shutil.copy(YARD, path)
    before = World(str(path)).sha256
    assert World(str(path), sha256=before).sha256 == before
    path.write_text(YARD.read_text().replace('size=".2 .3 .05"', 'size=".2 .3 .06"'))
    with refused(InvalidFile, path):
        World(str(path), sha256=before)


@pytest.mark.parametrize(
    ("fixed", "cell", "kind", "subject"),
    [
        ('<body><freejoint/><geom size=".1"/></body>', 0.02, InvalidFile, "FILE"),
        (
            '<geom name="tilted" type="plane" size="1 1 1" euler="5 0 0"/>',
            0.02,
            Unsupported,
            "tilted",
        ),
        (FLOOR + HILLS, 1e-4, InvalidValue, "cell"),
    ],
)
def test_files_without_ground_are_rejected(
    tmp_path: Path, fixed: str, cell: float, kind: type[TarsusError], subject: str
) -> None:
    path = file(tmp_path, fixed)
    with refused(kind, path if subject == "FILE" else subject):
        _ = World(path, cell=cell).ground


def test_cell_size_can_be_set(tmp_path: Path) -> None:
    path = file(tmp_path, FLOOR + HILLS)
    with refused(InvalidValue, "cell") as caught:
        _ = World(path, cell=1e-4).ground
    enough = float(str(caught.value).rpartition("set cell to ")[2].split()[0])
    assert np.size(World(path, cell=enough).ground.heights) <= 1_000_000  # type: ignore[attr-defined]


def test_without_a_floor_the_ground_height_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(file(tmp_path, '<geom type="box" size=".1 .1 .1"/>'))
    np.testing.assert_allclose(heights(world, np.array([[5.0, 5.0]])), 0.1)
    assert "no level floor" in caplog.text


def test_the_command_accepts_a_ground_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere.xml"
    assert main(["run", "mini_cheetah", "--terrain", str(missing), "--duration", "0.1"]) == 2
    assert str(missing) in capsys.readouterr().err


STAIR = """<geom type="plane" size="0 0 1"/>
<geom name="step" type="box" pos=".8 0 .05" size=".3 1 .05"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>"""


def test_no_warning_for_a_robot_on_the_ground_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its ground is the terrain, so that nothing is ignored; on another terrain it is, with a
    warning.
    """
    path = file(tmp_path, STAIR)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WorldGeometryIgnored)
        tarsus.Simulation(path, terrain=path)
        tarsus.Simulation(path, terrain=World(path))
        with pytest.raises(WorldGeometryIgnored, match="worldbody"):
            tarsus.Simulation(path, terrain="plane")
    flags = ["run", path, "--gait", "free", "--duration", "0.1", "--out", str(tmp_path)]
    told = []
    for ground in (path, "plane"):
        assert main([*flags, "--terrain", ground]) == 0
        told.append("left out" in "".join(capsys.readouterr()))
    assert told == [False, True]
