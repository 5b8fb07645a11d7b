"""Bases on passive slides and hinges, as of planar robots: they move, stand and fall."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import tarsus
from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.base_motion import base_pose, base_position, raise_base, vertical_in_base
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.fall import uprightness
from tarsus.morphology.feet import find_soles
from tarsus.morphology.posture import is_balanced
from tarsus.sensing.base import find_frame
from tarsus.simulation.default_controller import with_standing_keyframe
from tarsus.terrain.slope import Slope

PLANAR = """<joint name="ahead" type="slide" axis="1 0 0"/>
<joint name="up" type="slide" axis="0 0 1" ref="0.9"/><joint name="pitch" axis="0 1 0"/>"""
ROBOT = """<mujoco model="strider"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 .9">{base}
<geom name="trunk" type="capsule" fromto="-.05 0 .1 .02 0 .4" size=".06" mass="7"/>
<body name="thigh" pos="0 0 0"><joint name="hip" axis="0 1 0" range="-2 1" armature=".02"/>
<geom name="thigh" type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="3"/>
<body name="shin" pos="0 0 -.4"><joint name="knee" axis="0 1 0" range="-.1 2" damping=".3"/>
<geom name="shin" type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass="2"/>
<body name="foot" pos="0 0 -.4"><joint name="ankle" axis="0 1 0" range="-1 1"/>
<geom name="foot" type="capsule" fromto="-.1 0 -.05 .2 0 -.05" size=".04" mass="1"/>
</body></body></body></body></worldbody><actuator>{motors}</actuator></mujoco>"""
MOTORS = "".join(f'<motor joint="{joint}"/>' for joint in ("hip", "knee", "ankle"))
Array = NDArray[np.float64]


def text(base: str = PLANAR, motors: str = MOTORS) -> str:
    return ROBOT.format(base=base, motors=motors)


def strider(base: str = PLANAR, motors: str = MOTORS) -> Robot:
    return Robot.of(read_mjcf(text(base, motors)))


def test_equations_equal_mujoco() -> None:
    """Coordinates are those of MuJoCo; so are mass matrix, bias and the pose of the base."""
    robot, model = strider(), mujoco.MjModel.from_xml_string(text())
    data, M, rng = mujoco.MjData(model), np.zeros((6, 6)), np.random.default_rng(1)
    assert (robot.mobile, robot.floating, robot.base_name) == (True, False, "trunk")
    for _ in range(5):
        q, u = rng.uniform(-1, 1, 6), rng.uniform(-3, 3, 6)
        data.qpos[:], data.qvel[:] = q, u
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, M)
        np.testing.assert_allclose(robot.mass_matrix(q), M, atol=1e-12)
        np.testing.assert_allclose(robot.bias(q, u), data.qfrc_bias, atol=1e-11)
        position, rotation = base_pose(robot, q)
        np.testing.assert_allclose(position, data.body("trunk").xpos, atol=1e-14)
        np.testing.assert_allclose(rotation.ravel(), data.body("trunk").xmat, atol=1e-14)


def test_a_passive_drop_equals_mujoco() -> None:
    """In flight, halving the step at least halves the distance to MuJoCo's RK4."""
    model = mujoco.MjModel.from_xml_string(text())
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
    data = mujoco.MjData(model)
    start = np.array([0.0, 3.0, 0.2, -0.3, 0.8, 0.1]), np.array([1.0, 0.5, 2.0, 1.0, -1.5, -0.5])
    data.qpos[:], data.qvel[:] = start
    mujoco.mj_step(model, data, 3000)
    errors = []
    for dt in (2e-3, 1e-3):
        simulation = Simulation(strider(), controller=None, dt=dt)
        simulation.set(q=start[0], u=start[1])
        simulation.advance(0.3)
        errors.append(np.abs(simulation.q - data.qpos).max())
    assert errors[1] < 2e-4 and errors[0] / errors[1] > 1.9


@pytest.mark.parametrize(
    ("base", "motors"),
    [
        (PLANAR, MOTORS + '<motor joint="up"/>'),
        (PLANAR.replace('ref="0.9"', 'ref="0.9" range="0 2"'), MOTORS),
        (PLANAR.replace('ref="0.9"', 'stiffness="100"'), MOTORS),
        (PLANAR.replace("0 0 1", "0 1 0"), MOTORS),
        ('<joint axis="0 1 0"/>', MOTORS),
        ("", MOTORS),
    ],
)
def test_bases_that_are_driven_or_held_do_not_move(base: str, motors: str) -> None:
    robot = strider(base, motors)
    assert not robot.mobile and robot.base_chain == ()


