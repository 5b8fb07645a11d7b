"""Fixed tendons with actuators: forces and motion as in MuJoCo, balance of energy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.refused import refused
from numpy.typing import NDArray

from tarsus import Simulation, load, rerun
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.dynamics.actuator_force import ActuatorForce
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.tendons import damping_forces
from tarsus.dynamics.transmission import numeric_rates
from tarsus.errors import IncompatibleOptions, InvalidModel, Unsupported
from tarsus.model.check import check
from tarsus.model.cut import cut
from tarsus.model.merge import merge
from tarsus.model.mjcf import read_mjcf
from tarsus.model.motors import with_servos
from tarsus.model.tendon import Tendon

mujoco: Any = pytest.importorskip("mujoco")
Array = NDArray[np.float64]
FINGER = """<mujoco model="finger"><compiler angle="radian" autolimits="true"/>
<option gravity="0 0 {g}"/><worldbody>
<body pos="0 0 1"><joint name="a" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" contype="0" conaffinity="0"/>
<body pos=".3 0 0"><joint name="b" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .2 0 0" contype="0" conaffinity="0"/>
<body pos=".2 0 0"><joint name="c" type="slide" axis="1 0 0" ref=".02"/>
<geom type="sphere" size=".03" contype="0" conaffinity="0"/></body></body></body>
<body pos="0 .5 1"><joint name="d" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 .2 0 0" contype="0" conaffinity="0"/></body>
</worldbody><tendon>
<fixed name="a" {t}><joint joint="a" coef=".7"/><joint joint="b" coef="-.4"/>
<joint joint="c" coef="2"/></fixed>
<fixed name="across" {s}><joint joint="b" coef="1"/><joint joint="d" coef=".5"/></fixed></tendon>
<actuator>{actuators}</actuator></mujoco>"""
ACTUATORS = """<motor name="pull" tendon="a" gear="3"/>
<position name="servo" tendon="across" kp="20" kv="2" forcerange="-4 4"/>
<velocity name="second" tendon="across" kv="1" gear="-2"/>
<position name="joint" joint="d" kp="5" kv=".2"/>"""
SIGNALS = [1.5, 0.4, -0.3, 0.2]
Q, U = [0.3, -0.5, 0.05, 0.8], [1.0, -2.0, 0.3, 0.5]


def finger(actuators: str = "", t: str = "", s: str = "", g: float = 0.0) -> tuple[str, Robot]:
    """Create the MJCF text and the robot of a finger: four joints and two tendons."""
    text = FINGER.format(actuators=actuators, t=t, s=s, g=g)
    return text, Robot.of(check(read_mjcf(text)))


def of_mujoco(text: str, signals: Any = (), q: Any = Q, u: Any = U) -> tuple[Any, Any]:
    """Model and data of MuJoCo at a state."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.ctrl = q, u, signals
    mujoco.mj_forward(model, data)
    return model, data


def end_in_mujoco(text: str, signals: Any, seconds: float) -> Array:
    """Coordinates after some time in MuJoCo, in the limit of small steps."""
    model, data = of_mujoco(text, signals)
    model.opt.timestep, model.opt.integrator = 1e-5, mujoco.mjtIntegrator.mjINT_RK4
    for _ in range(round(seconds / 1e-5)):
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


def test_actuators_on_tendons_act_as_in_mujoco() -> None:
    """Generalized forces: the actuators' forces times the coefficients of their tendons."""
    text, robot = finger(ACTUATORS)
    assert [a.joint for a in robot.file_actuators] == ["a_tendon", "across", "across", "d"]
    driven = Simulation(robot, actuators="file").robot
    values = {
        "strength": SX.ones(4),
        "kp": SX([a.kp for a in driven.file_actuators]),
        "kv": SX([a.kv for a in driven.file_actuators]),
    }
    law = ActuatorForce(driven, SX(SIGNALS), values).at(SX(Q), SX(U), SX(1e-9))
    force = law.driven.force(law.with_limits(SX.zeros(law.u.numel()))[0])
    expected = of_mujoco(text, SIGNALS)[1].qfrc_actuator
    assert np.allclose(np.array(ca.DM(force)).ravel(), expected, rtol=1e-7)


