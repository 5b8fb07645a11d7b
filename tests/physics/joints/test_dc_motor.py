"""DC motors against closed forms: stall, no-load speed, run-up, heating, and the hot limit.

A rotor of inertia J without gravity is driven at full command. With K = N k the torque falls from
K V / R at rest to zero at V / K, so the rate is V / K (1 - exp(-t / T)), T = J R / K^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.control.actuators.dc_motor import COPPER, DcMotor
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.model.mjcf import read_mjcf

INERTIA = 0.1
K, R, V = 0.6, 0.2307, 24.0  # of the defaults
MOTOR = '<motor name="m" joint="j"/>'
FULL = [1000.0]


def rotor(actuators: str = MOTOR, extra: str = "") -> Robot:
    return Robot.of(
        read_mjcf(
            f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="rotor">
            <joint name="j" axis="0 0 1" {extra}/><inertial pos="0 0 0" mass="1"
            diaginertia=".1 .1 {INERTIA}"/></body></worldbody>
            <actuator>{actuators}</actuator></mujoco>"""
        )
    )


def driven(model: DcMotor, dt: float = 1e-3, worlds: int = 1, **options: Any) -> tarsus.Simulation:
    actuators = FileActuators(models=(model,))
    return tarsus.Simulation(rotor(), actuators=actuators, dt=dt, worlds=worlds, **options)


def torque(simulation: tarsus.Simulation) -> np.ndarray:
    return simulation.backend.output("tau")[:, 0]


def temperature(simulation: tarsus.Simulation) -> np.ndarray:
    return np.atleast_2d(simulation.motor_state["temperature"])[:, 0]


def test_stall_torque_is_that_of_voltage_or_current() -> None:
    """A locked rotor: rate -> 0 in tiny steps. The current limit is 30 A, the stall 104 A."""
    simulation = driven(DcMotor(max_current=np.array([[30.0], [1e4]])), dt=1e-9, worlds=2)
    simulation.step(FULL)
    assert torque(simulation) == pytest.approx([K * 30, K * V / R], rel=1e-6)
    simulation.step([-1000.0])
    assert torque(simulation) == pytest.approx([-K * 30, -K * V / R], rel=1e-6)


def test_run_up_follows_the_exponential_and_ends_at_the_no_load_speed() -> None:
    """The implicit step is of first order: errors of dt / T / 2 = 0.4 % at dt = 0.5 ms."""
    simulation, time_constant = driven(DcMotor(max_current=1e4), dt=5e-4), INERTIA * R / K**2
    simulation.step(FULL)
    for _ in range(5):
        simulation.advance(0.05)
        exact = V / K * (1 - np.exp(-simulation.time / time_constant))
        assert simulation.u[0] == pytest.approx(exact, rel=4e-3)
    simulation.advance(2.0)
    assert simulation.u[0] == pytest.approx(V / K, rel=1e-6)
    assert abs(torque(simulation)[0]) < 1e-4


def test_below_its_limits_the_motor_changes_nothing() -> None:
    plain = tarsus.Simulation(rotor(), actuators="file", dt=1e-3)
    limited = driven(DcMotor())
    for simulation in (plain, limited):
        simulation.step([3.0])
        simulation.advance(0.3)
    assert limited.u[0] == pytest.approx(plain.u[0], rel=1e-12)


def test_the_winding_heats_as_a_body_of_first_order() -> None:
    """At constant current the heating is linear in T: T' = (T_a + R_th R(T) i^2 - T) / tau.

    A strong damper keeps the rotor slow. The resistance is that of the step's start: an error of
    first order, below dt / tau.
    """
    heated = DcMotor(thermal_resistance=1.5, thermal_time_constant=10.0, ambient_temperature=20.0)
    simulation = tarsus.Simulation(
        rotor(extra='damping="1000"'), actuators=FileActuators(models=(heated,)), dt=2e-3
    )
    assert temperature(simulation) == 20.0
    current = 10.0
    simulation.step([K * current])
    share = 1.5 * R * current**2 * COPPER  # R_th dR/dT i^2
    final = (20.0 + 1.5 * R * current**2 * (1 - 25 * COPPER)) / (1 - share)
    for _ in range(4):
        simulation.advance(5.0)
        exact = final + (20.0 - final) * np.exp(-(1 - share) * simulation.time / 10.0)
        assert temperature(simulation)[0] == pytest.approx(exact, abs=0.01)
    assert final - 20 > 35


