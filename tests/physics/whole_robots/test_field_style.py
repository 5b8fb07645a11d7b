"""A typical MJCF file: defaults and classes, position servos, a home keyframe, primitive
shapes, and missing visual meshes.
"""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

import tarsus
from tarsus.errors import InvalidFile
from tarsus.validation.robot_check import check_robots

LEG = """<body name="{name}_hip" pos="{x} {y} 0"><inertial pos="0 0 0" mass=".7"
    diaginertia=".001 .001 .001"/><joint name="{name}_abad" class="abduction"/>
    <geom class="visual" mesh="hip"/><geom class="collision" type="cylinder" size=".04 .02"/>
    <body name="{name}_thigh" pos="0 {side} 0"><inertial pos="0 0 -.1" mass="1.1"
    diaginertia=".005 .005 .001"/><joint name="{name}_hip" class="hip"/>
    <geom class="collision" type="box" size=".02 .02 .1" pos="0 0 -.1"/>
    <body name="{name}_calf" pos="0 0 -.2"><inertial pos="0 0 -.1" mass=".3"
    diaginertia=".002 .002 .0001"/><joint name="{name}_knee" class="knee"/>
    <geom class="collision" type="capsule" size=".012 .06" pos="0 0 -.08"/>
    <geom name="{name}" class="foot"/></body></body></body>"""
PLACES = {"FL": (0.2, 0.05), "FR": (0.2, -0.05), "RL": (-0.2, 0.05), "RR": (-0.2, -0.05)}
LEGS = "".join(
    LEG.format(name=name, x=x, y=y, side=np.sign(y) * 0.08) for name, (x, y) in PLACES.items()
)
SERVOS = "".join(
    f'<position class="{kind}" name="{leg}_{joint}_servo" joint="{leg}_{joint}"/>'
    for leg in PLACES
    for kind, joint in (("abduction", "abad"), ("hip", "hip"), ("knee", "knee"))
)
HOME = "0 0.9 -1.8 " * 4
QUADRUPED = f"""<mujoco model="field"><compiler angle="radian" meshdir="assets" autolimits="true"/>
  <option cone="elliptic" impratio="100"/>
  <default><default class="field"><geom friction="0.6" condim="1"/>
    <joint axis="0 1 0" damping="1" armature="0.01" frictionloss="0.2"/>
    <position kp="80" kv="2" forcerange="-40 40"/>
    <default class="abduction"><joint axis="1 0 0" range="-1 1"/></default>
    <default class="hip"><joint range="-1.5 3.4"/></default>
    <default class="knee"><joint range="-2.7 -0.8"/></default>
    <default class="visual"><geom type="mesh" contype="0" conaffinity="0" group="2"/></default>
    <default class="collision"><geom group="3"/><default class="foot"><geom size="0.022"
      pos="0 0 -0.2" priority="1" solimp="0.015 1 0.031" condim="6" friction="0.8 0.02 0.01"/>
    </default></default></default></default>
  <asset><mesh file="hip.obj"/><mesh file="trunk.obj"/></asset>
  <worldbody><body name="trunk" pos="0 0 .4" childclass="field"><freejoint/>
    <inertial pos="0 0 0" mass="7" diaginertia=".03 .1 .1"/><geom class="visual" mesh="trunk"/>
    <geom class="collision" type="box" size=".19 .05 .05"/>{LEGS}</body></worldbody>
  <actuator>{SERVOS}</actuator>
  <keyframe><key name="home" qpos="0 0 .27 1 0 0 0 {HOME}" ctrl="{HOME}"/></keyframe></mujoco>"""


SOFT = ("soft_convex", "symplectic_euler")  # takes the file's softness: feet sink by 15 mm


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "field.xml"
    path.write_text(QUADRUPED, encoding="utf-8")
    return path


def test_file_servos_make_the_robot_stand(file: Path) -> None:
    """It sinks by 20 mm as in MuJoCo, within 1.5 mm, with the softness of the file; the
    regularizer of the law differs a little from MuJoCo's.
    """
    with warned("visual-meshes-missing", "hip.obj"):
        robot = tarsus.load(file)
    assert robot.material["mu"] == 0.8
    assert {c.name: c.friction for c in robot.candidates}["FL"] == 1.0
    (row,) = check_robots({"field": str(file)}, 2.0, lambda text: None)
    assert (row.outcome, row.servos, row.unconverged) == ("stands", "own", 0)
    simulation = tarsus.Simulation(robot, *SOFT, actuators="file", dt=0.002)
    simulation.advance(2.0)
    # the same in MuJoCo, without pictures, on a plane
    text = QUADRUPED.replace('<mesh file="hip.obj"/><mesh file="trunk.obj"/>', "")
    text = text.replace('<geom class="visual" mesh="hip"/>', "")
    text = text.replace('<geom class="visual" mesh="trunk"/>', "")
    text = text.replace("<worldbody>", '<worldbody><geom type="plane" size="1 1 1"/>')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=1000)
    assert simulation.q[2] == pytest.approx(data.qpos[2], abs=2e-3)
    assert simulation.q[7:] == pytest.approx(data.qpos[7:], abs=0.01)


def test_collision_meshes_are_required(file: Path) -> None:
    text = QUADRUPED.replace(
        'class="visual" mesh="trunk"', 'class="collision" type="mesh" mesh="trunk"'
    )
    file.write_text(text, encoding="utf-8")
    with refused(InvalidFile, "hip.obj") as caught:
        tarsus.load(file)
    assert "trunk.obj" in str(caught.value)
