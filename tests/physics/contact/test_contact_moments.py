"""Torsional and rolling friction of contacts (MuJoCo's condim 4 and 6)."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import xarray as xr

import tarsus
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.hunt_crossley import HuntCrossley
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.contact.laws.linearized import Linearized
from tarsus.contact.laws.macro import Macro
from tarsus.contact.laws.micro_macro import MicroMacro
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf

MASS, RADIUS, G = 2.0, 0.1, 9.81
INERTIA = 0.4 * MASS * RADIUS**2
TORSIONAL, ROLLING = 0.01, 0.004  # m
SPEED, SPIN = 0.4, 8.0  # m/s, rad/s
DECELERATION = ROLLING * MASS * G * RADIUS / (INERTIA + MASS * RADIUS**2)
ROLLED = SPEED**2 / (2 * DECELERATION)
SPUN = INERTIA * SPIN / (TORSIONAL * MASS * G)  # s
LAWS = (
    Moreau(),
    LcpImpulse(mu=0.8),
    Linearized(),
    Macro(),
    MicroMacro(),
    SoftConvex(),
    Compliant(),
    HuntCrossley(),
)


def ball(condim: int = 6, friction: str = f"0.8 {TORSIONAL} {ROLLING}", more: str = "") -> Robot:
    """Create a ball, of 0.1 m radius, on the ground."""
    return Robot.of(
        read_mjcf(f"""<mujoco model="ball"><worldbody>
        <geom name="floor" type="plane" size="0 0 1" friction="0.8 0 0"/>
        <body name="ball" pos="0 0 {RADIUS}"><freejoint/>
          <geom name="skin" type="sphere" size="{RADIUS}" mass="{MASS}" condim="{condim}"
            friction="{friction}"/></body>
        </worldbody>{more}</mujoco>""")
    )


def roll(law: Law | str = "moreau", dt: float = 1e-3, seconds: float = 2.5, **chosen) -> xr.Dataset:
    """Let the ball roll along x and spin about its vertical axis."""
    simulation = tarsus.Simulation(chosen.pop("robot", ball()), law, dt=dt, **chosen)
    simulation.set(u=np.array([SPEED, 0, 0, 0, SPEED / RADIUS, SPIN]))
    return simulation.run(seconds)


def spin_of(log: xr.Dataset) -> np.ndarray:
    """Compute the ball's angular velocity about the vertical, rad/s, in every step."""
    w, x, y, z = log.q.values[:, 3:7].T
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    return np.sum(up * log.u.values[:, 3:6], axis=1)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_rolling_and_spinning_stop_by_the_closed_forms(law: Law) -> None:
    log = roll(law)
    assert log.q.values[-1, 0] == pytest.approx(ROLLED, rel=0.01)
    spin, time = spin_of(log), log.time.values
    half = time[np.argmax(spin < SPIN / 2)]
    assert half == pytest.approx(SPUN / 2, abs=0.004)
    # at rest: no creep, once the ground's springs have settled
    late = log.sel(time=slice(2.4, None))
    assert np.ptp(late.q.values[:, 0]) < (1e-12 if law.impulsive else 1e-9)
    assert np.ptp(late.q.values[:, 4:7], axis=0).max() < 1e-10


def test_the_ledger_has_the_work_of_the_moments() -> None:
    log = roll()
    start = 0.5 * MASS * SPEED**2 + 0.5 * INERTIA * ((SPEED / RADIUS) ** 2 + SPIN**2)
    assert float(log.energy_friction.sum()) == pytest.approx(-start, rel=1e-9)
    assert float(log.equation_residual.max()) < 1e-11
    moment = log.contact_moment.values[200, 0]
    assert moment[2] == pytest.approx(-TORSIONAL * MASS * G, rel=1e-2)
    assert np.hypot(*moment[:2]) == pytest.approx(ROLLING * MASS * G, rel=1e-2)


def test_the_error_is_of_first_order() -> None:
    errors = [abs(roll(dt=dt).q.values[-1, 0] - ROLLED) for dt in (4e-3, 2e-3, 1e-3)]
    assert errors[0] > 1.6 * errors[1] > 1.6 * 1.6 * errors[2]


