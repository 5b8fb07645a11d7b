"""`tarsus robots check`: one row per robot, whatever its outcome."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.commands.robots import without_common_folder
from tarsus.errors import MissingPackage, UnknownName
from tarsus.model import robot_data
from tarsus.validation.robot_check import select_robots

TIPS_OVER = """<mujoco model="tower"><worldbody><body name="tower">
    <freejoint/><geom name="foot" type="box" size=".05 .05 .01" mass=".1"/>
    <geom type="sphere" size=".02" pos=".3 0 .5" mass="2" contype="0" conaffinity="0"/>
    <body name="arm" pos="0 0 .1"><joint name="elbow" axis="0 1 0"/>
    <geom type="sphere" size=".02" mass=".1" contype="0" conaffinity="0"/></body></body></worldbody>
    <actuator><motor joint="elbow" ctrlrange="-5 5"/></actuator></mujoco>"""
PAGE = "before\n<!-- checked robots -->\nold\n<!-- end of checked robots -->\nafter\n"


def test_a_failing_robot_does_not_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its row gives the reason; the page gets the table between its two markers."""
    files = {"broken.urdf": "<robot", "floats.urdf": '<robot name="r"/>', "tower.xml": TIPS_OVER}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    asked = ["robots", "check", *(str(tmp_path / name) for name in files), "mini_cheetah"]
    assert cli.main([*asked, "--duration", "2", "--json", "--page", str(page)]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["outcome"].split(" at ")[0] for row in rows] == [
        "not loaded", "not loaded", "fell", "stands",
    ]  # fmt: skip
    assert "floats.urdf: " in rows[1]["reason"] and "no leg" in rows[2]["reason"]
    assert rows[3]["dof"] == 18 and rows[3]["tilt"] < 1.0 and rows[3]["unconverged"] == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| mini_cheetah | 18 |" in text


def test_missing_textures_and_muscles_do_not_prevent_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A robot without feet whose pictures are not found; one with a servo, and a muscle, which is
    not simulated: it stands by servos that are sized for it.
    """
    trunk = """<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
        ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="a.stl"/></geometry></visual>
        <collision><geometry><sphere radius=".1"/></geometry></collision></link>"""
    more = """<position joint="elbow" kp="9"/><muscle joint="elbow" lengthrange="0 1"/></actuator>
        <keyframe><key name="home"/></keyframe>"""
    files = {
        "seen.urdf": f'<robot name="r">{trunk}</robot>',
        "strong.xml": TIPS_OVER.replace("</actuator>", more),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    asked = ["robots", "check", *(str(tmp_path / name) for name in files)]
    code = cli.main([*asked, "--duration", "0.1", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert code == any(row["outcome"] != "stands" for row in rows)
    assert [row["servos"] for row in rows] == ["sized", "sized"], rows


def test_soft_file_servos_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table on four sliding legs sags by 49 of 500 mm or more with its own servos, and stands
    with sized ones. A pole on an undriven hinge collapses.
    """
    leg = """<body name="leg{0}" pos="{1} {2} 0"><joint name="slide{0}" type="slide" axis="0 0 1"/>
        <geom name="foot{0}" type="sphere" size=".02" pos="0 0 -.48" mass=".2"/></body>"""
    corners = [(x, y) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    legs = "".join(leg.format(k, *corner) for k, corner in enumerate(corners))
    servos = "".join(f'<position joint="slide{k}" kp="200" kv="40"/>' for k in range(4))
    table = f"""<mujoco><worldbody><body name="table" pos="0 0 .5"><freejoint/>
        <geom type="box" size=".3 .2 .02" mass="5" contype="0" conaffinity="0"/>{legs}</body>
        </worldbody><actuator>{servos}</actuator><keyframe><key name="home"
        qpos="0 0 .5 1 0 0 0 0 0 0 0"/></keyframe></mujoco>"""
    pole = """<mujoco><worldbody><body name="pole" pos="0 0 2"><joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 .5 0 0" mass="1"/><body pos=".5 0 0">
        <joint name="wrist"/><geom size=".02" mass=".1"/></body></body></worldbody>
        <actuator><motor joint="wrist"/></actuator></mujoco>"""
    for name, text in {"table.xml": table, "pole.xml": pole}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("table.xml", "pole.xml")]
    assert cli.main(["robots", "check", *files, "--duration", "2", "--json"]) == 1
    table_row, pole_row = json.loads(capsys.readouterr().out)
    assert (table_row["outcome"], table_row["servos"]) == ("stands", "sized")
    assert table_row["reason"].endswith("sags")
    assert (pole_row["outcome"], pole_row["reason"]) == ("gives way", "no motor at hinge")


