"""Speed limits and torque-speed curves of motors hold within a step, however light the joint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.control.file_actuators import FileActuators
from tarsus.model.robot_data import LEGGED, robots_folder

LIGHT = """<mujoco><option gravity="0 0 0"/><worldbody><body name="a" pos="0 0 3">
<joint name="j" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="{0} {0} {0}"/></body>
</worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""
AT_SPEED = {"speed": 10.0, "force_lower": -2.0, "force_upper": 2.0}
ON_CURVE = {"stall_torque": 2.0, "no_load_speed": 10.0}


@pytest.mark.parametrize("limits", [AT_SPEED, ON_CURVE], ids=["speed", "curve"])
@pytest.mark.parametrize("inertia", [2e-5, 2e-3])  # kg m^2
@pytest.mark.parametrize("dt", [5e-3, 5e-4])
def test_motors_respect_their_speed_on_light_joints(
    tmp_path: Path, limits: dict[str, float], inertia: float, dt: float
) -> None:
    """The torque falls within the step; with the initial torque the rate exceeded the limit
    many times.
    """
    (tmp_path / "light.xml").write_text(LIGHT.format(inertia))
    made = tarsus.Simulation(
        tmp_path / "light.xml",
        actuators=FileActuators(**limits),
        dt=dt,
        controller=lambda *_: [2.0],
    )
    log = made.run(100 * dt)
    rate, torque = log.u.values[:, 0], log.tau.values[:, 0]
    assert rate.max() < 10.0 * (1 + 1e-9)
    assert np.allclose(np.diff(rate), dt * torque[1:] / inertia, atol=1e-9)
    if limits is ON_CURVE:  # implicit, in closed form
        share = 2.0 * dt / (10.0 * inertia)
        assert np.allclose(rate, 10.0 * (1 - (1 + share) ** -np.arange(1.0, 101)), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "joint"), [("go1", "FL_calf_joint"), ("talos_reduced", "leg_left_5_joint")]
)
def test_motor_speed_limits_hold_while_other_joints_are_locked_or_free(
    name: str, joint: str
) -> None:
    """With dry friction and limits of other joints, which determine how far this one is thrown."""
    folder = robots_folder()
    if folder is None:
        pytest.skip("the package example-robot-data is not installed")
    robot = tarsus.load(folder / LEGGED[name], floating=False, height=2.0)
    k = [own.joint for own in robot.file_actuators].index(joint)
    own, at = robot.file_actuators[k], robot.u_slices[robot.joint_index(joint)].start
    made = tarsus.Simulation(robot, actuators="file", contacts=[])
    action = np.zeros(len(robot.file_actuators))
    action[k] = own.force[1]
    fastest = 0.0
    for _ in range(5):
        made.step(action)
        fastest = max(fastest, abs(made.u[at]))
    assert 0.5 * own.speed < fastest < own.speed * (1 + 1e-6)
