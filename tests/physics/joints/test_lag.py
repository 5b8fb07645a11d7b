"""The first-order lag of the torque against closed forms.

At a constant demand f the torque of step n is f (1 - exp(-n dt / T)), exactly. A lagging servo is a
linear system of third order: J q'' = tau, T tau' = kp (c - q) - kd q' - tau.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import tarsus
from tarsus.control.actuators.lag import Lag
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

INERTIA = 0.1
SERVO = '<position name="m" joint="j" kp="20" kv="1"/>'


def rotor(actuator: str = '<motor name="m" joint="j"/>') -> Robot:
    return Robot.of(
        read_mjcf(
            f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="rotor">
            <joint name="j" axis="0 0 1"/><inertial pos="0 0 0" mass="1"
            diaginertia=".1 .1 {INERTIA}"/></body></worldbody>
            <actuator>{actuator}</actuator></mujoco>"""
        )
    )


def test_a_constant_demand_is_approached_exponentially() -> None:
    constants, dt = np.array([[0.0], [1e-3], [5e-3]]), 2e-3
    actuators = FileActuators(models=(Lag(time_constant=constants),), strength=0.5)
    simulation = tarsus.Simulation(rotor(), actuators=actuators, dt=dt, worlds=3)
    decay = np.exp(-dt / np.maximum(constants[:, 0], 1e-300))
    for n in range(1, 8):
        simulation.step([4.0])
        torque = simulation.backend.output("tau")[:, 0]
        np.testing.assert_allclose(torque, 2.0 * (1 - decay**n), rtol=1e-13)


def test_without_time_constant_it_changes_nothing() -> None:
    ends = []
    for models in ((), (Lag(time_constant=0.0),)):
        actuators = FileActuators(models=models)
        simulation = tarsus.Simulation(rotor(SERVO), actuators=actuators, dt=2e-3)
        simulation.step([0.5])
        simulation.advance(0.1)
        ends.append([simulation.q[0], simulation.u[0]])
    np.testing.assert_allclose(*ends, rtol=1e-12)


def lagging_servo(dt: float, time_constant: float, seconds: float) -> float:
    actuators = FileActuators(models=(Lag(time_constant=time_constant),))
    simulation = tarsus.Simulation(rotor(SERVO), actuators=actuators, dt=dt)
    simulation.step([0.5])
    simulation.advance(seconds - dt)
    return float(simulation.q[0])


def test_a_lagging_servo_is_a_linear_system_of_third_order() -> None:
    """The error is of first order in dt: half the step, half the error."""
    T, kp, kd, seconds = 0.02, 20.0, 1.0, 0.25
    rates = [[0, 1, 0], [0, 0, 1 / INERTIA], [-kp / T, -kd / T, -1 / T]]
    system = np.zeros((4, 4))
    system[:3, :3], system[2, 3] = rates, kp * 0.5 / T
    exact = (expm(system * seconds) @ [0, 0, 0, 1])[0]
    without = np.array(expm(np.array([[0, 1, 0], [-200, -10, 100], [0, 0, 0]]) * seconds))[0, 2]
    errors = [abs(lagging_servo(dt, T, seconds) - exact) for dt in (1e-3, 5e-4)]
    assert abs(exact - without) > 0.05, "the lag matters"
    assert errors[0] < 0.01 and errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)


def test_the_lag_holds_within_steps_of_a_landing_leg() -> None:
    """In contact too: tau_1 = a tau_0 + (1 - a) (kp (c - mean q) - kv u_1), to round-off."""
    kp, kv, dt, T = 60.0, 2.0, 2e-3, 5e-3
    leg = Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 .42">
            <joint name="rail" type="slide" axis="0 0 1"/>
            <inertial mass="3" pos="0 0 0" diaginertia=".1 .1 .1"/><body name="thigh">
            <joint name="hip" axis="0 1 0"/><geom type="capsule" size=".02"
            fromto="0 0 0 0 0 -.2" contype="0" conaffinity="0"/><body name="shank" pos="0 0 -.2">
            <joint name="knee" axis="0 1 0"/><geom name="foot" type="sphere" size=".02"
            pos="0 0 -.2"/></body></body></body></worldbody><actuator>
            <position joint="hip" name="hip" kp="{kp}" kv="{kv}"/>
            <position joint="knee" name="knee" kp="{kp}" kv="{kv}"/></actuator></mujoco>"""
        )
    )
    actuators = FileActuators(models=(Lag(time_constant=T),))
    simulation = tarsus.Simulation(leg, actuators=actuators, dt=dt)
    simulation.set(q=[0.0, 0.3, -0.6])
    target, decay = np.array([0.3, -0.6]), np.exp(-dt / T)
    tau, q, loads = np.zeros(2), simulation.q[1:].copy(), []
    for _ in range(400):
        simulation.step(target)
        demand = kp * (target - (q + simulation.q[1:]) / 2) - kv * simulation.u[1:]
        expected = decay * tau + (1 - decay) * demand
        tau, q = simulation.backend.output("tau")[0].copy(), simulation.q[1:].copy()
        np.testing.assert_allclose(tau, expected, atol=1e-9)
        loads.append(simulation.contact_force[:, 0].max())
    assert loads[0] == 0.0 and loads[-1] == pytest.approx(simulation.robot.mass * 9.81, rel=0.2)
