"""Joint springs: closed forms, MuJoCo on the same file, energy, unlimited stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.refused import refused
from scipy.integrate import solve_ivp

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidModel, Unsupported
from tarsus.model.check import LARGEST, check
from tarsus.model.mechanism import Joint, LoopJoint
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf

MASS, ARM = 2.0, 0.5


def sprung(kind: str, stiffness: float, rest: float = 0.0, damping: float = 0.0) -> Robot:
    """A point mass on a slide along x, or on a rod about y, without gravity on the slide."""
    place = "0 0 0" if kind == "slide" else f"0 0 {-ARM}"
    axis, gravity = ("1 0 0", "0 0 0") if kind == "slide" else ("0 1 0", "0 0 -9.81")
    text = f"""<mujoco><compiler angle="radian"/><option gravity="{gravity}"/><worldbody>
    <body name="b"><joint name="j" type="{kind}" axis="{axis}" stiffness="{stiffness}"
    springref="{rest}" damping="{damping}"/>
    <inertial mass="{MASS}" pos="{place}" diaginertia="1e-6 1e-6 1e-6"/></body></worldbody></mujoco>
    """
    return Robot.of(read_mjcf(text))


def path(robot: Robot, seconds: float, start: float, **given: Any) -> np.ndarray:
    """The joint's coordinate after every step from rest at `start`."""
    simulation = Simulation(robot, **given)
    simulation.set(q=np.array([start]))
    return simulation.run(seconds).q.values[:, 0]


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler", "rk4"])
def test_slider_period_matches_the_closed_form(stepper: str) -> None:
    stiffness, dt = 200.0, 1e-3
    omega = np.sqrt(stiffness / MASS)
    q = path(
        sprung("slide", stiffness, rest=0.3), 2.0, 0.4, law="compliant", stepper=stepper, dt=dt
    )
    t = dt * np.arange(1, len(q) + 1)
    allowed = {"midpoint": 2e-4, "symplectic_euler": 1e-3, "rk4": 1e-8}[stepper]
    assert np.abs(q - (0.3 + 0.1 * np.cos(omega * t))).max() < allowed


def test_a_pendulum_on_a_spring_is_dop853s() -> None:
    robot, dt = sprung("hinge", 30.0, rest=0.2), 1e-3
    inertia = MASS * ARM**2 + 1e-6

    def rate(_: float, y: np.ndarray) -> list[float]:
        return [y[1], (-30.0 * (y[0] - 0.2) - MASS * 9.81 * ARM * np.sin(y[0])) / inertia]

    exact = solve_ivp(rate, (0, 1), [1.0, 0.0], "DOP853", rtol=1e-11, atol=1e-12).y[0, -1]
    errors = [abs(path(robot, 1.0, 1.0, dt=h)[-1] - exact) for h in (2 * dt, dt)]
    assert errors[1] < 1e-4 and 3.5 < errors[0] / errors[1] < 4.5  # second order


