"""Videos and images of logs: contents, number of frames, and rejected options."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused
from PIL import Image

import tarsus
from tarsus.cli import main
from tarsus.errors import InvalidFile, Unsupported, warning_record
from tarsus.installation import extra_install_command
from tarsus.model.mechanism import WORLD
from tarsus.simulation.recording.log import save_log
from tarsus.viewer import ray_caster, solids
from tarsus.viewer.arrows import PHASES, Scale, arrows, cones
from tarsus.viewer.body_poses import grid_positions
from tarsus.viewer.drawn_shape import DrawnShape
from tarsus.viewer.ray_caster import LIGHT, Camera, PlacedSolid, RenderScene, Solid
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.track import IMPACT, OPEN, SLIP, STICK, Contacts, build_track, phases
from tarsus.viewer.video import RenderSettings, Stage, times

pytest.importorskip("embreex", reason="there is no wheel for this processor")
SMALL = RenderSettings(160, 120)


@pytest.fixture(scope="module")
def log() -> xr.Dataset:
    return tarsus.Simulation("mini_cheetah", controller="trot").run(0.3)


@pytest.fixture(scope="module")
def path(log: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("logs") / "trot.nc"
    save_log(log, file)
    return file


def ball(radius: float, place: tuple[float, float, float], opaque: bool = True) -> PlacedSolid:
    shape = DrawnShape(WORLD, solids.sphere(radius), (1.0, 0.0, 0.0))
    return PlacedSolid(Solid(shape), np.array(place), np.eye(3), opaque)


def red(image: np.ndarray) -> np.ndarray:
    return image[..., 0] > 1.4 * image[..., 1]


def test_balls_have_their_perspective_size() -> None:
    camera = Camera(np.array([0.0, -4.0, 0.0]), np.zeros(3), 320, 240)
    seen = red(ray_caster.render_image(RenderScene([ball(0.5, (0.0, 0.0, 0.0))], None), camera))
    # the cone around a ball of radius r at distance d opens by asin(r / d)
    radius = np.tan(np.arcsin(0.5 / 4.0)) / camera.view * camera.height
    assert seen.sum() == pytest.approx(np.pi * radius**2, rel=0.02)
    rows, columns = np.nonzero(seen)
    assert (rows.mean(), columns.mean()) == pytest.approx((119.5, 159.5), abs=0.3)


def test_the_nearer_of_two_balls_hides_the_other_and_a_pale_one_does_not() -> None:
    camera = Camera(np.array([0.0, -4.0, 0.0]), np.zeros(3), 64, 48)
    blue = DrawnShape(WORLD, solids.sphere(0.5), (0.0, 0.0, 1.0))
    behind = PlacedSolid(Solid(blue), np.array([0.0, 1.0, 0.0]), np.eye(3))
    front = ball(0.5, (0.0, 0.0, 0.0))
    for order in ([front, behind], [behind, front]):
        assert red(ray_caster.render_image(RenderScene(order, None), camera))[24, 32]
    pale = ball(0.5, (0.0, 0.0, 0.0), opaque=False)
    middle = ray_caster.render_image(RenderScene([pale, behind], None), camera)[24, 32]
    assert middle[2] > middle[0] > middle[1]


def test_a_shadow_lies_along_the_light() -> None:
    camera = Camera(np.array([0.0, -0.01, 8.0]), np.zeros(3), 320, 240)
    shaded = RenderScene([ball(0.2, (0.3, 0.2, 1.0))], 0.0)
    bare = ray_caster.render_image(RenderScene([], 0.0), camera).astype(int)
    darker = (bare - ray_caster.render_image(shaded, camera)).min(-1) > 30
    rows, columns = np.nonzero(darker & ~red(ray_caster.render_image(shaded, camera)))
    scale = 8.0 * camera.view / camera.height
    middle = (columns.mean() + 0.5 - 160) * scale, (120 - rows.mean() - 0.5) * scale
    expected = np.array([0.3, 0.2]) - LIGHT[:2] / LIGHT[2]
    np.testing.assert_allclose(middle, expected, atol=0.06)


def test_stance_phases_distinguish_impacts() -> None:
    state = np.array([1, 1, 0, 0, 2, 2, 1, 1])[:, None]
    np.testing.assert_array_equal(
        phases(state, 0.015)[:, 0], [STICK, STICK, OPEN, OPEN, IMPACT, IMPACT, STICK, STICK]
    )
    np.testing.assert_array_equal(phases(state, 1.0)[4:6, 0], [IMPACT, SLIP])


def test_arrows_point_along_forces_and_cones_open_by_the_friction() -> None:
    scale = Scale(0.5, 100.0)
    force = np.array([[30.0, 0.0, 40.0], [0.0, 0.0, 1e-3], [0.0, 0.0, 50.0]])
    contacts = Contacts(
        np.array([[1.0, 2.0, 0.0], [0, 0, 0], [0, 0, 0]]),
        force,
        np.tile([0.0, 0.0, 1.0], (3, 1)),
        np.array([SLIP, STICK, OPEN]),
        np.array([0.5, np.nan, 0.5]),
    )
    (only,) = arrows(contacts, scale)
    along = (only.mesh.vertices - contacts.point[0]) @ force[0] / 50.0
    assert only.color == PHASES[SLIP][1] and along.min() == pytest.approx(0.0, abs=1e-12)
    twice = Contacts(contacts.point, 2 * force, contacts.normal, contacts.phase, contacts.mu)
    longer = (arrows(twice, scale)[0].mesh.vertices - contacts.point[0]) @ force[0] / 50.0
    assert longer.max() == pytest.approx(2 * along.max())
    (cone,) = cones(contacts, scale)
    away = cone.mesh.vertices - contacts.point[0]
    assert np.hypot(away[:, 0], away[:, 1]).max() == pytest.approx(0.5 * away[:, 2].max())


def test_frames_show_the_log_at_their_times(log: xr.Dataset) -> None:
    shown = build_track(log)
    at = times(shown, 25.0, 0.5)
    assert len(at) == 15 and np.allclose(np.diff(at), 0.02)
    for time in at:
        assert abs(shown.time[shown.step_at(time)] - time) <= 0.00126
    step = shown.step_at(0.2)
    positions, _ = shown.poses(step)
    np.testing.assert_allclose(positions[0, 0], log["q"].sel(time=0.2, method="nearest")[:3])
    # the same time gives the same picture, another time another one
    stage = Stage([shown], SMALL)
    first, later = stage.frame(0.1), stage.frame(0.25)
    assert np.array_equal(first, stage.frame(0.1)) and not np.array_equal(first, later)
    assert first.shape == (120, 160, 3) and first.std() > 5


def test_the_number_of_video_frames_matches_the_log(path: Path, tmp_path: Path) -> None:
    film, animation = tmp_path / "trot.mp4", tmp_path / "trot.gif"
    size = ["--size", "96x64", "--rate", "20"]
    assert main(["render", str(path), str(film), *size]) == 0
    with av.open(str(film)) as opened:
        stream = opened.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in opened.decode(stream)]
        assert stream.average_rate == 20 and stream.codec_context.name == "h264"
    assert len(frames) == 6 and frames[0].shape == (64, 96, 3)
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 50
    assert main(["render", str(path), str(animation), *size, "--speed", "2"]) == 0
    with Image.open(animation) as opened:
        assert opened.n_frames == 3 and opened.info["duration"] == 50  # type: ignore[attr-defined]


def test_images_and_strips(path: Path, log: xr.Dataset, tmp_path: Path) -> None:
    out = tmp_path / "strip.png"
    assert (
        main(["render", str(path), str(out), "--strip", "3", "--size", "64x48", "--hide-forces"])
        == 0
    )
    assert Image.open(out).size == (192, 48)
    # a second log and a log of two worlds are seen through, or stand apart
    many = tmp_path / "many.nc"
    save_log(tarsus.Simulation("mini_cheetah", controller="stand", worlds=2).run(0.02), many)
    both = ["render", str(path), str(many), str(out), "--times", "0.1", "--size", "64x48"]
    assert main(both) == 0 and Image.open(out).size == (64, 48)
    assert main([*both, "--spacing", "0.6"]) == 0 and Image.open(out).size == (64, 48)


def test_robots_stand_on_a_square_grid_in_view(log: xr.Dataset) -> None:
    # twelve worlds, of which two lie on their sides
    many = log.expand_dims(world=12).transpose("time", "world", ...).isel(time=slice(2)).copy(True)
    many["q"][:, [3, 11], 3:7] = np.sqrt([0.5, 0.5, 0.0, 0.0])
    stage = Stage([build_track(many)], replace(SMALL, width=480, height=240, forces=False))
    colors = {tuple(placed.solid.color) for placed in stage._grid_robots(0.0)}
    own = {shape.color for shape in drawn_shapes(stage.tracks[0].robot)}
    assert own < colors and len(colors) == 2 * len(own)  # those that lie have their own
    camera = stage._camera(0)
    places = stage._offsets + np.array([0, 0, 0.28])
    right, up, ahead = camera.axes @ (places - camera.eye).T
    high = up / ahead / (ray_caster.VIEW / 2)
    wide = right / ahead / (ray_caster.VIEW / 2 * 2)  # 480 by 240
    assert max(abs(wide).max(), abs(high).max()) < 1.0  # all of them, and not from afar
    assert max(abs(wide).max(), abs(high).max()) > 0.5
    assert wide.max() == pytest.approx(-wide.min(), abs=0.05)
    # nearer to each other if asked; the page has the same square
    closer = Stage([build_track(many)], replace(SMALL, spacing=0.1))
    np.testing.assert_allclose(closer._offsets, 0.1 * grid_positions(12))
    assert len(Stage([build_track(log)], SMALL)._offsets) == 1
    # not on ground that is elsewhere another one
    sloped = many.assign_attrs(terrain="slope", terrain_class="tarsus.terrain.slope:Slope")
    with pytest.warns(tarsus.TarsusWarning, match="8 of 12 worlds") as told:
        assert len(Stage([build_track(sloped)], SMALL)._offsets) == 1
    assert [warning_record(w.message).code for w in told] == ["worlds-not-drawn"]
    with refused(Unsupported, "spacing"):
        Stage([build_track(sloped)], replace(SMALL, spacing=1.0))


def test_diverged_worlds_are_drawn_at_their_last_pose(log: xr.Dataset) -> None:
    many = log.expand_dims(world=3).transpose("time", "world", ...).isel(time=slice(5)).copy(True)
    many["q"][3:, 1, 2] = np.nan
    with pytest.warns(tarsus.TarsusWarning, match="1 of 3 worlds") as told:
        shown = build_track(many)
    assert [warning_record(w.message).code for w in told] == ["worlds-diverged"]
    np.testing.assert_array_equal(shown.q[4, 1], shown.q[2, 1])
    np.testing.assert_array_equal(shown.q[:, [0, 2]], many["q"].values[:, [0, 2]])
    assert (shown.contacts.phase[3:, 1] == OPEN).all()
    many["q"][3:] = np.nan
    with refused(InvalidFile, "q"):
        build_track(many)


def test_merged_meshes_match_separate_drawing(log: xr.Dataset) -> None:
    pair = log.expand_dims(world=2).transpose("time", "world", ...).isel(time=slice(2)).copy(True)
    pair["q"][:, 1, 1] += 0.5  # the second walks half a meter to the left
    view = replace(SMALL, forces=False, distance=4.0)
    shown = build_track(pair)
    together = Stage([shown], replace(view, spacing=1e-9)).frame(0.0).astype(int)
    stage = Stage([shown], replace(view, spacing=0.0))
    positions, rotations = shown.poses(0)
    apart = [
        PlacedSolid(s, positions[w, s.body], rotations[w, s.body])
        for s in stage._overlaid[0]
        for w in (0, 1)
    ]
    single = ray_caster.render_image(RenderScene(apart, 0.0), stage._camera(0)).astype(int)
    assert np.mean(np.abs(single - together).max(-1) > 12) < 0.005  # shadows begin 2 mm off


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["LOG"], "LOG.nc ... OUT.mp4"),
        (["LOG", "out.avi"], "out.avi"),
        (["gone.nc", "out.png"], "there is no file gone.nc: give a log of `tarsus run` (.nc)."),
        (["brokn.nc", "out.png"], "there is no file brokn.nc: did you mean broken.nc?"),
        (["mini_cheetah", "out.png"], "there is no file mini_cheetah: give a log"),
        ([".", "out.png"], ". is a folder: give a log of `tarsus run` (.nc) in it."),
        (["LOG", "out.png", "--times", "9"], "--times"),
        (["LOG", "out.png", "--times", "x"], "--times"),
        (["LOG", "out.png", "--times", "1", "--strip", "2"], "--times"),
        (["LOG", "out.png", "--strip", "0"], "--strip"),
        (["LOG", "out.mp4", "--strip", "2"], "--strip"),
        (["LOG", "out.gif", "--rate", "0"], "rate"),
        (["LOG", "out.png", "--size", "3"], "--size"),
        (["LOG", "out.png", "--size", "33x480"], "width"),
        (["LOG", "out.png", "--elevation", "90"], "elevation"),
        (["LOG", "out.png", "--spacing", "-1"], "spacing"),
        (["LOG", "out.png", "--robot", "hoap1"], "hoap1 has"),
        (["BROKEN", "out.png"], "cannot be read"),
        (["EMPTY", "out.png"], "log of tarsus run: it lacks q"),
    ],
)
def test_invalid_options_are_rejected(
    arguments: list[str],
    said: str,
    path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.nc").write_bytes(b"CDF not really")
    xr.Dataset({"x": 1.0}).to_netcdf(tmp_path / "empty.nc", engine="scipy")
    files = {"LOG": str(path), "BROKEN": "broken.nc", "EMPTY": "empty.nc"}
    assert main(["render", *(files.get(word, word) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not Path("out.png").exists()


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("viser", ["view", "LOG"]), ("embreex", ["render", "LOG", "out.png"])],
)
def test_missing_extras_are_reported_in_one_sentence(
    package: str,
    arguments: list[str],
    path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [package, *(n for n in sys.modules if n.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    assert main([str(path) if word == "LOG" else word for word in arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and extra_install_command("view") in error
