"""Tendons through sites: moment arms and motion as in MuJoCo, conservation, ropes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.refused import refused
from helpers.warned import warned

from tarsus import Simulation
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.dynamics import tendons
from tarsus.dynamics.actuator_force import ActuatorForce
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidModel
from tarsus.model.check import check
from tarsus.model.elastic_gears import with_backlash
from tarsus.model.fixed_base import fix_base
from tarsus.model.merge import displace, merge
from tarsus.model.mjcf import read_mjcf
from tarsus.model.poses import Pose
from tarsus.model.tendon import Tendon, TendonSegment
from tarsus.model.to_mjcf import to_mjcf

mujoco: Any = pytest.importorskip("mujoco")
AIR = 'contype="0" conaffinity="0"'
WALKER = f"""<mujoco model="walker"><compiler angle="radian"/><option gravity="0 0 {{g}}"/>
<worldbody><site name="hook" pos=".1 .2 3"/>
<body name="trunk" pos="0 0 2"><freejoint/><geom size=".1 .15 .2" type="box"/>
<site name="shoulder" pos=".1 0 .1"/>
<body pos="0 .1 -.2"><joint name="a" axis="0 1 0" damping=".05"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" {AIR}/><site name="elbow" pos=".1 0 .05"/>
<body pos=".3 0 0"><joint name="b" axis=".2 1 0" armature=".01"/>
<geom type="capsule" size=".02" fromto="0 0 0 .2 0 0" {AIR}/><site name="hand" pos=".2 0 .02"/>
</body></body></body></worldbody><tendon>
<spatial name="muscle" {{t}}><site site="shoulder"/><site site="elbow"/><site site="hand"/>
<pulley divisor="2"/><site site="hand"/><site site="shoulder"/></spatial>
<spatial name="cord" {{s}}><site site="hook"/><site site="shoulder"/></spatial></tendon>
<actuator>{{actuators}}</actuator></mujoco>"""
ACTUATORS = """<motor name="pull" tendon="muscle" gear="3"/>
<position name="winch" tendon="cord" kp="30" kv="4"/><motor name="joint" joint="b"/>"""
SIGNALS = [-0.8, 0.9, 0.1]
TAUT = 'stiffness="40" springlength=".1 .2" damping=".3"'


def walker(actuators: str = "", t: str = "", s: str = "", g: float = 0.0) -> tuple[str, Robot]:
    """Text of a trunk with an arm, a tendon along it and one to the world, and the robot."""
    text = WALKER.format(actuators=actuators, t=t, s=s, g=g)
    return text, Robot.of(check(read_mjcf(text)))


def state() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    p = random.normal(size=4)
    q = np.concatenate([[0.1, -0.2, 2.2], p / np.linalg.norm(p), [0.4, -0.7]])
    return q, random.normal(size=8)


def of_mujoco(text: str, signals: Any = ()) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = state()
    data.ctrl = signals
    mujoco.mj_forward(model, data)
    return model, data


def to_array(value: SX) -> np.ndarray:
    return np.array(ca.DM(ca.densify(value))).ravel()


def lengths(mechanism: Any, q: np.ndarray) -> list[float]:
    kin = kinematics(mechanism, SX(q))
    return [float(to_array(tendons.length(kin, each))[0]) for each in mechanism.tendons]


def test_lengths_moment_arms_and_forces_are_those_of_mujoco() -> None:
    text, robot = walker(ACTUATORS, TAUT, 'stiffness="9" damping=".2"')
    data = of_mujoco(text, SIGNALS)[1]
    kin = kinematics(robot, *map(SX, state()))
    assert lengths(robot, state()[0]) == pytest.approx(data.ten_length)
    for k, tendon in enumerate(robot.tendons):
        rate = to_array(tendons.rate_row(kin, tendon)) @ state()[1]
        assert rate == pytest.approx(data.ten_velocity[k], rel=1e-9)
    assert np.allclose(robot.spring_forces(state()[0]), data.qfrc_spring, atol=1e-12)
    each = tendons.damping_forces(kin, SX(1e-3))
    damping = sum((one.row * one.force for one in each), SX.zeros(8))
    damped = to_array(damping) - robot.symbolic().damping * state()[1]
    assert np.allclose(damped, data.qfrc_damper, atol=1e-12)
    driven = Simulation(robot, actuators="file").robot
    values = {
        "strength": SX.ones(3),
        "kp": SX([a.kp for a in driven.file_actuators]),
        "kv": SX([a.kv for a in driven.file_actuators]),
    }
    q, u = map(SX, state())
    law = ActuatorForce(driven, SX(SIGNALS), values).at(q, u, SX(1e-9))
    force = law.driven.force(law.with_limits(SX.zeros(law.u.numel()))[0])
    assert np.allclose(to_array(force), data.qfrc_actuator, atol=1e-6)


def test_spatial_tendons_move_a_robot_as_in_mujoco() -> None:
    """The log's balance is closed, and its motors become the forces of that balance."""
    text, robot = walker(ACTUATORS, TAUT, 'stiffness="9"', -9.81)
    model, data = of_mujoco(text, SIGNALS)
    model.opt.timestep, model.opt.integrator = 1e-5, mujoco.mjtIntegrator.mjINT_RK4
    for _ in range(20000):
        mujoco.mj_step(model, data)
    off = []
    for dt in (1e-3, 5e-4):
        simulation = Simulation(robot, dt=dt, actuators="file")
        q, u = state()
        simulation.set(q=q, u=u)
        simulation.step(np.array(SIGNALS))
        log = simulation.run(0.2 - dt)
        off.append(np.abs(simulation.q - data.qpos).max())
        assert float(log.equation_residual.max()) < 1e-9
    assert off[1] < 2e-3 and 1.7 < off[0] / off[1] < 2.4
    forces = log_to_arrays(log, robot)["qfrc_actuator"][1:]
    before = np.concatenate([log.u_start.values[None], log.u.values[:-1]])
    work = 0.5 * log.attrs["dt"] * (forces * (before + log.u.values)).sum(1)
    assert np.allclose(work, log.energy_motors.values.reshape(len(work), -1).sum(1), atol=1e-10)


