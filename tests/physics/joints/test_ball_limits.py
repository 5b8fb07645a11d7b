"""Limits of ball joints: closed forms of impacts and of sliding on the cone, MuJoCo."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused
from helpers.warned import warned

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidModel
from tarsus.model.check import check
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf

mujoco: Any = pytest.importorskip("mujoco")
LIMIT, INERTIA = 0.5, 0.2  # rad, kg m^2
TOP = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 {{g}}"/><worldbody>
<body pos="0 0 1"><joint type="ball" name="b" range="0 {LIMIT}" limited="true" damping="{{d}}"
{{hard}}/><inertial pos="0 0 {{z}}" mass="1" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/></body>
</worldbody></mujoco>"""


def top(g: float = 0.0, z: float = 0.0, d: float = 0.0, hard: str = "") -> tuple[str, Robot]:
    """Text of a body on a ball joint, its center of mass z above, and the robot."""
    text = TOP.format(g=g, z=z, d=d, hard=hard)
    return text, Robot.of(check(read_mjcf(text)))


def turned(angle: float, axis: Any) -> np.ndarray:
    """Unit quaternion of a rotation about an axis."""
    direction = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * direction)])


def angle(q: np.ndarray) -> np.ndarray:
    return 2 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))


@pytest.mark.parametrize("sign", [1.0, -1.0])  # of the quaternion: the same rotation
@pytest.mark.parametrize("bounce", [0.0, 0.4])
def test_a_body_stops_at_the_cone_about_any_axis(bounce: float, sign: float) -> None:
    """Its rate about the axis of rotation is stopped or reversed, with the impulse that takes."""
    axis = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    simulation = Simulation(top()[1], dt=1e-3, bounce=bounce)
    simulation.set(q=sign * turned(0.1, axis), u=2 * axis)
    log = simulation.run(0.25)
    assert simulation.u == pytest.approx(-2 * bounce * axis, abs=1e-5)
    assert angle(log.q.values).max() == pytest.approx(LIMIT, abs=3e-3)
    assert angle(log.q.values).max() < LIMIT + 1e-5
    impulse = -(1 + bounce) * 2 * INERTIA
    assert float(log.force_loop_limit.sum()) * 1e-3 == pytest.approx(impulse, rel=1e-5)
    assert log.loop_joint.values.tolist() == ["b"]
    lost = -(1 - bounce**2) * 0.5 * INERTIA * 4
    assert float(log.energy_limits.sum()) == pytest.approx(lost, rel=1e-5)


def test_a_body_slides_along_the_cone_and_keeps_its_speed() -> None:
    """A moment along the axis of rotation does no work on a motion across it."""
    simulation = Simulation(top()[1], dt=5e-4)
    simulation.set(q=turned(LIMIT, [1, 0, 0]), u=[0.0, 1.5, 0.0])
    log = simulation.run(1.0)
    assert np.abs(angle(log.q.values) - LIMIT).max() < 1e-3
    energy = log.kinetic_energy.values
    assert energy == pytest.approx(np.full(len(energy), energy[0]), rel=2e-3)
    # the axis of rotation has turned by a large angle
    assert np.ptp(np.arctan2(log.q.values[:, 2], log.q.values[:, 1])) > 1.0


def test_an_inverted_pendulum_rests_on_its_cone_as_in_mujoco() -> None:
    """Also the moment of the limit, m g z sin(limit)."""
    hard = 'solreflimit=".002 1" solimplimit=".9999 .9999 .001"'
    model = mujoco.MjModel.from_xml_string(top(-9.81, 0.3, 0.2, hard)[0])
    model.opt.timestep = 5e-4
    data = mujoco.MjData(model)
    start = turned(0.1, [3, 1, 0])
    data.qpos[:] = start
    for _ in range(20000):
        mujoco.mj_step(model, data)
    simulation = Simulation(top(-9.81, 0.3, 0.2)[1], dt=1e-3)
    simulation.set(q=start)
    log = simulation.run(10.0)
    assert simulation.q == pytest.approx(data.qpos, abs=2e-4)
    moment = 9.81 * 0.3 * np.sin(LIMIT)
    assert -float(log.force_loop_limit[-1, 0]) == pytest.approx(moment, rel=1e-6)
    assert data.efc_force[0] == pytest.approx(moment, rel=1e-3)


def test_steppers_of_forces_push_back_from_the_cone() -> None:
    simulation = Simulation(top()[1], dt=1e-4, law="compliant", stepper="rk4")
    simulation.set(u=[0.0, 2.0, 0.0])
    log = simulation.run(0.4)
    assert LIMIT < angle(log.q.values).max() < LIMIT + 0.02
    assert -0.5 < simulation.u[1] < 0


def test_limits_round_trip_and_none_are_left_out() -> None:
    robot = top()[1]
    assert read_mjcf(to_mjcf(robot, floor=False, joint_limits=True)).bodies[0].joint.upper == LIMIT
    simulation = Simulation(robot, limits=False)
    simulation.set(u=[1.0, 0.0, 0.0])
    simulation.advance(1.0)
    assert angle(simulation.q) == pytest.approx(1.0, abs=1e-6)
    with warned("ball-joint-limits-ignored", "b"):
        locked = read_mjcf(top()[0].replace(f'range="0 {LIMIT}"', 'range="0 0"'))
    assert locked.bodies[0].joint.upper == np.inf
    joint = replace(robot.bodies[0].joint, upper=-0.1)
    with refused(InvalidModel, "b"):
        check(replace(robot, bodies=(replace(robot.bodies[0], joint=joint),)))
