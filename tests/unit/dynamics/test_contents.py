"""Used and ignored elements of a file as tables, and meshes that only visuals need."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

from tarsus import Simulation, TarsusError, cli, load
from tarsus.dynamics import contents
from tarsus.dynamics.robot import Robot
from tarsus.errors import UnknownName
from tarsus.model.mjcf import read_mjcf
from tarsus.model.urdf import read_urdf

MATTER = '<inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>'
ROBOT = f"""<mujoco model="tiny"><compiler angle="radian" meshdir="gone"/><asset>
  <texture name="skin" type="2d" file="skin.png"/><material name="m" texture="skin"/>
  <mesh file="deep/seen.stl"/><mesh file="drawn.obj"/></asset><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/><body name="trunk"><freejoint/>{MATTER}
  <geom type="mesh" mesh="seen" contype="0" conaffinity="0" material="m"/>
  <geom type="mesh" mesh="drawn" contype="0" conaffinity="0"/><body pos="0 0 -.3">
  <joint name="knee" axis="0 1 0" range="-1 1" stiffness="5" damping=".1"/>{MATTER}
  <geom name="foot" type="sphere" size=".05" pos="0 0 -.3"/></body></body></worldbody>
  <actuator><position name="servo" joint="knee" kp="80" kv="2" forcerange="-9 9"/></actuator>
  <keyframe><key name="up" qpos="0 0 1 1 0 0 0 .5" ctrl=".5"/>
  <key name="down" qpos="0 0 1 1 0 0 0 -.5" ctrl="-.4"/></keyframe></mujoco>"""


def robot() -> Robot:
    """The robot, its meshes missing."""
    with warned("visual-meshes-missing", "skin.png"):
        return Robot.of(read_mjcf(ROBOT))


def test_a_missing_texture_is_only_a_warning() -> None:
    found, plain = robot(), re.sub(r'<geom type="mesh"[^>]*/>|<mesh [^>]*/>', "", ROBOT)
    other = read_mjcf(plain.replace('file="skin.png"', 'builtin="flat" width="1" height="1"'))
    assert found.mass == other.mass and found.body_names == other.body_names
    assert [c.name for c in found.candidates] == [c.name for c in other.candidates]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('mesh="drawn" contype="0" conaffinity="0"', 'mesh="drawn"'),
        (f"<freejoint/>{MATTER}", "<freejoint/>"),
        ('type="mesh" mesh="drawn" contype="0" conaffinity="0"', 'type="box" mesh="drawn"'),
    ],
)
def test_a_missing_mesh_that_physics_needs_is_an_error(old: str, new: str) -> None:
    assert old in ROBOT
    with pytest.raises(TarsusError, match=r"collisions or masses need are not found: .*drawn\.obj"):
        read_mjcf(ROBOT.replace(old, new))


def test_used_and_ignored_elements_are_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    found = robot()
    told = dict(contents.simulated_rows(found))
    assert told["joints"] == "1 free, 1 hinge" and told["springs"] == "all 1 joints"
    assert told["dry friction"] == "none"
    assert told["keyframes"] == "2: up, down; qpos0 is as drawn"
    assert told["motors"] == "1; in the file: 1 position"
    row = ("servo", "knee", "position", "1", "80", "2", "", "-9 .. 9", "")
    assert contents.actuator_rows(found) == [row]
    said = " ".join(found.unsupported)
    assert "ground plane is ignored" in said and "skin.png" in said
    assert set(found.unsupported) < set(found.notes)
    # on the command line
    file = tmp_path / "tiny.xml"
    file.write_text(ROBOT)
    assert cli.main(["inspect", str(file)]) == 0
    out, said = capsys.readouterr()
    assert said == "" and "textures" in out  # once, in the table
    assert "operations" not in out
    assert "servo" in out and "skin.png" in out and "-9 .. 9" in out


def test_any_keyframe_can_be_the_start_with_its_controls() -> None:
    found = robot()
    for name, angle, signal in (("up", 0.5, 0.5), ("down", -0.5, -0.4)):
        simulation = Simulation(found, actuators="file", keyframe=name)
        assert simulation.q[-1] == angle
        assert np.array_equal(simulation.backend.get("action"), [[signal]])
    with refused(UnknownName, "dwn"):
        Simulation(found, keyframe="dwn")


def test_changed_body_frames_are_reported() -> None:
    """A hinge away from its body's origin: the frame sits there, the file's has a name."""
    door = read_mjcf(
        f"""<mujoco><worldbody><body name="door" pos="2 0 1"><joint axis="0 0 1" pos="0 -.4 0"/>
        {MATTER}<body name="handle"><joint axis="1 0 0"/>{MATTER}</body></body></worldbody>
        </mujoco>"""
    )
    assert (
        dict(contents.simulated_rows(door))["frames at joints"]
        == "1: door; BODY/origin is the file's"
    )
    assert door.frame("door/origin").position == pytest.approx([0, 0.4, 0])
    assert "frames at joints" not in dict(contents.simulated_rows(robot()))


def test_the_actuator_choice_that_applies_speed_limits_is_reported() -> None:
    """For all motors of a URDF file, for some of them, and for a robot without motors there."""
    matter = """<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0"
    iyz="0"/></inertial>"""
    links = "".join(f'<link name="{name}">{matter}</link>' for name in ("base", "a", "b"))
    joint = """<joint name="{0}" type="continuous"><parent link="base"/><child link="{1}"/>
    <axis xyz="0 1 0"/><limit {2} velocity="1.5"/></joint>"""
    both = joint.format("one", "a", 'effort="9"') + joint.format("two", "b", 'effort="8"')
    arm = read_urdf(f'<robot name="arm">{links}{both}</robot>')
    act = 'enforced only with actuators="file" (--actuators file)'
    assert dict(contents.simulated_rows(arm))["speed limits"] == f"all 2 joints; {act}"
    assert [row[-1] for row in contents.actuator_rows(arm)] == ["1.5", "1.5"]
    alone = replace(arm, file_actuators=arm.file_actuators[:1])
    assert dict(contents.simulated_rows(alone))["speed limits"] == f"all 2 joints; {act}, of 1: one"
    told = dict(contents.simulated_rows(load("mini_cheetah")))["speed limits"]
    assert told == "all 12 joints; not enforced"


def test_the_number_of_collision_pairs_is_reported() -> None:
    chain, end = "", ""
    for k in range(3):
        chain += f'<body pos="0 0 -.3"><joint axis="0 1 0"/><geom name="g{k}" size=".1"/>'
        end += "</body>"
    ball = '<body pos="2 0 0"><freejoint/><geom name="ball" size=".1"/></body>'
    own = read_mjcf(f"<mujoco><worldbody>{chain}{end}</worldbody></mujoco>")
    told = "; 1 pairs, only with self_collision=True (--self-collision)"
    assert dict(contents.simulated_rows(own))["may touch itself"] == f"3: g0, g1, g2{told}"
    beside = read_mjcf(f"<mujoco><worldbody>{chain}{end}{ball}</worldbody></mujoco>")
    told += "; 3 pairs of robot and objects, always"
    assert dict(contents.simulated_rows(beside))["may touch itself"] == f"4: g0, g1, g2, ball{told}"