@pytest.mark.skipif(robot_data.robots_folder() is None, reason="example-robot-data is missing")
def test_robots_of_the_package_load_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "go2").mkdir()  # a folder called so is not asked
    monkeypatch.chdir(tmp_path)
    assert tarsus.load("panda").nu == 9 and tarsus.load("panda", floating=True).nu == 15
    assert tarsus.load("go2").origin.file.endswith("go2.urdf")
    with refused(UnknownName, "gog2") as caught:
        tarsus.load("gog2")
    assert "go2 or go1?" in str(caught.value)


def test_a_missing_robot_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_data, "robots_folder", lambda: None)
    with refused(MissingPackage, "example-robot-data"):
        tarsus.load("go2")


@pytest.mark.slow
def test_files_are_compared_with_mujoco_in_four_scenes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tower that flies, drops, tips over and falls, and a file that is not a robot."""
    page, tower, broken = (tmp_path / name for name in ("page.md", "tower.xml", "broken.urdf"))
    page.write_text(PAGE.replace("checked robots", "robots compared with MuJoCo"), encoding="utf-8")
    tower.write_text(TIPS_OVER, encoding="utf-8")
    broken.write_text("<robot", encoding="utf-8")
    asked = ["robots", "check", "--mujoco", str(tower), str(broken), "--json", "--page", str(page)]
    assert cli.main(asked) == 0
    flight, drop, stand, fall, none = json.loads(capsys.readouterr().out)
    assert flight["order"] == pytest.approx(1, abs=0.1)  # the order of midpoint
    for row in (drop, stand, fall):
        assert row["difference"]["early_events"] == row["difference"]["early_agreeing"] > 0
        assert row["difference"]["agreement"] > 0.1 and row["unsolved"] == 0
    assert none["reason"] and not none["scene"]
    text = page.read_text(encoding="utf-8")
    assert text.count("| tower |") == 4 and "old" not in text and "order 1.0" in text


def test_bad_input_is_rejected_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("no place for a table", encoding="utf-8")
    picture = tmp_path / "page.png"
    picture.write_bytes(b"\x89PNG")
    for asked, told in (
        (["mini_cheeta"], "did you mean mini_cheetah"),
        (["mini_cheetah", "--page", str(page)], str(page)),
        (["mini_cheetah", "--page", str(tmp_path)], "Is a directory"),
        (["mini_cheetah", "--page", str(picture)], str(picture)),
        (["mini_cheetah", "--duration", "-1"], "duration"),
        (["mini_cheetah", "--mujoco", "--duration", "2"], "--duration"),
        (["mini_cheetah", "--mujoco", "--fixed-base"], "--fixed-base"),
    ):
        assert cli.main(["robots", "check", *asked]) == 2
        assert told in capsys.readouterr().err


def test_a_missing_page_is_created_and_updated(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "robots.md"
    asked = ["robots", "check", "mini_cheetah", "--duration", "0.1", "--json", "--page", str(page)]
    for _ in range(2):
        assert cli.main(asked) == 0
        first, *table, last = page.read_text(encoding="utf-8").splitlines()
        assert (first, last) == ("<!-- checked robots -->", "<!-- end of checked robots -->")
        assert sum("mini_cheetah" in line for line in table) == 1


def test_without_names_all_robots_are_run() -> None:
    everyone = select_robots(())
    assert {"mini_cheetah", "hoap1"} <= set(everyone)
    assert all(file == name or Path(file).is_file() for name, file in everyone.items())


def test_paths_are_shortened_to_where_they_differ() -> None:
    names = ["a/b/x/one.xml", "go1", "a/b/y/two.urdf", "a/b/y/z/one.xml"]
    parts = [name.replace("/", os.sep) for name in names]
    shown = [name.replace(os.sep, "/") for name in without_common_folder(parts)]
    assert shown == ["x/one.xml", "go1", "y/two.urdf", "y/z/one.xml"]
    assert without_common_folder([os.sep.join(("a", "b", "one.xml"))]) == ["one.xml"]
    assert without_common_folder(["one.xml"]) == ["one.xml"]


@pytest.mark.parametrize("beside", [(), ("--mujoco",)])
def test_each_robot_is_reported_when_it_is_done(
    beside: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line on standard error; with verbose output the current engine before that."""
    arm = tmp_path / "arm.xml"
    arm.write_text(
        '<mujoco><worldbody><body pos="0 0 2"><joint name="j" axis="0 1 0"/><geom type="capsule"'
        ' fromto="0 0 0 .2 0 0" size=".02"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )
    asked = ["robots", "check", str(arm), *beside]
    ended, shown = (0, "arm: swing, 0.2 s: ") if beside else (1, "arm.xml: gives way: no motor")
    assert cli.main([*asked, "-v"]) == ended
    told = capsys.readouterr().err
    assert shown in told
    engines = ("swing in Tarsus ...", "swing in MuJoCo ...", shown)
    if beside:
        assert sorted(engines, key=told.index) == list(engines)
    assert cli.main(asked) == ended
    assert len(capsys.readouterr().err.splitlines()) == 1
    for calm in ("-q", "--json"):
        assert cli.main([*asked, calm]) == ended
        assert capsys.readouterr().err == ""