@pytest.mark.parametrize("stepper", ["midpoint", "rk4"])
def test_tendon_actuators_move_a_robot_as_in_mujoco(stepper: str) -> None:
    """Both go to the same limit, and the servos' work balances the energy."""
    text, robot = finger(ACTUATORS, g=-9.81)
    limit, off = end_in_mujoco(text, SIGNALS, 0.2), []
    for dt in (1e-3, 5e-4):
        simulation = Simulation(robot, law="compliant", dt=dt, actuators="file", stepper=stepper)
        simulation.set(q=Q, u=U)
        simulation.step(np.array(SIGNALS))
        log = simulation.run(0.2 - dt)
        off.append(np.abs(simulation.q - limit).max())
        assert list(log.actuator.values) == ["joint", "pull", "servo"]
    assert off[1] < 1e-3
    assert 1.7 < off[0] / off[1] < 2.4
    if stepper == "midpoint":
        assert float(log.equation_residual.max()) < 1e-9


def test_a_run_with_tendon_actuators_is_repeated_and_judged(tmp_path: Path) -> None:
    """The log's motors become generalized forces by the coefficients of the tendons."""
    (tmp_path / "finger.xml").write_text(finger(ACTUATORS, g=-9.81)[0])
    robot = load(str(tmp_path / "finger.xml"))
    simulation = Simulation(robot, actuators="file")
    simulation.set(q=Q, u=U)
    log = simulation.run(0.1)
    assert rerun(log).reproduced
    joint, pull, servo = log.tau.values.T
    forces = log_to_arrays(log, robot)["qfrc_actuator"][1:]
    expected = [0.7 * pull, -0.4 * pull + servo, 2 * pull, joint + 0.5 * servo]
    assert np.allclose(forces.T, expected, rtol=1e-12) and abs(servo).max() > 1
    rates = numeric_rates(robot, ["across", "d"], np.array([Q]), np.array([U]))
    assert np.allclose(rates, [[U[1] + 0.5 * U[3], U[3]]])


def test_a_stiff_servo_on_a_tendon_holds_its_length() -> None:
    """No gain is too stiff for a step, although the tendon couples two branches of the tree."""
    robot = finger('<position name="servo" tendon="across" kp="1e7" kv="1e4"/>')[1]
    simulation = Simulation(robot, dt=5e-3, actuators="file")
    simulation.step(np.array([0.3]))
    simulation.advance(10.0)
    assert simulation.q[1] + 0.5 * simulation.q[3] == pytest.approx(0.3, abs=1e-8)


def test_gaits_do_not_drive_tendons() -> None:
    robot = finger(ACTUATORS)[1]
    with refused(IncompatibleOptions, "actuators"):
        Simulation(robot, actuators="file", controller="stand")
    assert [motor.name for motor in Simulation(robot).robot.actuators] == ["joint"]


def test_servos_replace_joint_actuators_beside_those_on_tendons() -> None:
    robot = with_servos(finger(ACTUATORS)[1], {"d": (7.0, 0.1)})
    assert [a.joint for a in robot.file_actuators] == ["d", "a_tendon", "across", "across"]
    simulation = Simulation(robot, actuators="file")
    simulation.step(np.array([0.2, 1.5, 0.4, -0.3]))
    assert abs(simulation.u).min() > 0


def test_tendons_of_invalid_joints_are_rejected() -> None:
    robot = finger()[1]
    for terms, name in (
        ((("none", 1.0),), "none"),
        ((("a", np.inf),), "t"),
        ((("a", 0.0),), "t"),
    ):
        with refused(InvalidModel, name):
            check(replace(robot, tendons=(Tendon("t", terms),)))
    with refused(InvalidModel, "a"):
        check(replace(robot, tendons=(Tendon("a", (("a", 1.0),)),)))
    with refused(Unsupported, "b"):
        cut(finger(ACTUATORS)[1], ["b"])


def test_merged_robots_keep_their_tendons() -> None:
    robot = finger(ACTUATORS)[1]
    both = check(merge([robot, robot]))
    assert [tendon.name for tendon in both.tendons] == [
        "a_tendon",
        "across",
        "a_tendon_2",
        "across_2",
    ]
    assert both.tendons[3].terms == (("b_2", 1.0), ("d_2", 0.5))


