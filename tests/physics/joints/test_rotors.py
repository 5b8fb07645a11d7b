"""Rotor inertia behind a gear: a joint accelerates as tau n / (I + n^2 I_r)."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

INERTIA, ROTOR, GEAR, TORQUE = 0.02, 3e-4, -7.0, 0.4  # kg m^2, kg m^2, [1], N m of the motor


@pytest.mark.parametrize("actuators", ["file", "motor"])
@pytest.mark.parametrize("whose", ["joint", "motor"])
def test_a_rotor_turns_with_its_gear(whose: str, actuators: str) -> None:
    """The inertia is given as the joint's armature, or as the motor's, which the gear reflects."""
    reflected = f'armature="{GEAR**2 * ROTOR}"' if whose == "joint" else ""
    own = f'armature="{ROTOR}"' if whose == "motor" else ""
    robot = Robot.of(
        read_mjcf(f"""<mujoco><option gravity="0 0 0"/><worldbody><body>
        <joint name="j" axis="0 1 0" {reflected}/>
        <inertial pos="0 0 0" mass="1" diaginertia=".03 {INERTIA} .03"/></body></worldbody>
        <actuator><motor joint="j" gear="{GEAR}" ctrlrange="-1 1" {own}/></actuator></mujoco>""")
    )
    assert (robot.actuators[0].lower, robot.actuators[0].upper) == (GEAR, -GEAR)
    signal = TORQUE if actuators == "file" else TORQUE * GEAR
    simulation = Simulation(
        robot, actuators=actuators, controller=lambda t, q, u: [signal], dt=1e-3
    )
    simulation.advance(0.1)
    faster = TORQUE * GEAR / (INERTIA + GEAR**2 * ROTOR)
    np.testing.assert_allclose(simulation.u, [0.1 * faster], rtol=1e-12)
