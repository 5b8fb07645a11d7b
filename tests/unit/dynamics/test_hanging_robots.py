"""Mechanisms attached to the world next to a floating robot, such as a door, are not part of it."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus.control.gaits.trot import Trot
from tarsus.dynamics import tree
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.feet import candidates_of_last_bodies
from tarsus.simulation.simulation import Simulation

LEG = """<body pos="%s %s 0"><joint axis="1 0 0"/><geom size=".02" mass=".3"/>
<body pos="0 %s -.02"><joint axis="0 1 0"/><geom size=".02" mass=".5" pos="0 0 -.05"/>
<body pos="0 0 -.2"><joint axis="0 1 0" range="-2.6 -.5"/>
<geom size=".02" mass=".1" pos="0 0 -.2"/></body></body></body>"""
LEGS = "".join(LEG % (x, 0.5 * y, y) for x in (0.2, -0.2) for y in (0.1, -0.1))
DOOR = """<body name="door" pos="2 0 .44"><joint name="hinge" axis="0 0 1" pos="0 -.4 0"/>
<geom name="leaf" type="box" size=".02 .4 .45" mass="5"/></body>"""


def beside(other: str, actuators: str = "", equality: str = "") -> Robot:
    """A quadruped with four legs of three joints, and another mechanism in its world."""
    text, number = LEGS, 0
    while "<joint axis" in text:
        text = text.replace("<joint axis", f'<joint name="j{number}" axis', 1)
        number += 1
    motors = "".join(f'<motor joint="j{k}" ctrlrange="-30 30"/>' for k in range(number))
    return Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian" autolimits="true"/><worldbody>
            <body name="trunk" pos="0 0 .5"><freejoint/>
            <geom type="box" size=".2 .1 .05" mass="6"/>{text}</body>{other}</worldbody>
            <actuator>{motors}{actuators}</actuator><equality>{equality}</equality></mujoco>"""
        )
    )


def test_other_mechanisms_of_a_file_do_not_affect_the_robot() -> None:
    """The door's lower edge is 1 cm in the ground: the robot was lifted by half a meter to free it,
    the door's corners were feet, and its mass was the robot's.
    """
    alone, both = (Simulation(beside(other), controller="trot") for other in ("", DOOR))
    n = alone.robot.nq
    assert both.q[:n] == pytest.approx(alone.q, abs=1e-9)
    sized = [simulation.controller for simulation in (alone, both)]
    first, second = (gait.kp for gait in sized if isinstance(gait, Trot))
    assert np.array_equal(first, second)
    feet = candidates_of_last_bodies(both.robot)
    assert {both.robot.bodies[i].name for i in feet} == {
        alone.robot.bodies[i].name for i in candidates_of_last_bodies(alone.robot)
    }


@pytest.mark.parametrize(
    ("actuators", "equality"),
    [
        ('<motor joint="hinge"/>', ""),
        ("", '<joint joint1="hinge" joint2="j0"/>'),
        ("", '<connect body1="door" body2="trunk" anchor="0 0 0"/>'),
    ],
)
def test_driven_or_attached_bodies_belong_to_the_robot(actuators: str, equality: str) -> None:
    robot = beside(DOOR, actuators, equality)
    assert not tree.object_bodies(robot)
    assert tree.object_bodies(beside(DOOR)) == {robot.body_index("door")}