SPRING = 'stiffness="40" springlength="-.1 .2" damping=".3"'
RELAXED = 'stiffness="15" springlength=".1"'


def test_springs_and_damping_of_tendons_act_as_in_mujoco() -> None:
    """Stretched, relaxed and compressed; without friction, which MuJoCo solves as a constraint."""
    text, robot = finger(t=SPRING, s=RELAXED)
    for scale in (-1.0, 0.0, 0.1, 1.0):
        q = scale * np.array(Q)
        data = of_mujoco(text, q=q)[1]
        kin = kinematics(robot, SX(q), SX(U))
        damping = sum(each.row * each.force for each in damping_forces(kin, SX(1e-3)))
        assert np.allclose(robot.spring_forces(q), data.qfrc_spring, rtol=1e-12, atol=1e-14)
        assert np.allclose(np.array(ca.DM(damping)).ravel(), data.qfrc_damper, rtol=1e-12)
        model = mujoco.MjModel.from_xml_string(text)
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
        data = mujoco.MjData(model)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        assert robot.potential_energy(q) == pytest.approx(data.energy[0], abs=1e-12)


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler", "event_driven"])
def test_springs_and_dampers_of_tendons_move_a_robot_as_in_mujoco(stepper: str) -> None:
    """Damping is of first order in dt."""
    text, robot = finger(t=SPRING, s=RELAXED, g=-9.81)
    limit, off = end_in_mujoco(text, (), 0.3), []
    for dt in (1e-3, 5e-4):
        simulation = Simulation(robot, dt=dt, stepper=stepper)
        simulation.set(q=Q, u=U)
        log = simulation.run(0.3)
        off.append(np.abs(simulation.q - limit).max())
        if stepper != "event_driven":
            assert float(log.equation_residual.max()) < 1e-9
            assert float(log.energy_joints.sum()) < -0.01
    assert off[1] < 5e-3 and 1.7 < off[0] / off[1] < 2.5


def test_undamped_springs_of_tendons_are_of_second_order() -> None:
    text, robot = finger(t='stiffness="40" springlength=".1"', s=RELAXED, g=-9.81)
    limit, off = end_in_mujoco(text, (), 0.1), []
    for dt in (1e-3, 5e-4):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=Q, u=U)
        simulation.advance(0.1)
        off.append(np.abs(simulation.q - limit).max())
    assert off[1] < 1e-3 and 3.5 < off[0] / off[1] < 4.5


@pytest.mark.parametrize("stiffness", [30.0, 1e9])
def test_a_spring_that_becomes_taut_gains_no_energy(stiffness: float) -> None:
    """A soft one keeps the energy to second order in dt; dt^2 K of the other is 1e3 inertias."""
    robot = finger(t=f'stiffness="{stiffness}" springlength="-.2 .3"')[1]
    lost = []
    for dt in (1e-3, 5e-4):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=[0.0, 0.0, 0.0, 0.0], u=[1.5, 0.0, 0.0, 0.0])
        log = simulation.run(4.0)
        energy = (log.kinetic_energy + log.potential_energy).values
        start = log.energy_start.values
        assert np.abs(log.q.values @ [0.7, -0.4, 2.0, 0.0]).max() > 0.3
        assert (energy - start).max() < 1e-4 * start
        lost.append(float((start - energy[-1]) / start))
    if stiffness < 1e3:
        assert abs(lost[1]) < 1e-3 and abs(lost[0]) > 1.5 * abs(lost[1])


def test_dry_friction_of_a_tendon_brakes_with_its_force() -> None:
    """Two free hinges: the mean rate is kept, the difference is braked by f at a constant rate."""
    text = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body><joint name="a" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 .1"/></body>
    <body><joint name="b" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 .1"/></body>
    </worldbody><tendon><fixed name="t" frictionloss=".2"><joint joint="a" coef="1"/>
    <joint joint="b" coef="-1"/></fixed></tendon></mujoco>"""
    simulation = Simulation(Robot.of(read_mjcf(text)), dt=1e-3)
    simulation.set(u=[3.0, -1.0])
    simulation.advance(0.5)
    assert simulation.u == pytest.approx([3.0 - 1.0, -1.0 + 1.0], abs=2e-3)
    simulation.advance(2.0)
    assert simulation.u == pytest.approx([1.0, 1.0], abs=1e-6)
