"""Robots in TOML: joints, actuators and gears that a robot file cannot describe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidFile, TarsusError, UnknownName, UnmetCondition
from tarsus.model.digest import hash_robot
from tarsus.model.elastic_gears import with_backlash, with_series_elasticity

ROBOT = """<mujoco><worldbody><body name="a"><joint name="a_hip" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3"/><body name="b" pos="0 0 -.3">
<joint name="a_knee" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3"/></body>
</body></worldbody><actuator><motor joint="a_hip"/><motor joint="a_knee"/></actuator>
<keyframe><key name="bent" qpos="0.4 -0.8"/></keyframe></mujoco>"""


def load(folder: Path, text: str) -> tarsus.Robot:
    (folder / "leg.xml").write_text(ROBOT)
    (folder / "leg.toml").write_text(f'robot = "leg.xml"\n{text}')
    return tarsus.load(folder / "leg.toml")


def test_gears_are_those_of_python(tmp_path: Path) -> None:
    tables = """[joints."*"]
    armature = 0.02
    [gears.a_knee]
    play = 0.01
    stiffness = 300
    damping = 0.5
    output_inertia = 0.002"""
    read = load(tmp_path, tables)
    (tmp_path / "leg.toml").write_text('robot = "leg.xml"\n[joints."*"]\narmature = 0.02')
    loose = with_backlash(tarsus.load(tmp_path / "leg.toml"), 0.01, ["a_knee"])
    made = with_series_elasticity(loose, 300, 0.5, 0.002, ["a_knee"])
    assert read.joint_names == ("a_hip", "a_knee", "a_knee_play", "a_knee_spring")
    assert hash_robot(read) == hash_robot(made)


def test_servos_hold_the_keyframe(tmp_path: Path) -> None:
    """Without gravity on the joints' way, the servos' signals are the angles of the keyframe."""
    read = load(tmp_path, "[actuators.a_knee]\nkp = 50\nkd = 2\ndelay = 0.01")
    assert [a.kind for a in read.file_actuators] == ["motor", "position"]
    assert read.file_actuators[1].delay == 0.01
    control, _ = read.signals["bent"]
    assert np.array_equal(control, [0.0, -0.8])


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("[joint.a_hip]\ndamping = 1", UnknownName, "joint"),
        ("[joints.b_hip]\ndamping = 1", UnknownName, "b_hip"),
        ("[joints.a_hip]\ndampng = 1", UnknownName, "dampng"),
        ("[joints.a_hip]\ndamping = 'much'", InvalidFile, "damping"),
        ("[joints.a_hip]\ndamping = nan", InvalidFile, "damping"),
        ("[joints.a_hip]\nfriction = { slop = 1 }", UnknownName, "slop"),
        ("[actuators.a_hip]\nkd = 1", UnmetCondition, "a_hip"),
        ("[actuators.a_hip]\nkp = -1", InvalidFile, "kp"),
        ("[gears.a_hip]\ndamping = 1", UnmetCondition, "a_hip"),
        ("[gears.a_hip]\nplay = 0.01", UnmetCondition, "a_hip"),  # no armature
    ],
)
def test_bad_entries_are_rejected(
    text: str, kind: type[TarsusError], subject: str, tmp_path: Path
) -> None:
    with refused(kind, subject):
        load(tmp_path, text)


def test_a_file_without_a_robot_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "leg.toml").write_text("[joints.a]\ndamping = 1")
    with refused(InvalidFile, "robot"):
        tarsus.load(tmp_path / "leg.toml")
    (tmp_path / "leg.toml").write_text('robot = "leg.toml"')
    with refused(InvalidFile, "robot"):
        tarsus.load(tmp_path / "leg.toml")
