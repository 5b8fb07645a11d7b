"""Floating bases of slides with a ball or hinges are read as one free joint."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

from tarsus import Simulation
from tarsus.comparison.states import compile_mujoco_model
from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.model.mjcf import read_mjcf

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


def test_states_of_merged_joints_are_not_judged(tmp_path) -> None:
    (tmp_path / "r.xml").write_text(file(SLIDES + HINGES))
    with refused(Unsupported, "bx"):
        compile_mujoco_model(str(tmp_path / "r.xml"))
