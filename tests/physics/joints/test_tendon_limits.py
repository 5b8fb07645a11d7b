"""Limits of tendons: closed forms of impacts and of rest, contacts at the same time, MuJoCo."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.check import check
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf

mujoco: Any = pytest.importorskip("mujoco")
I_A, I_B = 0.1, 0.3  # kg m^2
COEFFICIENTS, UPPER = np.array([1.0, -2.0]), 0.4  # [1], rad
HINGES = f"""<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
<body><joint name="a" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 {I_A}"/></body>
<body><joint name="b" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 {I_B}"/></body>
</worldbody><tendon><fixed name="t" limited="true" range="-.5 {UPPER}"><joint joint="a" coef="1"/>
<joint joint="b" coef="-2"/></fixed></tendon></mujoco>"""
ROPE = """<mujoco><worldbody>
<body pos="0 0 .1"><joint name="upper" type="slide" axis="0 0 1"/><geom size=".1" mass="2"/></body>
<body pos="1 0 1"><joint name="lower" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body></worldbody>
<tendon><fixed name="rope" limited="true" range="-.3 9"><joint joint="lower" coef="1"/>
<joint joint="upper" coef="-1"/></fixed></tendon></mujoco>"""
LEG = """<mujoco><compiler angle="radian"/><worldbody>
<body pos="0 0 1"><joint name="hip" axis="0 1 0" damping=".3"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" contype="0" conaffinity="0"/>
<body pos=".3 0 0"><joint name="knee" axis="0 1 0" damping=".3"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" contype="0" conaffinity="0"/></body></body>
</worldbody><tendon><fixed name="t" limited="true" range="-1 .6" {hard}>
<joint joint="hip" coef=".8"/><joint joint="knee" coef=".5"/></fixed></tendon></mujoco>"""


def load(text: str) -> Robot:
    """Read a robot without the warning that its file has no actuators."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Robot.of(check(read_mjcf(text)))


@pytest.mark.parametrize("bounce", [0.0, 0.5])
@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler", "event_driven"])
def test_two_hinges_stop_together_where_their_tendon_is_taut(stepper: str, bounce: float) -> None:
    """One impulse p = (1 + e) w.u / (w.M^-1 w) along w, and the energy that it takes."""
    simulation = Simulation(load(HINGES), dt=1e-3, stepper=stepper, bounce=bounce)
    start, inertia = np.array([3.0, -1.0]), np.array([I_A, I_B])
    simulation.set(u=start)
    log = simulation.run(0.15)
    impulse = (1 + bounce) * (COEFFICIENTS @ start) / (COEFFICIENTS**2 @ (1 / inertia))
    end = start - impulse * COEFFICIENTS / inertia
    assert simulation.u == pytest.approx(end, abs=1e-5)
    assert float(log.force_loop_limit.sum()) * 1e-3 == pytest.approx(-impulse, rel=1e-5)
    assert log.loop_joint.values.tolist() == ["t"] and not log.force_limit.values.any()
    lost = 0.5 * inertia @ (end**2 - start**2)
    assert float(log.energy_limits.sum()) == pytest.approx(lost, rel=1e-5)
    lengths = log.q.values @ COEFFICIENTS
    assert lengths.max() < UPPER + 1e-5 and lengths.max() > UPPER - 0.01
    assert int((log.converged == 0).sum()) == 0


def test_a_limit_is_a_spring_for_steppers_of_forces() -> None:
    """It pushes back as the limit of a joint does."""
    simulation = Simulation(load(HINGES), dt=1e-4, law="compliant", stepper="rk4")
    simulation.set(u=[3.0, -1.0])
    log = simulation.run(0.3)
    lengths = log.q.values @ COEFFICIENTS
    assert UPPER < lengths.max() < UPPER + 0.03
    rate = simulation.u @ COEFFICIENTS
    assert -0.2 * 5.0 < rate < 0 and I_A * simulation.u[0] + I_B / 2 * simulation.u[1] > 0
    assert 2 * I_A * simulation.u[0] + I_B * simulation.u[1] == pytest.approx(0.6 - 0.3, abs=1e-9)


@pytest.mark.parametrize("law", ["moreau", "soft_convex", "compliant", "linearized", "lcp_impulse"])
def test_a_rope_pulls_a_ball_onto_the_ground(law: str) -> None:
    """At rest the rope carries the lower mass, and the ground both."""
    simulation = Simulation(load(ROPE), law=law, dt=1e-3)
    log = simulation.run(1.5)
    assert float(log.force_loop_limit[-200:].mean()) == pytest.approx(9.81, rel=1e-3)
    assert float(log.force_contact[-200:, 0, 0].mean()) == pytest.approx(3 * 9.81, rel=1e-3)
    assert simulation.q[1] - simulation.q[0] == pytest.approx(-0.3, abs=1e-4)
    assert int((log.converged == 0).sum()) == 0
    assert abs(simulation.u).max() < 1e-3


def test_worlds_of_single_precision_agree() -> None:
    simulation = Simulation(load(ROPE), dt=1e-3, worlds=8, precision="float32")
    simulation.advance(1.5)
    assert simulation.q[:, 1] - simulation.q[:, 0] == pytest.approx(np.full(8, -0.3), abs=1e-4)
    assert np.abs(simulation.u).max() < 1e-3


def test_a_leg_rests_on_its_tendon_as_in_mujoco() -> None:
    """Same posture, and the same force at the limit."""
    hard = 'solreflimit=".002 1" solimplimit=".9999 .9999 .001"'
    model = mujoco.MjModel.from_xml_string(LEG.format(hard=hard))
    model.opt.timestep = 5e-4
    data = mujoco.MjData(model)
    for _ in range(20000):
        mujoco.mj_step(model, data)
    simulation = Simulation(load(LEG.format(hard="")), dt=1e-3)
    log = simulation.run(10.0)
    assert simulation.q == pytest.approx(data.qpos, abs=2e-4)
    assert 0.8 * simulation.q[0] + 0.5 * simulation.q[1] == pytest.approx(0.6, abs=1e-6)
    assert abs(float(log.force_loop_limit[-1, 0])) == pytest.approx(data.efc_force[0], rel=1e-3)
    assert data.efc_force[0] > 0.5


def test_a_length_beyond_its_range_is_reported_and_returns() -> None:
    beyond = replace(load(HINGES), keyframes={"stand": np.array([0.5, 0.0])})
    simulation = Simulation(beyond)
    (notice,) = (n for n in simulation.warnings if n.code == "joints-beyond-limits")
    assert notice.subject == "t"
    simulation.advance(0.4)
    assert simulation.u @ COEFFICIENTS == pytest.approx(-0.2, rel=1e-4)
    assert UPPER < simulation.q @ COEFFICIENTS < 0.43
    free = Simulation(load(HINGES), limits=False)
    free.set(u=[3.0, -1.0])
    free.advance(0.3)
    assert free.u == pytest.approx([3.0, -1.0])


def test_tendons_round_trip_through_mjcf() -> None:
    text = LEG.format(hard='stiffness="5" springlength="-.1 .2" damping=".3" frictionloss=".1"')
    robot = load(text)
    assert load(to_mjcf(robot, floor=False, joint_limits=True)).tendons == robot.tendons
