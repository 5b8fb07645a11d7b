"""Loops that URDF files close by extension elements."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidModel, TarsusWarning, UnknownName, Unsupported
from tarsus.model.mechanism import Mechanism
from tarsus.model.sdf import read_sdf
from tarsus.model.urdf import read_urdf

LINK = (
    '<link name="{}"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
HINGE = (
    '<joint name="{}" type="continuous"><origin xyz="{}"/><parent link="{}"/><child link="{}"/>'
    '<axis xyz="0 1 0"/></joint>'
)
# a parallelogram: crank and rocker of 0.2 m hang 0.3 m apart, the rod joins their ends
TREE = (
    '<robot name="fourbar"><link name="world"/>'
    + LINK.format("crank")
    + LINK.format("rod")
    + LINK.format("rocker")
    + HINGE.format("A", "0 0 1", "world", "crank")
    + HINGE.format("B", "0 0 -0.2", "crank", "rod")
    + HINGE.format("D", "0.3 0 1", "world", "rocker")
)
GAZEBO = (
    '<gazebo><joint name="C" type="{}"><parent>rod</parent><child>rocker</child>'
    "<pose>0 0 -0.2 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></gazebo>"
)
LOOP_JOINT = (
    '<loop_joint name="C" type="{}"><link1 link="rod" xyz="0.3 0 0"/>'
    '<link2 link="rocker" xyz="0 0 -0.2"/><axis xyz="0 1 0"/></loop_joint>'
)
LOOP = (
    '<loop name="C" type="{}"><predecessor link="rod"><origin xyz="0.3 0 0"/></predecessor>'
    '<successor link="rocker"><origin xyz="0 0 -0.2"/></successor><axis xyz="0 1 0"/></loop>'
)
# the same with frames turned by a quarter about y, and the axis in the turned frame
TURNED = (
    '<loop_joint name="C" type="{}"><link1 link="rod" xyz="0.3 0 0" rpy="1.5707963267948966 0 0"/>'
    '<link2 link="rocker" xyz="0 0 -0.2" rpy="1.5707963267948966 0 0"/>'
    '<axis xyz="0 0 -1"/></loop_joint>'
)


def four_bar(closed: str) -> Mechanism:
    return read_urdf(f"{TREE}{closed}</robot>")


def swing(mechanism: Mechanism) -> np.ndarray:
    """Joint angles in rad, A, B and D, half a second after the crank starts at 1 rad/s."""
    sim = tarsus.Simulation(Robot.of(mechanism), controller=None, dt=1e-3)
    sim.set(u=[1.0, -1.0, 1.0])
    sim.advance(0.5)
    return np.asarray(sim.q)


@pytest.mark.parametrize("closed", [GAZEBO, LOOP_JOINT, LOOP, TURNED])
def test_a_hinge_closes_a_parallelogram(closed: str) -> None:
    crank, rod, rocker = swing(four_bar(closed.format("revolute")))
    assert abs(crank) > 0.04
    np.testing.assert_allclose([rod, rocker], [-crank, crank], atol=1e-6)


def test_all_forms_give_the_same_motion_and_so_does_sdf() -> None:
    forms = [swing(four_bar(form.format("revolute"))) for form in (GAZEBO, LOOP_JOINT, LOOP)]
    np.testing.assert_allclose(forms[1:], [forms[0]] * 2, atol=1e-12)
    link = (
        '<link name="{}"><pose>{} 0 0 0</pose><inertial><pose>0 0 -0.1 0 0 0</pose><mass>1</mass>'
        "<inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.001</izz></inertia></inertial></link>"
    )
    hinge = (
        '<joint name="{}" type="revolute"><parent>{}</parent><child>{}</child><pose>{} 0 0 0</pose>'
        "<axis><xyz>0 1 0</xyz></axis></joint>"
    )
    text = (
        '<sdf version="1.7"><model name="fourbar">'
        + link.format("crank", "0 0 1")
        + link.format("rod", "0 0 0.8")
        + link.format("rocker", "0.3 0 1")
        + hinge.format("A", "world", "crank", "0 0 0")
        + hinge.format("B", "crank", "rod", "0 0 0")
        + hinge.format("D", "world", "rocker", "0 0 0")
        + hinge.format("C", "rod", "rocker", "0 0 -0.2")
        + "</model></sdf>"
    )
    np.testing.assert_allclose(swing(read_sdf(text)), forms[0], atol=1e-9)


def test_kinds_of_loop_joints() -> None:
    ball = four_bar(LOOP_JOINT.format("spherical").replace("link2", "link1"))
    assert [loop.joint.kind for loop in ball.loops] == ["ball"]
    assert [loop.joint.kind for loop in four_bar(GAZEBO.format("prismatic")).loops] == ["slide"]
    with refused(Unsupported, "C"):
        four_bar(GAZEBO.format("universal"))


def test_one_joint_of_a_loop_without_limits_has_a_motor() -> None:
    assert [motor.joint for motor in four_bar("").actuators] == ["A", "B", "D"]
    assert [motor.joint for motor in four_bar(LOOP.format("revolute")).actuators] == ["A"]


def test_mistakes_in_loops() -> None:
    closed = LOOP_JOINT.format("revolute")
    with refused(UnknownName, "rocket"):
        four_bar(closed.replace('"rocker"', '"rocket"'))
    with refused(InvalidModel, "A"):
        four_bar(closed.replace('"C"', '"A"'))
    with refused(InvalidModel, "axis"):
        four_bar(closed.replace("0 1 0", "0 0 0"))
    with refused(InvalidFile, "link2"):
        four_bar('<loop_joint name="C" type="ball"><link1 link="rod"/></loop_joint>')
    with refused(InvalidFile, "child"):
        four_bar(GAZEBO.format("ball").replace("<child>rocker</child>", ""))


def test_other_mechanisms_are_warned_of() -> None:
    bushing = '<drake:linear_bushing_rpy xmlns:drake="http://drake.mit.edu"/>'
    with pytest.warns(TarsusWarning) as caught:
        four_bar(bushing + '<coupling name="belt"/>')
    assert [str(w.message.code) for w in caught] == ["mechanisms-ignored"]  # pyright: ignore