def test_springs_of_a_file_match_mujoco() -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    text = """<mujoco><compiler angle="radian"/><option timestep="1e-4" integrator="RK4"/>
    <worldbody>
    <body pos="0 0 1"><joint name="a" axis="0 1 0" stiffness="40" springref="0.3" ref="0.1"/>
    <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" contype="0"
    conaffinity="0"/><body pos=".4 0 0"><joint name="b" type="slide" axis="1 0 .3" stiffness="500"
    springref="-.05"/><geom type="sphere" size=".08" contype="0" conaffinity="0"/></body></body>
    </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    robot = Robot.of(read_mjcf(text))
    start = np.array(data.qpos)
    mujoco.mj_forward(model, data)
    assert robot.potential_energy(start) == pytest.approx(data.energy[0], rel=1e-12)
    ends = []
    for dt in (2e-4, 1e-4):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=start)
        simulation.advance(0.5)
        ends.append(simulation.q)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    assert np.abs(2 * ends[1] - ends[0] - data.qpos).max() < 1e-6  # Coriolis terms: first order
    # and back again as MJCF
    again = read_mjcf(to_mjcf(robot))
    for one, other in zip(robot.bodies, again.bodies, strict=True):
        assert one.joint.stiffness == pytest.approx(other.joint.stiffness)
        assert one.joint.rest == pytest.approx(other.joint.rest)


BALL = """<mujoco><compiler angle="radian"/><option timestep="1e-4" integrator="RK4"/><worldbody>
<body pos="0 0 1" euler=".2 .3 .4"><joint type="ball" name="b" stiffness="6" damping="{damping}"/>
<inertial pos=".1 .05 .3" mass="2" diaginertia=".03 .05 .04"/></body></worldbody></mujoco>"""


def turned(*by: float) -> np.ndarray:
    """The quaternion of a rotation vector, rad."""
    angle = float(np.linalg.norm(by))
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) / angle * np.array(by))])


def test_a_ball_s_spring_pulls_as_mujoco_s() -> None:
    """Moments and energies of small turns, of none, of almost a half, and of -q; then a motion."""
    mujoco: Any = pytest.importorskip("mujoco")
    text = BALL.format(damping=0.05)
    model, robot = mujoco.MjModel.from_xml_string(text), Robot.of(read_mjcf(text))
    data = mujoco.MjData(model)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    random = np.random.default_rng(0)
    cases = [np.array([1.0, 0, 0, 0]), turned(1e-9, 0, 2e-9), turned(3.1, 0.2, 0.3)]
    cases += [sign * turned(*random.normal(size=3)) for sign in (1, -1) for _ in range(5)]
    for q in cases:
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(robot.spring_forces(q), data.qfrc_spring, rtol=1e-9, atol=1e-12)
        assert robot.potential_energy(q) == pytest.approx(data.energy[0], rel=1e-12)
    # the same motion
    start = turned(0.9, -0.5, 0.4)
    data.qpos[:], data.qvel[:] = start, (1.0, -2.0, 3.0)
    ends = []
    for dt in (2e-4, 1e-4):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=start, u=np.array([1.0, -2.0, 3.0]))
        simulation.advance(0.5)
        ends.append(simulation.q)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    assert np.abs(2 * ends[1] - ends[0] - data.qpos).max() < 1e-6
    # and back again as MJCF
    assert read_mjcf(to_mjcf(robot)).bodies[0].joint.stiffness == 6.0


def test_a_ball_s_spring_keeps_its_energy() -> None:
    """The ledger balances to round-off. The drift is of second order, from the Coriolis terms; a
    round body without gravity has none and swings as in closed form.
    """
    robot, drift = Robot.of(read_mjcf(BALL.format(damping=0.0))), []
    for dt in (2e-3, 1e-3):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=turned(0.9, -0.5, 0.4), u=np.array([1.0, -2.0, 3.0]))
        log = simulation.run(1.0)
        energy = (log.kinetic_energy + log.potential_energy - log.energy_start).values
        shares = sum(v for n, v in log.items() if str(n).startswith("energy_") and "time" in v.dims)
        assert np.abs(energy - np.cumsum(np.asarray(shares).reshape(len(energy)))).max() < 1e-9
        assert float(log.equation_residual.max()) < 1e-9
        drift.append(np.abs(energy).max())
    assert drift[1] < 1e-4 and 3.8 < drift[0] / drift[1] < 4.2
    top = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="ball" stiffness="6"/>
    <inertial pos="0 0 0" mass="1" diaginertia=".04 .04 .04"/></body></worldbody></mujoco>"""
    errors, swung = [], np.cos(np.sqrt(6 / 0.04)) * np.array([0.6, 0.3, -0.2])
    for dt in (2e-3, 1e-3):
        simulation = Simulation(Robot.of(read_mjcf(top)), dt=dt)
        simulation.set(q=turned(0.6, 0.3, -0.2))
        log = simulation.run(1.0)
        energy = (log.kinetic_energy + log.potential_energy).values
        assert energy == pytest.approx(3 * (0.6**2 + 0.3**2 + 0.2**2), rel=1e-12)
        errors.append(np.abs(simulation.q - turned(*swung)).max())
    assert errors[1] < 2e-5 and 3.9 < errors[0] / errors[1] < 4.1


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler"])
def test_no_spring_is_too_stiff(stepper: str) -> None:
    """The limit of an explicit step is dt sqrt(K / m) < 2; this spring is 100 times as stiff."""
    dt = 0.01
    stiffness = MASS * (200.0 / dt) ** 2
    simulation = Simulation(sprung("slide", stiffness), stepper=stepper, dt=dt)
    simulation.set(q=np.array([1e-3]))
    log = simulation.run(5.0)
    energy = (log.kinetic_energy + log.potential_energy).values
    assert np.isfinite(energy).all()
    if stepper == "midpoint":  # and it keeps what it holds
        assert energy == pytest.approx(0.5 * stiffness * 1e-6, rel=1e-6)
    else:  # bounded, by the start times dt sqrt(K / m)
        assert np.abs(log.q.values).max() < 0.2


