"""Which joints have motors if a file does not say it."""

from __future__ import annotations

import pytest
from helpers.refused import refused
from helpers.warned import warned

from tarsus.errors import UnknownName
from tarsus.model.mjcf import read_mjcf
from tarsus.model.urdf import read_urdf

LEG = """<body name="{n}" pos=".2 0 0"><joint name="{n}_hip" axis="0 1 0" {hip}/>
<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/><body pos="0 0 -.2">
<joint name="{n}_knee" axis="0 1 0" {knee}/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02"/>
</body></body>"""
ROBOT = """<mujoco><worldbody><body name="base" pos="0 0 .5">{free}
<geom type="box" size=".2 .1 .05"/>{legs}</body></worldbody>{rest}</mujoco>"""
LIMITED = 'actuatorfrcrange="-30 30"'


def robot(free: str = "<freejoint/>", rest: str = "", knee: str = "") -> str:
    legs = "".join(LEG.format(n=n, hip=LIMITED, knee=knee) for n in "ab")
    return ROBOT.format(free=free, legs=legs, rest=rest)


def test_a_floating_robot_without_actuators_gets_motors() -> None:
    with warned("motors-assumed", "a_hip"):
        read = read_mjcf(robot())
    assert [motor.joint for motor in read.actuators] == ["a_hip", "a_knee", "b_hip", "b_knee"]
    assert [motor.upper for motor in read.actuators[:2]] == [30.0, float("inf")]
    assert [motor.joint for motor in read.file_actuators] == [m.joint for m in read.actuators]


def test_a_robot_on_a_stand_without_actuators_stays_passive() -> None:
    assert not read_mjcf(robot(free="")).actuators


def test_springs_get_no_motor() -> None:
    with warned("motors-assumed", "a_hip"):
        read = read_mjcf(robot(knee='stiffness="100"'))
    assert [motor.joint for motor in read.actuators] == ["a_hip", "b_hip"]


def test_driven_joints_may_be_named_in_mjcf() -> None:
    motors = '<actuator><motor joint="b_hip" ctrlrange="-5 5"/><motor joint="a_hip"/></actuator>'
    read = read_mjcf(robot(rest=motors), driven=["a_knee", "b_hip"])
    assert [motor.joint for motor in read.actuators] == ["b_hip", "a_knee"]
    assert read.actuators[0].upper == 5.0
    assert read_mjcf(robot(), driven=["b_knee"]).actuators[0].joint == "b_knee"
    assert not read_mjcf(robot(), driven=[]).actuators
    with refused(UnknownName, "a_hop"):
        read_mjcf(robot(), driven=["a_hop"])


URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial></link>{}</robot>"""
LINK = """<link name="{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial></link><joint name="{n}_joint" type="revolute"><parent link="a"/>
<child link="{n}"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="{e}" velocity="2"/>
</joint>"""


@pytest.mark.parametrize(
    ("driven", "expected"),
    [(None, ["b_joint"]), (["c_joint"], ["c_joint"]), (["b_joint", "c_joint"], None)],
)
def test_driven_joints_may_be_named_in_urdf(driven: list, expected: list | None) -> None:
    text = URDF.format(LINK.format(n="b", e=7) + LINK.format(n="c", e=0))
    read = read_urdf(text, driven=driven)
    assert [motor.joint for motor in read.actuators] == (expected or driven)
    limits = {motor.joint: motor.upper for motor in read.actuators}
    assert limits.get("b_joint", 7.0) == 7.0
