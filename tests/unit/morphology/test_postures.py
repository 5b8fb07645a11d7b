"""Postures, falls and feet follow from the robot as it stands, not from axes and frames."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.poses import rotation_from_quaternion
from tarsus.morphology.fall import uprightness
from tarsus.morphology.feet import find_soles

# a biped whose knees, drawn bent, cannot bend forwards
LEG = """<body name="thigh_{n}" pos="0 {y} -.05">
<joint name="hip_{n}" axis="0 {s} 0" range="{hip}"/>
<geom type="capsule" fromto="0 0 0 -.11 0 -.2" size=".025" mass="1"/>
<body name="shank_{n}" pos="-.11 0 -.2"><joint name="knee_{n}" axis="0 {t} 0" range="{knee}"/>
<geom type="capsule" fromto="0 0 0 .11 0 -.2" size=".02" mass=".6"/>
<body name="foot_{n}" pos=".11 0 -.2"><joint name="ankle_{n}" axis="0 -1 0" range="-1 1.5"/>
<geom type="box" size=".1 .05 .015" pos=".01 0 -.03" mass=".3"/></body></body></body>"""
MOTORS = "".join(f'<motor joint="{j}_{n}"/>' for n in "lr" for j in ("hip", "knee", "ankle"))
BIPED = """<mujoco><compiler angle="radian"/><worldbody><body name="base" pos="0 0 .5"><freejoint/>
<geom type="box" size=".06 .1 .06" pos="0.01 0 .03" mass="8"/>{}</body></worldbody>
<actuator>{}</actuator></mujoco>"""


def leg(name: str, y: float, sign: int) -> str:
    hip, knee = (-1.0, 1.3)[::sign], (-0.9, 1.3)[::sign]
    ranges = {
        "hip": " ".join(str(sign * x) for x in hip),
        "knee": " ".join(str(sign * x) for x in knee),
    }
    return LEG.format(n=name, y=y, s=sign, t=-sign, **ranges)


def standing(text: str) -> np.ndarray:
    return Simulation(Robot.of(read_mjcf(text)), controller="stand", dt=1e-3).q


@pytest.mark.filterwarnings("ignore:.*keyframe")
def test_mirrored_axes_give_the_same_posture() -> None:
    right = {
        s: standing(BIPED.format(leg("l", 0.1, 1) + leg("r", -0.1, s), MOTORS)) for s in (1, -1)
    }
    for q in right.values():
        np.testing.assert_allclose(q[7:10], right[1][7:10], atol=1e-9)
    np.testing.assert_allclose(right[-1][10:] * (-1, -1, 1), right[1][10:], atol=1e-9)
    np.testing.assert_allclose(right[1][10:], right[1][7:10], atol=1e-9)


# a quadruped of boxes and capsules, whose frame has x, y or z up
LEGS = [(x, y) for x in (0.15, -0.15) for y in (0.1, -0.1)]
TURNS = {
    "z": (1.0, 0.0, 0.0, 0.0),
    "y": (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
    "x": (np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0),
}


def quadruped(up: str) -> str:
    """Write a quadruped in the same place of the world, in a frame with this axis up."""
    R = rotation_from_quaternion(np.array(TURNS[up])).T

    def text(*vector: float) -> str:
        return " ".join(f"{x:.12g}" for x in R @ vector)

    axis, down, legs = text(0, 1, 0), text(0, 0, -0.15), ""
    size = " ".join(f"{x:.12g}" for x in np.abs(R @ (0.2, 0.1, 0.03)))
    for k, (x, y) in enumerate(LEGS):
        legs += f"""<body pos="{text(x, y, -0.03)}">
        <joint name="hip{k}" axis="{axis}" range="-90 90"/>
        <geom type="capsule" fromto="0 0 0 {down}" size=".015" mass=".4"/><body pos="{down}">
        <joint name="knee{k}" axis="{axis}" range="-150 150"/>
        <geom type="capsule" fromto="0 0 0 {down}" size=".012" mass=".1"/>
        <geom type="sphere" pos="{down}" size=".02" mass=".05"/></body></body>"""
    motors = "".join(f'<motor joint="{j}{k}"/>' for k in range(4) for j in ("hip", "knee"))
    quat = " ".join(map(str, TURNS[up]))
    return f"""<mujoco><worldbody><body name="base" pos="0 0 .4" quat="{quat}"><freejoint/>
    <geom type="box" size="{size}" mass="6"/>{legs}</body></worldbody>
    <actuator>{motors}</actuator></mujoco>"""


@pytest.mark.filterwarnings("ignore:.*keyframe")
def test_a_trunk_frame_may_have_any_axis_up() -> None:
    plain = standing(quadruped("z"))
    for up in "yx":
        robot = Robot.of(read_mjcf(quadruped(up)))
        made = Simulation(robot, controller="stand", dt=2.5e-3)
        np.testing.assert_allclose(made.q[:3], plain[:3], atol=1e-9)
        np.testing.assert_allclose(made.q[7:], plain[7:], atol=1e-9)
        assert len(find_soles(robot)) == 4
        assert uprightness(made.robot, made.q) == pytest.approx(1.0, abs=1e-12)
        fallen = made.q.copy()
        fallen[3:7] = 1.0, 0.0, 0.0, 0.0
        assert abs(uprightness(made.robot, fallen)) < 1e-12


def test_legs_outside_the_ranges_of_joints_end_in_feet() -> None:
    """An ant is drawn with level legs; its ankles may be between 30 and 70 degrees."""
    legs = "".join(
        f"""<body euler="0 0 {45 + 90 * k}"><joint name="hip{k}" axis="0 0 1" range="-30 30"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".08"/><body pos=".5 0 0">
        <joint name="ankle{k}" axis="0 1 0" range="30 70"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".08"/></body></body>"""
        for k in range(4)
    )
    motors = "".join(f'<motor joint="{j}{k}"/>' for k in range(4) for j in ("hip", "ankle"))
    text = f"""<mujoco><worldbody><body pos="0 0 .7"><freejoint/><geom size=".25"/>{legs}</body>
    </worldbody><actuator>{motors}</actuator></mujoco>"""
    assert len(find_soles(Robot.of(read_mjcf(text)))) == 4


LINKED = """<mujoco><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 .7"><freejoint/><geom type="box" size=".1 .15 .1" mass="5"/>{}</body>
</worldbody><equality>{}</equality></mujoco>"""
SIDE = """<body name="thigh{0}" pos="0 {1} 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass="1"/>
<body name="rod{0}" pos=".04 0 -.05"><joint name="link{0}" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.45" size=".008" mass=".1"/></body>
<body name="shin{0}" pos="0 0 -.3"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".5"/></body></body>"""


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_rods_of_linkages_are_not_feet() -> None:
    """Without its loop a rod ends freely, as a foot may; with it, it is a part of the leg. A loop
    may have the name of a joint, as in MJCF.
    """
    sides = SIDE.format("_l", 0.1) + SIDE.format("_r", -0.1)
    loops = "".join(
        f'<connect name="link_{s}" body1="rod_{s}" body2="shin_{s}" anchor="0 0 -.45"/>'
        for s in "lr"
    )
    free, linked = (Robot.of(read_mjcf(LINKED.format(sides, each))) for each in ("", loops))
    assert len(find_soles(free)) == 4
    assert [linked.bodies[body].name for body in find_soles(linked)] == ["shin_l", "shin_r"]
    assert [loop.joint.name for loop in linked.loops] == ["link_l_connect", "link_r_connect"]
