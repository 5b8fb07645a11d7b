"""Encoders of servos against closed forms: offset, rounding, and the rate from readings."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.control.actuators.encoder import Encoder
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions
from tarsus.model.mjcf import read_mjcf

KP, KV, INERTIA = 20.0, 1.0, 0.1
SERVO = f'<position name="s" joint="j" kp="{KP}" kv="{KV}"/>'


def rotor(actuator: str = SERVO, inertia: float = INERTIA) -> Robot:
    return Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
            <body name="rotor"><joint name="j" axis="0 0 1"/><inertial pos="0 0 0" mass="1"
            diaginertia="{inertia} {inertia} {inertia}"/></body></worldbody>
            <actuator>{actuator}</actuator></mujoco>"""
        )
    )


def read(model: Encoder, dt: float, worlds: int = 1, **robot: float) -> tarsus.Simulation:
    actuators = FileActuators(models=(model,))
    made = rotor(SERVO, **robot)
    return tarsus.Simulation(made, actuators=actuators, dt=dt, worlds=worlds)


def test_a_servo_comes_to_rest_beside_its_target_by_the_offset() -> None:
    offsets = np.array([[0.0], [0.02], [-0.3]])
    simulation = read(Encoder(encoder_offset=offsets, encoder_resolution=0.0), 1e-3, worlds=3)
    simulation.step([0.5])
    simulation.advance(5.0)
    np.testing.assert_allclose(simulation.q, 0.5 - offsets, atol=1e-9)


def test_readings_are_rounded_to_the_resolution() -> None:
    """In one short step from rest the torque is kp (0 - reading)."""
    q = np.linspace(-0.3, 0.3, 61)[:, None]
    simulation = read(Encoder(encoder_offset=0.013, encoder_resolution=0.05), 1e-9, worlds=61)
    simulation.set(q=q)
    simulation.step([0.0])
    reading = -simulation.backend.output("tau") / KP
    np.testing.assert_allclose(reading, 0.05 * np.round((q + 0.013) / 0.05), atol=1e-8)
    np.testing.assert_allclose(simulation.q, q, atol=1e-9)  # true coordinates are exact


def test_rates_are_difference_quotients_of_readings() -> None:
    """A flywheel so heavy that its rate stays constant, and a servo that only damps."""
    dt, rate, resolution = 1e-3, 0.37, 0.01
    simulation = read(
        Encoder(encoder_resolution=np.array([[resolution], [0.0]])), dt, worlds=2, inertia=1e6
    )
    simulation.set(kp=0.0, q=[0.004], u=[rate])
    measured, q = [], []
    for _ in range(200):
        q.append(simulation.q[0, 0])
        simulation.step([0.0])
        measured.append(-simulation.backend.output("tau")[:, 0] / KV)
    rounded, exact = np.array(measured).T
    readings = resolution * np.round(np.array(q) / resolution)
    np.testing.assert_allclose(rounded[1:], np.diff(readings) / dt, atol=1e-5)
    np.testing.assert_allclose(exact, rate, atol=1e-5)
    assert rounded[0] == pytest.approx(rate, abs=1e-5), "no reading before the first"
    assert set(np.round(rounded[1:], 3)) == {0.0, 10.0}, "zero, or one step of the encoder"


def test_a_motor_reads_no_encoder() -> None:
    with refused(IncompatibleOptions, "encoder"):
        tarsus.Simulation(rotor('<motor name="m" joint="j"/>'), actuators="file+encoder")
