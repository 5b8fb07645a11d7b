"""Floating bases of slides with a ball or hinges are read as one free joint."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from helpers.warned import warned

import tarsus
from tarsus import Simulation
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.mujoco_runs.recorder import Recorder

SLIDES = """<joint name="bx" type="slide" axis="1 0 0"/><joint name="by" type="slide" axis="0 1 0"/>
<joint name="bz" type="slide" axis="0 0 1" ref=".4"/>"""
BALL = '<joint name="br" type="ball"/>'
HINGES = """<joint name="yaw" axis="0 0 1"/><joint name="pitch" axis="0 1 0"/>
<joint name="roll" axis="1 0 0"/>"""
ROBOT = """<mujoco><compiler angle="radian"/><worldbody><body name="base" pos="0 0 .4">{base}
<geom type="box" size=".1 .05 .03" mass="2"/><body name="arm" pos=".1 0 0">
<joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".3"/>
</body></body></worldbody><actuator>{motors}</actuator><keyframe>{key}</keyframe></mujoco>"""
MOTOR = '<motor joint="{}"/>'


def file(base: str, key: str = "", motors: str = MOTOR.format("swing")) -> str:
    return ROBOT.format(
        base=base, key=f'<key name="k" qpos="{key}"/>' if key else "", motors=motors
    )


@pytest.mark.parametrize("turning", [BALL, HINGES])
def test_a_base_on_slides_moves_as_on_a_free_joint(turning: str) -> None:
    with warned("base-joints-merged", "bx"):
        merged = read_mjcf(file(SLIDES + turning))
    free = read_mjcf(file("<freejoint/>"))
    ends = []
    for mechanism in (merged, free):
        made = Simulation(Robot.of(mechanism), controller=None, dt=1e-3)
        made.set(q=free.keyframes["qpos0"], u=[0.3, 0, 1.0, 0.5, -2.0, 1.0, 3.0])
        ends.append(made.run(0.4)["q"].values[-1])
    np.testing.assert_array_equal(*ends)


def test_keyframes_keep_the_pose_of_every_body() -> None:
    numbers = [0.1, -0.2, 0.7, 0.4, -0.3, 0.9, 0.5]
    text = file(SLIDES + HINGES, " ".join(map(str, numbers)))
    with warned("base-joints-merged", "bx"):
        robot = Robot.of(read_mjcf(text))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = numbers
    mujoco.mj_kinematics(model, data)
    for body in ("base", "arm"):
        np.testing.assert_allclose(
            robot.position(robot.keyframes["k"], body), data.body(body).xpos, atol=1e-12
        )


@pytest.mark.parametrize(
    ("base", "motors"),
    [
        (SLIDES.replace('ref=".4"', 'ref=".4" damping="1"') + BALL, ""),
        (SLIDES.replace('ref=".4"', 'ref=".4" range="0 1"') + BALL, ""),
        (SLIDES + HINGES, MOTOR.format("bz")),
        (SLIDES + HINGES.replace('axis="1 0 0"', 'axis="0 0 1"'), ""),
        (SLIDES, ""),
    ],
)
def test_a_base_that_is_held_or_driven_keeps_its_joints(base: str, motors: str) -> None:
    assert not read_mjcf(file(base, motors=motors + MOTOR.format("swing"))).floating


@pytest.mark.parametrize("turning", [BALL, HINGES])
@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_runs_of_mujoco_on_the_joints_of_the_file_are_judged(turning: str, tmp_path) -> None:
    """MuJoCo keeps the joints; momentum and energy balance in their coordinates."""
    text = file(SLIDES + turning).replace("<body ", '<geom type="plane" size="0 0 1"/><body ', 1)
    (tmp_path / "r.xml").write_text(text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = [0.3, 0.1, 0.0, 0.5, -1.0, 0.8, 2.0]
    recorder = Recorder(model, data)
    for k in range(300):
        data.ctrl[:] = 0.1 * np.sin(0.01 * k)
        mujoco.mj_step(model, data)
        recorder.record()
    run = recorder.arrays()
    ctrl = 0.1 * np.sin(0.01 * np.maximum(np.arange(301) - 1, 0))[:, None]
    states = {name: run[name] for name in ("time", "qpos", "qvel")} | {"ctrl": ctrl}
    for recorded in (run, states):
        card = tarsus.judge(recorded, tmp_path / "r.xml")
        assert card["normal_force_max"] > 0 and not card["not_judged"]
        assert {card["verdicts"][name]["verdict"] for name in ("equation_N", "energy")} == {"pass"}


@pytest.mark.filterwarnings("ignore::tarsus.errors.TarsusWarning")
def test_runs_on_the_merged_joint_are_judged_too(tmp_path) -> None:
    (tmp_path / "r.xml").write_text(file(SLIDES + HINGES))
    robot = tarsus.load(tmp_path / "r.xml")
    log = Simulation(robot, controller=None).run(0.1)
    card = tarsus.judge(log_to_arrays(log, robot), robot)
    assert card["verdicts"]["equation_N"]["verdict"] == "pass"
