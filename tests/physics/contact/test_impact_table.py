"""Table of impacts in the log, against closed forms, Ogunsola's Eqn. (4) and netCDF."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.stepping.substeps import Substeps
from tarsus.validation.bodies import G, point_mass, pose, rod

DROP, E = 1.0, np.array([0.5, 0.8])
SPEED = math.sqrt(2 * G * DROP)


@pytest.fixture(scope="module")
def balls() -> xr.Dataset:
    """Two balls that fall from DROP and bounce; the first comes to rest."""
    simulation = tarsus.Simulation(
        point_mass(), LcpImpulse(e_N=E), EventDriven(impacts=3), dt=0.02, worlds=2
    )
    simulation.set(q=pose([0, 0, DROP]))
    return simulation.run(1.6)


@pytest.fixture(scope="module")
def falling_rod() -> tuple[Robot, xr.Dataset]:
    """A rod that tumbles onto its ends, restitution 0.8."""
    robot = Robot.of(rod())
    simulation = tarsus.Simulation(robot, LcpImpulse(e_N=0.8), EventDriven(), dt=0.01)
    simulation.set(q=pose([0, 0, 0.9], 0.3), u=np.array([0, 0, -1.0, 0, 0.7, 0]))
    return robot, simulation.run(0.72)


def test_every_bounce_is_in_the_table_with_its_time_and_speeds(balls: xr.Dataset) -> None:
    table = tarsus.impacts(balls)
    assert (np.diff(table.impact_time.values) >= 0).all()
    for world, e in enumerate(E):
        own = table.isel(impact=np.nonzero(table.impact_world.values == world)[0][:4])
        bounce = np.arange(own.sizes["impact"])
        times = SPEED / G * (1 + 2 * e * (1 - e**bounce) / (1 - e))
        np.testing.assert_allclose(own.impact_time, times, atol=1e-9)
        before, after = own.impact_velocity_before[:, 0, 0], own.impact_velocity_after[:, 0, 0]
        np.testing.assert_allclose(before, -SPEED * e**bounce, atol=1e-8)
        np.testing.assert_allclose(after, -e * before, atol=1e-12)
        np.testing.assert_allclose(own.impact_impulse[:, 0, 0], after - before, atol=1e-12)
        np.testing.assert_allclose(own.impact_kinetic_before, before**2 / 2, rtol=1e-12)
        np.testing.assert_allclose(own.impact_kinetic_after, after**2 / 2, rtol=1e-12)
        assert np.abs(own.impact_potential).max() < 1e-8
        np.testing.assert_array_equal(own.impact_step, np.floor(times / 0.02))


def test_impacts_beyond_the_slots_are_counted_and_reported(balls: xr.Dataset) -> None:
    """The last bounces of the first ball are closer together than its steps."""
    each = np.bincount(balls.impact_step[balls.impact_world.values == 0])
    assert each.max() == 3 and balls.attrs["impacts_lost"] > 0
    assert f"{balls.attrs['impacts_lost']} impacts are missing" in balls.attrs["warnings"]
    total = balls.impulse_in_impacts.sum("time").isel(world=0, contact=0, axis=0)
    kept = balls.impact_impulse[balls.impact_world.values == 0, 0, 0].sum()
    assert float(total) > float(kept) > 0


def test_substeps_record_impacts_of_inner_steps(balls: xr.Dataset) -> None:
    """Four steps of dt = 20 ms in one of 80 ms give the same impacts at the same times."""
    stepper = Substeps(EventDriven(impacts=12), 4)
    simulation = tarsus.Simulation(point_mass(), LcpImpulse(e_N=E), stepper, dt=0.08, worlds=2)
    simulation.set(q=pose([0, 0, DROP]))
    table, second = tarsus.impacts(simulation.run(1.6)), balls.impact_world.values == 1
    own = table.isel(impact=np.nonzero(table.impact_world.values == 1)[0])
    assert len(own.impact) == second.sum() == 2
    np.testing.assert_allclose(own.impact_time, balls.impact_time[second], atol=1e-12)
    np.testing.assert_allclose(own.impact_impulse, balls.impact_impulse[second], atol=1e-12)
    total = table.impact_impulse[table.impact_world.values == 0].sum()
    assert total <= float(balls.impulse_in_impacts[:, 0].sum()) + 1e-12


def test_contact_force_excludes_impacts(balls: xr.Dataset) -> None:
    """At rest the force equals the weight; in flight there is neither force nor impact."""
    first = balls.isel(world=0, contact=0, axis=0)
    np.testing.assert_allclose(first.force_without_impacts[-5:], G, rtol=1e-9)
    assert (first.impulse_in_impacts[-5:] == 0).all()
    second = balls.isel(world=1, contact=0, axis=0)
    assert np.abs(second.force_without_impacts).max() < 1e-9 * G
    np.testing.assert_allclose(second.impulse_in_impacts, second.impulse_contact, atol=1e-12)


def test_an_impact_obeys_equation_4(falling_rod: tuple[Robot, xr.Dataset]) -> None:
    """H (q'+ - q'-) = T Lambda and zeta+ = -e zeta- of what is hit; kinetic energy falls."""
    robot, log = falling_rod
    table = tarsus.impacts(log)
    assert table.sizes["impact"] == 3 and log.attrs["impacts_lost"] == 0
    for k in range(3):
        row = table.isel(impact=k)
        H = robot.mass_matrix(row.impact_q.values)
        change = H @ (row.impact_u_after - row.impact_u_before).values
        acted = np.zeros(robot.nu)
        for foot in map(str, log.contact.values):
            push = row.impact_impulse.sel(contact=foot).values[[1, 2, 0]]  # plane: t1, t2, n
            acted += robot.jacobian(row.impact_q.values, foot)[:3].T @ push
        np.testing.assert_allclose(change, acted, atol=1e-12)
        hit = row.impact_impulse.values[:, 0] > 0
        assert hit.sum() == 1
        after, before = row.impact_velocity_after[:, 0], row.impact_velocity_before[:, 0]
        np.testing.assert_allclose(after[hit], -0.8 * before[hit], atol=1e-12)
        energy = 0.5 * row.impact_u_after.values @ H @ row.impact_u_after.values
        assert float(row.impact_kinetic_after) == pytest.approx(energy, rel=1e-12)
        assert row.impact_kinetic_after < row.impact_kinetic_before


def test_the_table_survives_netcdf(falling_rod: tuple[Robot, xr.Dataset], tmp_path: Path) -> None:
    log = falling_rod[1]
    log.to_netcdf(tmp_path / "log.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "log.nc", engine="scipy") as read:
        xr.testing.assert_allclose(tarsus.impacts(read.load()), tarsus.impacts(log))


def test_a_log_without_located_impacts_has_an_empty_table() -> None:
    """With a stepper that locates no impacts, and in a run without impacts."""
    still = tarsus.Simulation(point_mass()).run(0.0025)
    assert tarsus.impacts(still).sizes["impact"] == 0 and "impulse_in_impacts" not in still


def test_a_table_under_its_earlier_name_is_rejected(balls: xr.Dataset) -> None:
    """A log that an earlier version wrote must not seem to have no impacts."""
    with refused(InvalidFile, "impulse_strikes"):
        tarsus.impacts(balls.rename(impulse_in_impacts="impulse_strikes"))