def test_a_hot_motor_holds_the_current_that_keeps_its_temperature() -> None:
    """At full command T_a + R_th R(T) i(T)^2 = T, with the current limit i(T) = I (T_m - T) / r."""
    hot = DcMotor(thermal_resistance=2.0, thermal_time_constant=1.0, derating_range=40.0)
    simulation = tarsus.Simulation(
        rotor(extra='damping="1000"'), actuators=FileActuators(models=(hot,)), dt=2e-3
    )
    simulation.step(FULL)
    simulation.advance(10.0)
    end = temperature(simulation)[0]
    current = 30.0 * (125.0 - end) / 40.0
    loss = R * (1 + COPPER * (end - 25)) * current**2
    assert 85 < end < 125
    assert 25 + 2.0 * loss == pytest.approx(end, rel=1e-6)
    assert torque(simulation)[0] == pytest.approx(K * current, rel=1e-6)


def test_numbers_differ_by_world_and_by_actuator() -> None:
    simulation = driven(DcMotor(max_current=1e4), worlds=3)
    simulation.set(voltage=np.array([[12.0], [24.0], [48.0]]), reduction={"m": [6.0, 6.0, 12.0]})
    simulation.step(FULL)
    simulation.advance(3.0)
    assert simulation.u[:, 0] == pytest.approx([20.0, 40.0, 40.0], rel=1e-6)


def test_a_servo_keeps_the_limits_of_its_motor() -> None:
    """A stiff position servo: current limit at rest, then never above the torque-speed line."""
    servo = rotor('<position name="s" joint="j" kp="500" kv="20"/>')
    simulation = tarsus.Simulation(
        servo, actuators=FileActuators(models=(DcMotor(),)), dt=1e-3, contacts=()
    )
    log = []
    for _ in range(1500):
        simulation.step([4.0])
        log.append((simulation.u[0], torque(simulation)[0]))
    u, tau = np.array(log).T
    assert tau[0] == pytest.approx(18.0, rel=1e-9)
    limit = np.clip(K * (V - K * np.abs(u)) / R, 0, K * 30)
    assert (np.where(tau * u > 0, np.abs(tau), 0) <= limit * (1 + 1e-6)).all()
    assert simulation.q[0] == pytest.approx(4.0, abs=1e-3)


def test_names_and_numbers_of_a_run() -> None:
    options: Any = {"parameters": ["voltage=12", "dc_motor.max_current=5"]}
    simulation = tarsus.Simulation(rotor(), actuators="file+dc_motor", dt=1e-9, **options)
    simulation.step(FULL)
    assert torque(simulation)[0] == pytest.approx(3.0, rel=1e-6)


def test_logs_and_snapshots_contain_the_temperature(tmp_path: Any) -> None:
    file = tmp_path / "rotor.xml"
    file.write_text(
        """<mujoco><worldbody><body><joint name="j" axis="0 0 1"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" contype="0" conaffinity="0"/></body>
        </worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""
    )
    model = DcMotor(thermal_resistance=3.0, thermal_time_constant=0.2)
    simulation = tarsus.Simulation(str(file), actuators=FileActuators(models=(model,)))
    simulation.step(FULL)
    log = simulation.run(0.1)
    assert tarsus.rerun(log).reproduced
    saved, hot = simulation.state(), temperature(simulation)[0]
    assert hot > 26
    simulation.reset()
    assert temperature(simulation)[0] == 25.0
    simulation.restore(saved)
    assert temperature(simulation)[0] == hot


def test_mistakes_are_rejected() -> None:
    with refused(InvalidValue, "voltage"):
        DcMotor(voltage=-1.0)
    with refused(InvalidValue, "models"):
        FileActuators(models=(DcMotor(), DcMotor()))
    with refused(InvalidValue, "models"):
        FileActuators(models=("dc_motor",))  # type: ignore[arg-type]
    two = rotor(MOTOR + MOTOR.replace('"m"', '"n"'))
    with refused(IncompatibleOptions, "dc_motor"):
        tarsus.Simulation(two, actuators="file+dc_motor")
    with refused(InvalidValue, "actuators"):
        tarsus.Simulation(rotor(), actuators="motor+dc_motor")
    with refused(InvalidValue, "max_current"):
        driven(DcMotor()).set(max_current=0.0)