def test_a_tendon_within_a_robot_keeps_its_momentum() -> None:
    """Momentum is exact in flight, and energy of second order in dt."""
    robot = walker(t='stiffness="40" springlength=".1"')[1]
    lost = []
    for dt in (2e-3, 1e-3):
        simulation = Simulation(robot, dt=dt)
        q, u = state()
        simulation.set(q=q, u=u)
        start = robot.momentum(q, u)
        log = simulation.run(0.5)
        assert np.allclose(robot.momentum(simulation.q, simulation.u), start, atol=1e-9)
        kept = log.kinetic_energy + log.potential_energy - log.energy_joints.cumsum()
        lost.append(float(np.abs(kept - log.energy_start).max()))
    assert lost[1] < 0.01 and lost[0] / lost[1] > 3


def test_derivatives_of_a_step_are_exact() -> None:
    """With respect to the signals of actuators, one of which pulls against a limit."""
    robot = walker(ACTUATORS, f'limited="true" range="0 .92" {TAUT}', 'stiffness="9"', -9.81)[1]
    simulation = Simulation(robot, actuators="file", dt=1e-3)
    q, u = state()
    simulation.set(q=q, u=u)
    start, signals = simulation.state(), np.array(SIGNALS)
    exact = simulation.derivatives(action=signals).action[robot.nu : 2 * robot.nu]

    def end(change: np.ndarray) -> np.ndarray:
        simulation.restore(start)
        simulation.step(signals + change)
        return np.array(simulation.u)

    steps = 1e-5 * np.eye(3)
    columns = [(end(step) - end(-step)) / 2e-5 for step in steps]
    assert np.allclose(exact, np.transpose(columns), atol=1e-8) and np.abs(exact).max() > 0.01


@pytest.mark.parametrize("law", ["moreau", "compliant"])
def test_a_ball_on_a_rope_swings_like_a_pendulum(law: str) -> None:
    """Released at the height of the hook, it pulls with 3 m g at the bottom."""
    length = 0.8
    text = f"""<mujoco><worldbody><site name="hook" pos="0 0 2"/>
    <body pos="{length} 0 2"><freejoint/><geom size=".05" mass="1"/><site name="eye"/></body>
    </worldbody><tendon><spatial name="rope" limited="true" range="0 {length}"><site site="hook"/>
    <site site="eye"/></spatial></tendon></mujoco>"""
    simulation = Simulation(Robot.of(check(read_mjcf(text))), law=law, dt=5e-4)
    simulation.set(q=[length, 0, 2, 1, 0, 0, 0])
    log = simulation.run(1.0)
    distance = np.linalg.norm(log.q.values[:, :3] - [0, 0, 2], axis=1)
    assert np.abs(distance - length).max() < 1e-3
    lowest = int(np.argmin(log.q.values[:, 2]))
    assert log.q.values[lowest, 2] == pytest.approx(2 - length, abs=1e-3)
    tension = -log.force_loop_limit.values[:, 0]
    assert tension[lowest] == pytest.approx(3 * 9.81, rel=5e-3)
    energy = (log.kinetic_energy + log.potential_energy).values
    assert np.abs(energy - log.energy_start.values).max() < 0.02 * 9.81 * length


def test_tendons_follow_their_bodies() -> None:
    """Through merging, moving, fixing the base, added joints and the export."""
    q, robot = state()[0], walker(ACTUATORS, 'limited="true" range=".2 .4"', TAUT)[1]
    expected = lengths(robot, q)
    both = check(merge([robot, robot]))
    assert lengths(both, np.concatenate([q, q])) == pytest.approx(expected * 2)
    again = read_mjcf(to_mjcf(robot, floor=False, joint_limits=True))
    assert lengths(again, q) == pytest.approx(expected) and again.tendons[0].upper == 0.4
    # the hook moves with the robot
    pose = Pose(np.array([1.0, 2.0, 0.5]), np.eye(3)[[1, 2, 0]].T)
    moved = displace(replace(robot, keyframes={"stand": q}), pose)
    assert lengths(moved, moved.keyframes["stand"]) == pytest.approx(expected)
    fixed = fix_base(replace(robot, keyframes={"stand": q}))
    assert lengths(fixed, q[7:]) == pytest.approx(expected)
    geared = with_backlash(robot, 0.1, ["b"])
    assert lengths(geared, np.append(q, 0.0)) == pytest.approx(expected)


def test_impossible_segments_and_wrapping_are_reported() -> None:
    robot = walker()[1]
    ends = (0, (0.0, 0.0, 0.0)), (9, (0.0, 0.0, 0.0))
    for segment in (TendonSegment(*ends), TendonSegment(ends[0], ends[0])):
        with refused(InvalidModel, "t"):
            check(replace(robot, tendons=(Tendon("t", segments=(segment,)),)))
    text = walker(t='stiffness="1"')[0].replace('<site site="elbow"/>', '<geom geom="wheel"/>')
    text = text.replace('<site name="elbow"', '<geom name="wheel" size=".01"/><site name="elbow"')
    with warned("tendons-ignored", "muscle"):
        assert not read_mjcf(text).tendons
