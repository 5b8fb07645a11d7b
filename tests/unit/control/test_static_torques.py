"""Torques that carry a robot's weight: gravity on a stand, force balance on its feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.control.gaits.stand import Stand
from tarsus.control.static_torques import static_torques
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.mjcf import read_mjcf
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.morphology.fall import uprightness
from tarsus.morphology.feet import find_feet

ARM = """<mujoco><worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0" stiffness="30"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" contype="0" conaffinity="0"/>
    <body pos=".4 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="sphere" size=".05" pos=".3 0 0" contype="0" conaffinity="0"/></body></body>
    </worldbody><actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>"""


@pytest.mark.parametrize("name", ["starleth", "hoap1", "biped"])
def test_a_robot_stands_still_from_the_first_step(name: str) -> None:
    """On rigid ground, where feet have the heights of the posture; without the torques it sags."""
    moved = []
    for hold in (True, False):
        simulation = tarsus.Simulation(name, controller="stand", dt=0.001)
        if not hold:
            gait = replace(simulation.controller, feedforward=0.0)
            simulation = tarsus.Simulation(name, controller=gait, dt=0.001)
        start = simulation.q.copy()
        simulation.advance(1.0)
        moved.append(np.abs(simulation.q - start)[7:].max())
    assert moved[0] < 1e-4 < 5e-3 < moved[1]


def test_on_a_stand_static_torques_are_gravity_minus_springs() -> None:
    arm = Robot.of(read_mjcf(ARM))
    q = np.array([0.3, -0.5])
    asked = arm.gravity(q) + np.array([30 * 0.3, 0.0])
    np.testing.assert_allclose(static_torques(arm, q, ()), asked, rtol=1e-3)


def test_the_feet_carry_the_whole_weight() -> None:
    """Joints lose what J^T takes of pressing feet: what is left balances the floating base."""
    robot = tarsus.load("hoap1")
    q = robot.keyframes["stand"]
    torques = np.array(static_torques(robot, q, find_feet(robot)))
    motors = [robot.u_slices[robot.joint_index(a.joint)].start for a in robot.actuators]
    rest = robot.gravity(q).copy()
    rest[motors] -= torques
    # some forces straight up on the soles leave nothing, and they are the weight
    rows = np.array([robot.jacobian(q, foot.name)[2] for foot in find_feet(robot)])
    found, *_ = np.linalg.lstsq(rows.T, rest, rcond=None)
    np.testing.assert_allclose(rows.T @ found, rest, atol=2e-3 * robot.mass)
    assert found.sum() == pytest.approx(9.81 * robot.mass, rel=1e-3)


def test_a_wrong_number_of_torques_is_rejected() -> None:
    with refused(InvalidValue, "feedforward"):
        tarsus.Simulation("mini_cheetah", controller=Stand(feedforward=(1.0, 2.0)))


FOUR_BAR = """<mujoco><worldbody><body name="crank" pos="0 0 1"><joint name="a" axis="0 1 0"/>
    <inertial pos=".1 0 .05" mass="1" diaginertia=".01 .01 .01"/>
    <body name="bar" pos="0 0 .3"><joint name="b" axis="0 1 0"/>
    <inertial pos=".2 0 0" mass="2" diaginertia=".01 .02 .02"/>
    <body name="rocker" pos=".5 0 0"><joint name="c" axis="0 1 0"/>
    <inertial pos="0 0 -.1" mass=".5" diaginertia=".01 .01 .01"/></body></body></body></worldbody>
    <equality><connect body1="rocker" anchor="0 0 -.4"/></equality>
    <actuator><motor joint="a"/></actuator></mujoco>"""
GEARED = """<mujoco><worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0"/>
    <inertial pos=".1 0 0" mass="1" diaginertia=".01 .01 .01"/></body>
    <body pos="0 1 1"><joint name="b" axis="0 1 0"/>
    <inertial pos=".2 0 0" mass="1" diaginertia=".01 .01 .01"/></body></worldbody>
    <equality><joint joint1="b" joint2="a" polycoef="0 -2 0 0 0"/></equality>
    <actuator><motor joint="a"/></actuator></mujoco>"""


@pytest.mark.parametrize("text", [FOUR_BAR, GEARED])
def test_static_torques_through_loops_and_gears_match_virtual_work(text: str) -> None:
    """The torque on the one motor is the rate of the whole potential energy along its motion."""
    robot = Robot.of(read_mjcf(text))
    crank = robot.joint_index("a")

    def height(angle: float) -> tuple[float, float]:
        q = robot.close_loops(np.eye(len(robot.neutral()))[crank] * angle)
        return float(robot.potential_energy(q)), float(q[crank])

    start = robot.close_loops(robot.neutral())
    (low, at), (high, to) = height(-1e-4), height(1e-4)
    (asked,) = static_torques(robot, start, ())
    assert asked == pytest.approx((high - low) / (to - at), rel=1e-3)
    simulation = tarsus.Simulation(robot, controller=Stand(kp=20.0, kd=1.0, feedforward=(asked,)))
    simulation.advance(1.0)
    assert np.abs(simulation.q - start).max() < 1e-3


@pytest.mark.slow
@pytest.mark.skipif(robots_folder() is None, reason="needs example-robot-data")
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_static_torques_reduce_the_lean_of_cassie() -> None:
    """Its leaf springs are not in equilibrium at the start, so some of the lean remains."""
    folder = robots_folder()
    assert folder is not None
    cassie = tarsus.load(folder / LEGGED["cassie"])
    leans = []
    for hold in (True, False):
        simulation = tarsus.Simulation(cassie, controller="stand")
        if not hold:
            gait = replace(simulation.controller, feedforward=0.0)
            simulation = tarsus.Simulation(cassie, controller=gait)
        simulation.advance(5.0)
        leans.append(float(np.rad2deg(np.arccos(uprightness(simulation.robot, simulation.q)))))
    assert leans[0] < 0.3 < 1.5 < leans[1]
