"""Robots of files start in one world in the posture in which they start alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from casadi import DM, SX

import tarsus
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import WORLD, Joint, LoopJoint
from tarsus.model.merge import displace
from tarsus.model.mjcf import read_mjcf
from tarsus.model.poses import Pose, rotation_about

LEG = """<mujoco model="{0}"><worldbody><body name="{0}" pos="0 0 .5"><freejoint/>
    <geom size=".1 .1 .05" type="box"/><body name="{0}l" pos="0 0 -.05">
    <joint name="{0}h" axis="0 1 0" range="-90 90"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/><body name="{0}s" pos="0 0 -.2">
    <joint name="{0}k" axis="0 1 0" range="-150 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/></body></body></body></worldbody>
    <keyframe>{1}</keyframe></mujoco>"""
FOUR_BAR = """<mujoco model="{0}"><worldbody><body name="{0}" pos="0 0 .5"><freejoint/>
    <geom size=".3 .1 .05" type="box"/><body name="{0}l" pos="-.1 0 -.05">
    <joint name="{0}h" axis="0 1 0" range="20 150"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/><body name="{0}s" pos="0 0 -.2">
    <joint name="{0}k" axis="0 1 0" range="-150 150"/>
    <geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/></body></body>
    <body name="{0}r" pos=".1 0 -.05"><joint name="{0}j" axis="0 1 0" range="-150 150"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/></body></body></worldbody>
    <equality><connect body1="{0}s" body2="{0}r" anchor=".2 0 0"/>{2}</equality>
    <keyframe>{1}</keyframe></mujoco>"""
BENT = '<key name="{}" qpos="0 0 .42 1 0 0 0 .4 -.9"/>'
PARALLEL = '<key name="{}" qpos="0 0 .5 1 0 0 0 .6 -.6 .6"/>'


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (LEG, BENT.format("stand")),
        (LEG, BENT.format("home")),
        (LEG, BENT.format("Home") + BENT.format("other").replace(".4 -.9", ".1 -.2")),
        (LEG, BENT.format("crouch")),
        (LEG, ""),
        (FOUR_BAR, PARALLEL.format("home")),
        (FOUR_BAR.replace("<freejoint/>", ""), ""),
    ],
)
def test_a_robot_in_a_world_starts_as_if_alone(text: str, key: str) -> None:
    robots = [Robot.of(read_mjcf(text.format(name, key, ""))) for name in "ab"]
    alone = tarsus.Simulation(robots[0]).q
    both = tarsus.Simulation(tarsus.world(*robots, at=[(2.0, 0.0)]))
    first, second = np.split(both.q, 2)
    free = 7 if robots[0].floating else 0
    assert first == pytest.approx(alone, abs=1e-12)
    assert second[free:] == pytest.approx(alone[free:], abs=1e-12) and alone[free:].any()
    assert second[:free] == pytest.approx([2.0, 0.0, second[2], *alone[3:7]][:free], abs=1e-12)
    if "home" in key.lower():
        assert alone[free:] == pytest.approx([0.6, -0.6, 0.6] if text is FOUR_BAR else [0.4, -0.9])
    assert "loops-closed" not in {notice.code for notice in both.warnings}


@pytest.mark.parametrize(
    "tie", ['<connect body1="b" body2="world" anchor="0 0 .2"/>', '<weld body1="b"/>']
)
def test_a_robot_fixed_to_the_world_is_fixed_at_its_new_position(tie: str) -> None:
    """It used to be pulled back to the position of its file."""
    alone = Robot.of(read_mjcf(FOUR_BAR.format("b", PARALLEL.format("home"), tie)))
    leader = Robot.of(read_mjcf(LEG.format("a", BENT.format("home"))))
    both = tarsus.Simulation(tarsus.world(leader, alone, at=[(2.0, 0.5, 0.3, 0.4)]))
    assert both.q[9:11] == pytest.approx([2.0, 0.5], abs=1e-9)
    assert "loops-closed" not in {notice.code for notice in both.warnings}


@pytest.mark.parametrize("turned", [False, True])
def test_a_loop_with_the_world_stays_closed_when_moved(turned: bool) -> None:
    """A hinge between base and world, with either as the parent."""
    robot = Robot.of(read_mjcf(LEG.format("a", BENT.format("stand"))))
    q = robot.keyframes["stand"]
    hinge = Joint("tie", "hinge", axis=np.array([0.6, 0.0, 0.8]))
    arm = np.array([0.1, 0.2, -0.3])
    loop = LoopJoint(hinge, WORLD, 0, q[:3] + arm, in_child=arm)
    if turned:
        loop = LoopJoint(hinge, 0, WORLD, arm, in_child=q[:3] + arm)
    tied = replace(robot, loops=(loop,))
    pose = Pose(np.array([1.0, -2.0, 0.5]), rotation_about(np.array([0.36, 0.48, 0.8]), 1.1))
    for own in (tied, displace(tied, pose)):
        kin = kinematics(own, SX(DM(own.keyframes["stand"])))
        assert np.abs(np.array(DM(loop_constraints.gaps(kin)))).max() < 1e-12