def test_the_ledger_balances_and_energy_drifts_with_the_square_of_dt() -> None:
    robot, drift = sprung("hinge", 30.0, rest=0.2), []
    for dt in (4e-3, 2e-3):
        simulation = Simulation(robot, dt=dt)
        simulation.set(q=np.array([1.0]))
        log = simulation.run(2.0)
        energy = (log.kinetic_energy + log.potential_energy - log.energy_start).values
        shares = sum(v for n, v in log.items() if str(n).startswith("energy_") and "time" in v.dims)
        assert np.abs(energy - np.cumsum(np.asarray(shares).reshape(len(energy)))).max() < 1e-9
        assert float(log.equation_residual.max()) < 1e-9
        drift.append(np.abs(energy).max())
    assert 3.5 < drift[0] / drift[1] < 4.5


def test_damped_springs_come_to_rest_where_gravity_and_spring_balance() -> None:
    robot = sprung("hinge", 5.0, rest=1.0, damping=2.0)
    q = path(robot, 20.0, 0.0)[-1]
    assert 5.0 * (q - 1.0) + MASS * 9.81 * ARM * np.sin(q) == pytest.approx(0, abs=1e-9)


def test_springs_on_unsupported_joints_are_rejected() -> None:
    with refused(InvalidModel, "j"):
        Joint("j", "free", stiffness=1.0)
    with refused(Unsupported, "k"):
        LoopJoint(Joint("k", "hinge", stiffness=1.0), -1, 0, np.zeros(3))
    with refused(InvalidModel, "j"):
        check(sprung("slide", -1.0))


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_largest_damping_holds_a_joint_still(precision: str) -> None:
    """Some files fix a base by 1e11 N s/m on its slides: bodies on it swing as on a fixed one."""
    swinging = """<body name="b"><joint name="j" axis="0 1 0"/>
    <geom type="sphere" size=".05" pos=".5 0 0" mass="3" contype="0" conaffinity="0"/></body>"""
    slides = "".join(
        f'<joint name="{axis}" type="slide" axis="{way}" armature="1e-4" damping="{LARGEST}"/>'
        for axis, way in (("x", "1 0 0"), ("z", "0 0 1"))
    )
    base = f"""<body name="base">{slides}
    <geom type="sphere" size=".1" mass="9" contype="0" conaffinity="0"/>{swinging}</body>"""
    ends = []
    for world in (swinging, base):
        robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{world}</worldbody></mujoco>"))
        simulation = Simulation(robot, dt=1e-3, precision=precision, controller=None)
        simulation.advance(1.0)
        ends.append(simulation.q.copy())
    assert np.abs(ends[1][:2]).max() < 1e-9
    assert ends[1][2] == pytest.approx(ends[0][0], abs=1e-9 if precision == "float64" else 1e-4)
