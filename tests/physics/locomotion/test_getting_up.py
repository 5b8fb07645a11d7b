"""Preparation of the task of standing up: stable ground springs, motors with a speed limit."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from casadi import DM, SX

import tarsus
from tarsus.dynamics.effective_mass import min_effective_masses
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.learning.training_defaults import with_training_defaults
from tarsus.learning.training_spec import TrainingSpec
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.morphology.legs import find_legs
from tarsus.morphology.rotors import with_back_emf
from tarsus.simulation.contact_selection import select_candidates
from tarsus.tasks.get_up import GetUp

ROBOTS = ("mini_cheetah", "go2", "anymal_c")
POSES = 30


class Taught(NamedTuple):
    """Training specification and the robot prepared for it."""

    lesson: TrainingSpec
    robot: Robot


@cache
def taught(name: str) -> Taught:
    folder = robots_folder()
    if name in LEGGED and folder is None:
        pytest.skip("example-robot-data is not installed")
    file = str(folder / LEGGED[name]) if folder and name in LEGGED else name
    lesson = with_training_defaults({"task": "get_up", "robot": file})
    task, robot = lesson.task_and_robot()
    return Taught(lesson, task.prepare(robot))


def arm(torque: float, limit: float) -> Robot:
    """A hinge at the world that turns a mass of 2 kg at 0.5 m about z, with a motor."""
    joint = Joint("j", "hinge", armature=0.1, damping=0.2, velocity_limit=limit)
    body = Body("arm", -1, joint, Inertia(2.0, np.array([0.5, 0, 0]), np.zeros((3, 3))))
    tip = Candidate("tip", 0, np.array([0.5, 0, 0]))
    motor = Actuator("motor", "j", -torque, torque)
    return Robot.of(Mechanism("arm", (body,), candidates=(tip,), actuators=(motor,)))


def test_effective_inertia_at_the_tip_includes_rotor_and_damper() -> None:
    """At 0.5 m: 2 kg, and (0.1 kg m^2 + 0.01 s times 0.2 N m s) / (0.5 m)^2."""
    robot = arm(3.0, np.inf)
    [[found]] = min_effective_masses(robot, np.zeros((1, 1)), robot.candidates, 0.01)
    assert found == pytest.approx(2 + (0.1 + 0.002) / 0.25, rel=1e-12)


def test_a_motor_reaches_but_does_not_exceed_its_no_load_speed() -> None:
    """Its full torque is 3 N m at 2 rad/s, less the torque of the joint's damper."""
    braked = with_back_emf(arm(3.0, 2.0), 1.0)
    sim = tarsus.Simulation(braked, law="moreau", controller=None, dt=0.01)
    speeds = []
    for _ in range(600):
        sim.step([3.0])
        speeds.append(float(sim.u[0]))
    assert speeds[-1] == pytest.approx(3.0 / (3.0 / 2.0 + 0.2), rel=1e-4)
    assert max(speeds) < 2.0 and (np.diff(speeds) > -1e-12).all()
    # where no limit is known nothing brakes
    assert with_back_emf(arm(3.0, np.inf), 1.0).bodies[0].joint.damping == 0.2


@pytest.mark.parametrize("name", ROBOTS)
def test_the_springs_are_stable_in_any_pose_and_carry_the_robot(name: str) -> None:
    """c dt^2 + 2 d dt < 4 m for the effective mass of each contact in any posture; a foot sinks
    by less than 2 % of the length of a straight leg.
    """
    lesson, robot = taught(name)
    law = lesson.contact_law().parameters()
    c, d = float(law["c_N"]), float(law["d_N"])
    poses = np.tile(np.array(robot.keyframes["stand"], float), (POSES, 1))
    poses[:, 7:] += np.random.default_rng(1).uniform(-1.5, 1.5, (POSES, poses.shape[1] - 7))
    least = min_effective_masses(robot, poses, robot.candidates, lesson.dt).min()
    assert c * lesson.dt**2 + 2 * d * lesson.dt < 4 * least
    length = np.mean([sum(leg.lengths) for leg in find_legs(robot)])
    assert robot.mass * 9.81 / 4 / c < 0.02 * length
    assert law["c_T"] == law["c_N"] and law["d_T"] == law["d_N"]


@pytest.mark.parametrize("name", ROBOTS)
def test_all_motors_have_a_rotor_and_a_speed(name: str) -> None:
    """Damping is at least torque over velocity limit; hips are at most at 0.7 of the length of
    a straight leg.
    """
    robot = taught(name).robot
    for motor in robot.actuators:
        joint = robot.bodies[robot.joint_index(motor.joint)].joint
        assert joint.armature > 0
        assert joint.damping * joint.velocity_limit >= motor.upper * (1 - 1e-9) > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_feet_thighs_and_trunk_have_candidates(name: str) -> None:
    """Four feet, eight ends of thighs and eight corners of the trunk."""
    lesson, robot = taught(name)
    notices: list[str] = []
    chosen = select_candidates(robot, lesson.task_and_method()[0].contacts(robot), notices)
    assert [c.name for c in chosen] == [c.name for c in robot.candidates] and not notices
    assert len({c.name for c in chosen}) == 20


def test_action_range_grows_with_the_distance_from_standing() -> None:
    """The boost is `inverted_boost` upside down, zero while standing, and in between on the
    belly.
    """
    lesson, robot = taught("mini_cheetah")
    task, stand = lesson.task_and_robot()[0], np.array(robot.keyframes["stand"], float)
    assert isinstance(task, GetUp)

    def factor(height: float, tilt: float) -> float:
        q = stand.copy()
        q[2], q[3:7] = height, [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
        return float(
            DM(task.action_scale_factor(kinematics(robot, SX(DM(q))), lambda _: [SX(0.1)], stand))
        )

    assert factor(stand[2] + 0.1, 0.0) == pytest.approx(1)
    assert factor(stand[2] + 0.1, np.pi) == pytest.approx(1 + task.inverted_boost)
    assert factor(0.1, 0.0) == pytest.approx(1 + task.inverted_boost)
    assert 1 < factor(0.5 * stand[2] + 0.1, 0.3) < 1 + task.inverted_boost


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_dropped_in_any_pose_come_to_rest(name: str) -> None:
    """Four seconds under the default law and step, with joints held: none diverges or rises,
    nearly all come to rest.
    """
    lesson, robot = taught(name)
    env = lesson.create_environment(threads=1)
    limit = max(body.joint.velocity_limit for body in robot.bodies[1:])
    highest, u = env.state()["q"][:, 2], env.state()["u"]
    for k in range(190):
        out = env.step(np.zeros(env.action_size))
        assert not out.diverged.any()
        u = env.state()["u"]
        if k > 50:
            assert np.abs(u[:, 6:]).max() < limit
            assert (env.state()["q"][:, 2] < np.maximum(highest, 1.2 * env.start[2])).all()
    assert np.median(np.abs(u).max(1)) < 0.05