def lowest_foot(simulation: Simulation) -> Array:
    """Heights of the lowest points of the sole above the plane through the origin."""
    robot, q = simulation.robot, simulation.q
    [sole] = find_soles(robot).values()
    return np.array([robot.position(q, c.name)[2] - c.radius for c in sole])


@pytest.mark.parametrize(
    "base",
    [
        PLANAR,
        '<joint name="up" type="slide" axis="0 0 1"/>',
        # slides that are not perpendicular, behind a hinge about the vertical
        '<joint axis="0 0 1"/><joint type="slide" axis="1 0 1"/><joint type="slide" axis="1 0 0"/>'
        '<joint axis="0 1 0"/>',
    ],
)
def test_it_starts_with_bent_knee_and_its_sole_on_the_ground(base: str) -> None:
    simulation = Simulation(strider(base), controller=None)
    robot = simulation.robot
    hip, knee, ankle = simulation.q[-3:]
    assert knee > 0.3 and hip + knee + ankle == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(lowest_foot(simulation), 0, atol=1e-9)
    np.testing.assert_allclose(base_position(robot, simulation.q)[:2], 0, atol=1e-9)
    q = simulation.q.copy()
    raise_base(robot, q, 0.25)
    rise = robot.position(q, "trunk") - robot.position(simulation.q, "trunk")
    np.testing.assert_allclose(rise, [0, 0, 0.25], atol=1e-12)


def test_it_starts_parallel_to_a_slope() -> None:
    simulation = Simulation(strider(), controller=None, terrain=Slope(angle=0.2))
    vertical = vertical_in_base(simulation.robot, simulation.q)
    np.testing.assert_allclose(vertical @ [0, 0, 1], np.cos(0.2), atol=1e-9)
    robot, q = simulation.robot, simulation.q
    [sole] = find_soles(robot).values()
    ends = np.array([robot.position(q, c.name) for c in sole])
    slope = np.ptp(ends[:, 2]) / np.ptp(ends[:, 0])
    assert slope == pytest.approx(np.tan(0.2), abs=1e-9)


def test_it_stands_and_it_falls() -> None:
    """With its servos it stands; pushed beyond its toes or without torque it falls."""
    stood = Simulation(strider(), controller="stand")
    figures = tarsus.summary(stood, stood.run(2.0))
    assert not figures["fell"] and figures["motion"] == "stood"
    assert figures["height_final"] == pytest.approx(base_position(stood.robot, stood.q)[2])
    limp = Simulation(strider(), controller=None)
    figures = tarsus.summary(limp, limp.run(2.0))
    assert figures["fell"] and figures["fall_time"] < 2.0
    assert uprightness(limp.robot, stood.q) == pytest.approx(1.0, abs=1e-4)


def test_balance_counts_in_the_plane_alone() -> None:
    robot, _ = with_standing_keyframe(strider())
    q = robot.keyframes["stand"].copy()
    assert is_balanced(robot, q)
    q[2], q[5] = 0.5, q[5] - 0.5  # lean ahead on a level sole
    assert not is_balanced(robot, q)


def test_legs_with_springs_keep_the_pose_in_which_these_are_relaxed() -> None:
    sprung = text().replace('range="-.1 2"', 'range="-.1 2" stiffness="50"')
    robot, _ = with_standing_keyframe(Robot.of(read_mjcf(sprung)))
    np.testing.assert_array_equal(robot.keyframes["stand"][-3:], 0)


def test_a_fixed_base_equals_a_file_without_its_joints() -> None:
    held, bare = Robot.of(read_mjcf(text(), floating=False)), strider("")
    assert held.body_names == bare.body_names == ("thigh", "shin", "foot")
    q = np.array([0.3, -0.7, 0.2])
    np.testing.assert_allclose(held.mass_matrix(q), bare.mass_matrix(q), atol=1e-14)
    for name in held.body_names:
        np.testing.assert_allclose(held.position(q, name), bare.position(q, name), atol=1e-14)


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_files_without_actuators_get_motors_behind_the_base() -> None:
    assert [motor.joint for motor in strider(motors="").actuators] == ["hip", "knee", "ankle"]


def test_the_base_is_the_default_frame_of_sensors() -> None:
    robot = strider()
    assert robot.bodies[find_frame(robot, "").body].name == "trunk"