@pytest.mark.parametrize(("share", "rests"), [(0.95, True), (1.3, False)])
def test_a_ball_rests_on_a_slope_up_to_its_rolling_friction(share: float, rests: bool) -> None:
    coefficient = 0.02
    angle = np.arctan(share * coefficient / RADIUS)
    robot = ball(friction=f"0.8 0.01 {coefficient}")
    simulation = tarsus.Simulation(robot, terrain=tarsus.Slope(angle=angle), dt=1e-3)
    normal = np.array([-np.sin(angle), 0, np.cos(angle)])
    simulation.set(q=np.concatenate([RADIUS * normal, [1, 0, 0, 0]]))
    log = simulation.run(5.0)
    moved = np.linalg.norm(log.q.values[:, :3] - log.q.values[99, :3], axis=1)
    if rests:  # all that moves is the spring of the first steps
        assert moved[100:].max() < 1e-9
    else:
        excess = MASS * G * RADIUS * np.sin(angle) * (1 - 1 / share)
        acceleration = RADIUS * excess / (INERTIA + MASS * RADIUS**2)
        speed = np.linalg.norm(log.u.values[-1, :3])
        assert speed == pytest.approx(5 * acceleration, rel=0.02)


def test_rolling_agrees_with_mujoco() -> None:
    """Without spin, because MuJoCo's cone reduces rolling friction where the ball also spins."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(ball(), dt=1e-3, friction=0.8))
    data = mujoco.MjData(model)
    data.qpos[2] = RADIUS
    data.qvel[:] = [SPEED, 0, 0, 0, SPEED / RADIUS, 0]
    simulation = tarsus.Simulation(ball(), SoftConvex(), dt=1e-3)
    simulation.set(u=data.qvel.copy())
    for _ in range(1000):
        mujoco.mj_step(model, data)
    log = simulation.run(1.0)
    assert log.u.values[-1, 0] == pytest.approx(data.qvel[0], abs=0.01 * SPEED)
    assert log.q.values[-1, 0] == pytest.approx(data.qpos[0], rel=0.01)


def test_friction_is_read_and_written() -> None:
    read = ball().candidates[0]
    assert (read.torsional_friction, read.rolling_friction) == (TORSIONAL, ROLLING)
    torsional = ball(condim=4).candidates[0]
    assert (torsional.torsional_friction, torsional.rolling_friction) == (TORSIONAL, 0)
    assert not ball(condim=3).candidates[0].resists_rotation
    pair = '<pair geom1="skin" geom2="floor" condim="6" friction="1 1 .03 .02 .05"/>'
    paired = ball(condim=3, more=f"<contact>{pair}</contact>").candidates[0]
    assert (paired.torsional_friction, paired.rolling_friction) == (0.03, 0.05)
    again = read_mjcf(to_mjcf(ball())).candidates[0]
    assert (again.torsional_friction, again.rolling_friction) == (TORSIONAL, ROLLING)


def test_torsional_friction_alone_leaves_rolling_free() -> None:
    log = roll(robot=ball(condim=4), seconds=1.5)
    assert log.u.values[-1, 0] == pytest.approx(SPEED, rel=1e-9)
    assert abs(spin_of(log)[-1]) < 1e-9


def test_a_bouncing_ball_loses_spin_only_on_the_ground() -> None:
    fast = 10 * SPIN  # so that the impact does not stop it
    simulation = tarsus.Simulation(ball(), Moreau(mu=0.0, e_N=0.5), dt=1e-3)
    simulation.set(
        q=np.array([0, 0, RADIUS + 0.2, 1.0, 0, 0, 0]), u=np.array([0, 0, 0, 0, 0, fast])
    )
    log = simulation.run(0.35)
    pressed = log.force_world.values[:, 0, 2] > 0
    spin = spin_of(log)
    assert np.all(spin[: int(np.argmax(pressed))] == fast)
    # the moment impulse is the coefficient times the normal impulse, one step later
    impulse = log.impulse_world.values[:-1, 0, 2].sum()
    assert INERTIA * (fast - spin[-1]) == pytest.approx(TORSIONAL * impulse, rel=0.05)


def test_worlds_and_a_snapshot_repeat_the_same_bits() -> None:
    alone = roll(seconds=0.6)
    simulation = tarsus.Simulation(ball(), dt=1e-3, worlds=3)
    simulation.set(u=np.array([SPEED, 0, 0, 0, SPEED / RADIUS, SPIN]))
    simulation.advance(0.3)
    state = simulation.state()
    simulation.advance(0.3)
    first = simulation.u.copy()
    simulation.restore(state)
    simulation.advance(0.3)
    assert np.array_equal(simulation.u, first)
    assert np.array_equal(first[2], alone.u.values[-1])


def test_single_precision_stops_too() -> None:
    simulation = tarsus.Simulation(ball(), dt=2e-3, precision="float32")
    simulation.set(u=np.array([SPEED, 0, 0, 0, SPEED / RADIUS, SPIN]))
    simulation.advance(2.5)
    assert np.abs(simulation.u).max() < 1e-4
    assert simulation.q[0] == pytest.approx(ROLLED, rel=0.02)


def test_a_stepper_without_moments_warns() -> None:
    simulation = tarsus.Simulation(ball(), Compliant(), stepper="rk4", dt=1e-4)
    assert "moments-ignored" in {record.code for record in simulation.warnings}
