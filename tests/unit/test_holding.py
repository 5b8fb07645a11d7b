"""Torques that bear a robot's weight: gravity's on a stand, the balance with pressing feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tarsus
from tarsus import TarsusError
from tarsus.control.gaits.stand import Stand
from tarsus.control.holding import holding
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.feet import feet

ARM = """<mujoco><worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0" stiffness="30"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" contype="0" conaffinity="0"/>
    <body pos=".4 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="sphere" size=".05" pos=".3 0 0" contype="0" conaffinity="0"/></body></body>
    </worldbody><actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>"""


@pytest.mark.parametrize("name", ["starleth", "hoap1", "biped"])
def test_a_robot_stands_still_from_the_first_step(name: str) -> None:
    """On rigid ground, where feet stand as high as in the posture; without the torques it sags."""
    moved = []
    for hold in (True, False):
        simulation = tarsus.Simulation(name, controller="stand", dt=0.001)
        if not hold:
            gait = replace(simulation.controller, hold=0.0)
            simulation = tarsus.Simulation(name, controller=gait, dt=0.001)
        start = simulation.q.copy()
        simulation.advance(1.0)
        moved.append(np.abs(simulation.q - start)[7:].max())
    assert moved[0] < 1e-4 < 5e-3 < moved[1]


def test_on_a_stand_it_is_gravity_less_springs() -> None:
    arm = Robot.of(read_mjcf(ARM))
    q = np.array([0.3, -0.5])
    asked = arm.gravity(q) + np.array([30 * 0.3, 0.0])
    np.testing.assert_allclose(holding(arm, q, ()), asked, rtol=1e-3)


def test_the_feet_bear_the_whole_weight() -> None:
    """Joints lose what J^T takes of pressing feet: what is left balances the floating base."""
    robot = tarsus.load("hoap1")
    q = robot.keyframes["stand"]
    torques = np.array(holding(robot, q, feet(robot)))
    motors = [robot.u_slices[robot.joint_index(a.joint)].start for a in robot.actuators]
    rest = robot.gravity(q).copy()
    rest[motors] -= torques
    # some forces straight up on the soles leave nothing, and they are the weight
    rows = np.array([robot.jacobian(q, foot.name)[2] for foot in feet(robot)])
    found, *_ = np.linalg.lstsq(rows.T, rest, rcond=None)
    np.testing.assert_allclose(rows.T @ found, rest, atol=2e-3 * robot.mass)
    assert found.sum() == pytest.approx(9.81 * robot.mass, rel=1e-3)


def test_another_number_of_torques_is_refused() -> None:
    with pytest.raises(TarsusError, match="hold must be one number, or 12"):
        tarsus.Simulation("mini_cheetah", controller=Stand(hold=(1.0, 2.0)))
