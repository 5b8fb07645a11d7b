"""Identified robots as files: what is read back simulates like what was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.identification.actuators import with_servos
from tarsus.identification.identified_file import write_identified
from tarsus.model.friction import FrictionVariation

LINK = '<inertial><mass value="{m}"/><origin xyz="0 0 -.1"/><inertia ixx=".01" iyy=".01" izz=".01"'
URDF = (
    '<robot name="leg"><link name="world"/>'
    + "".join(
        f'<link name="{name}">{LINK.format(m=mass)} ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name, mass in (("upper", 1.0), ("lower", 0.3))
    )
    + "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0 0 -.2"/><axis xyz="0 1 0"/>'
        '<limit lower="-3" upper="3" effort="12" velocity="9"/>'
        '<dynamics damping=".1"/></joint>'
        for name, parent, child in (("hip", "world", "upper"), ("knee", "upper", "lower"))
    )
    + "</robot>"
)
MJCF = """<mujoco><compiler angle="radian"/><worldbody><body name="upper" pos="0 0 1">
<joint name="hip" axis="0 1 0"/><inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .002"/>
<body name="lower" pos="0 0 -.2"><joint name="knee" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass=".3" diaginertia=".002 .002 .001"/></body></body></worldbody>
<actuator><motor joint="hip" ctrlrange="-12 12"/><motor joint="knee" ctrlrange="-12 12"/></actuator>
</mujoco>"""


def identified(path: Path) -> Robot:
    """Load a robot and give it everything that an identification can find."""
    driven = with_servos(tarsus.load(path), 20.0, 0.5)
    resistance = {"armature": 0.01, "damping": 0.123456789, "dry_friction": 0.3}
    spring = {"stiffness": 0.7, "rest": -0.2}
    friction = FrictionVariation(slope=0.1, lower=-1.0, upper=1.5, stribeck=0.05, load=0.1)
    changed = {"hip": {"friction": friction}, "knee": spring}
    bodies = tuple(
        replace(b, joint=replace(b.joint, **resistance, **changed[b.joint.name]))
        for b in driven.bodies
    )
    hip, knee = driven.file_actuators
    servos = replace(hip, delay=0.0137, lag=0.008), replace(knee, encoder_offset=0.03)
    return replace(driven, bodies=bodies, file_actuators=servos)


def final_angles(robot: Robot) -> np.ndarray:
    simulation = tarsus.Simulation(robot, actuators="file", dt=0.005)
    for k in range(200):
        simulation.step(0.5 * np.sin([0.05 * k, 0.07 * k]))
    return np.ravel(simulation.q).copy()


@pytest.mark.parametrize(("name", "text"), [("leg.urdf", URDF), ("leg.xml", MJCF)])
def test_the_file_read_back_simulates_like_the_identified_robot(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "results").mkdir()
    robot = identified(tmp_path / name)
    files = write_identified(robot, tmp_path / "results")
    suffixes = [".xml", *([".urdf"] if name.endswith(".urdf") else []), ".toml"]
    assert [file.suffix for file in files] == suffixes
    read = tarsus.load(files[-1])
    assert read.file_actuators == robot.file_actuators
    angles = final_angles(read)
    assert np.array_equal(angles, final_angles(robot))
    assert not np.allclose(angles, final_angles(tarsus.load(tmp_path / name)), atol=1e-3)
    # the other formats have the resistances that they can describe
    for file in files[:-1]:
        for body in tarsus.load(file).bodies:
            assert (body.joint.damping, body.joint.dry_friction) == (0.123456789, 0.3)
