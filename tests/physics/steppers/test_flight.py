"""Flight: momentum to round-off, the center of mass on its parabola, second order in dt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

import tarsus
from tarsus import Simulation
from tarsus.stepping.methods.midpoint import Midpoint

Array = NDArray[np.float64]

ROBOT = """<mujoco><worldbody><body name="trunk" pos="0 0 5"><freejoint/>
<geom type="box" size=".2 .1 .05" mass="4" pos=".02 0 .01"/>
<body pos=".2 0 0"><joint name="hip" axis="0 1 0" {joint}/>
<geom type="capsule" size=".03" fromto="0 0 0 .05 0 -.3" mass="1"/>
<body pos=".05 0 -.3"><joint name="knee" axis="1 0 0" {joint}/>
<geom type="capsule" size=".02" fromto="0 0 0 0 .1 -.3" mass=".5"/></body></body></body></worldbody>
<actuator><motor joint="hip"/><motor joint="knee"/></actuator></mujoco>"""
VELOCITY = np.array([1.0, 0.5, 2.0, 3.0, -4.0, 2.0, 6.0, -5.0])


@pytest.fixture
def robot(tmp_path: Path) -> str:
    """Return the file of a trunk with a leg."""
    return written(tmp_path)


def written(folder: Path, joint: str = "") -> str:
    """Write the robot with attributes of its joints."""
    file = folder / "leg.xml"
    file.write_text(ROBOT.format(joint=joint), encoding="utf-8")
    return str(file)


def thrown(robot: str, dt: float, seconds: float = 0.5, **options: object) -> xr.Dataset:
    """Throw the robot with a spin; return the log."""
    simulation = Simulation(robot, dt=dt, **options)  # type: ignore[arg-type]
    simulation.set(u=VELOCITY)
    return simulation.run(seconds)


def momenta(log: xr.Dataset, robot: str) -> tuple[Array, Array, Array]:
    """Compute momentum, angular momentum about the center of mass, and that center, at steps."""
    model = tarsus.load(robot)
    q = np.vstack([log.q_start.values[None], log.q.values])
    u = np.vstack([log.u_start.values[None], log.u.values])
    momentum, center = model.momentum(q, u), model.center_of_mass(q)
    return momentum[:, :3], momentum[:, 3:] - np.cross(center, momentum[:, :3]), center


def drift(log: xr.Dataset) -> float:
    """Compute the largest change of the energy, J."""
    energy = log.kinetic_energy + log.potential_energy - log.energy_start
    return float(np.abs(energy).max())


def test_momentum_is_exact_and_the_center_of_mass_follows_its_parabola(robot: str) -> None:
    dt = 0.004
    log = thrown(robot, dt)
    linear, angular, center = momenta(log, robot)
    mass, time = tarsus.load(robot).mass, dt * np.arange(len(linear))[:, None]
    gravity = np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(linear, linear[0] + mass * gravity * time, atol=1e-11)
    np.testing.assert_allclose(angular - angular[0], 0, atol=1e-11)
    path = center[0] + linear[0] / mass * time + gravity * time**2 / 2
    np.testing.assert_allclose(center, path, atol=1e-11)
    assert float(log.equation_residual.max()) < 1e-8


def test_pushes_and_motors_change_the_momentum_by_their_impulse(robot: str) -> None:
    dt, force = 0.004, np.array([3.0, -2.0, 5.0])
    motors = lambda t, q, u: np.array([0.5, -0.3])  # noqa: E731
    simulation = Simulation(robot, dt=dt, pushes=["trunk"], controller=motors)
    simulation.set(u=VELOCITY, push={"trunk": force})
    log = simulation.run(0.2)
    linear, _, _ = momenta(log, robot)
    mass, time = tarsus.load(robot).mass, dt * np.arange(len(linear))[:, None]
    total = force + mass * np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(linear, linear[0] + total * time, atol=1e-11)


@pytest.mark.parametrize(("terms", "order"), [("mean", 2), ("start", 1)])
def test_energy_drifts_with_the_order_of_the_velocity_terms(
    robot: str, terms: str, order: int
) -> None:
    stepper = Midpoint(velocity_terms=terms)  # type: ignore[arg-type]
    drifts = [drift(thrown(robot, dt, stepper=stepper)) for dt in (0.002, 0.001)]
    assert np.log2(drifts[0] / drifts[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("joint", ['frictionloss=".3"', 'range="-20 20" limited="true"'])
def test_the_balance_holds_with_dry_friction_and_joint_limits(tmp_path: Path, joint: str) -> None:
    file = written(tmp_path, joint)
    log = thrown(file, 0.002)
    _, angular, _ = momenta(log, file)
    assert np.abs(angular - angular[0]).max() < 1e-10
    assert float(log.equation_residual.max()) < 1e-8
    shares = [v for n, v in log.items() if str(n).startswith("energy_") and "time" in v.dims]
    total = sum(share.values.reshape(len(log.time), -1).sum(1) for share in shares)
    energy = (log.kinetic_energy + log.potential_energy - log.energy_start).values
    assert np.abs(energy - np.cumsum(total)).max() < 1e-9


def test_a_world_in_flight_has_the_same_bits_next_to_one_that_stands(robot: str) -> None:
    alone = Simulation(robot, dt=0.004)
    alone.set(u=VELOCITY)
    flight = alone.run(0.1)
    batch = Simulation(robot, dt=0.004, worlds=5)
    q, u = np.tile(flight.q_start.values, (5, 1)), np.zeros((5, 8))
    u[3] = VELOCITY
    q[:3, 2] = 0.35
    batch.set(q=q, u=u)
    log = batch.run(0.1)
    np.testing.assert_array_equal(log.u.values[:, 3], flight.u.values)
