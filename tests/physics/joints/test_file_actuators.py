"""File actuators: comparison with MuJoCo, limits, delays, and gains too stiff for explicit
steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from casadi import SX, Function
from helpers.refused import refused
from helpers.warned import warned

from tarsus import Simulation, TarsusError
from tarsus.control.actuators.encoder import Encoder
from tarsus.control.actuators.lag import Lag
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.actuator_force import ActuatorForce
from tarsus.dynamics.robot import Robot
from tarsus.errors import (
    IncompatibleOptions,
    InvalidModel,
    InvalidValue,
    UnknownName,
    Unsupported,
)
from tarsus.model.mjcf import read_mjcf
from tarsus.model.urdf import read_urdf

mujoco: Any = pytest.importorskip("mujoco")
FLYING = 'contype="0" conaffinity="0"'
ARM = f"""<mujoco><compiler angle="radian"/><worldbody><body pos="0 0 1">
  <joint name="a" axis="0 1 0" damping="0.1" armature="0.01"/>
  <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" {FLYING}/><body pos=".4 0 0">
  <joint name="b" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0" {FLYING}/>
  <body pos=".3 0 0"><joint name="c" type="slide" axis="1 0 0" damping="1"/>
  <geom type="sphere" size=".05" {FLYING}/></body></body></body></worldbody>
  <actuator>%s</actuator>
  <keyframe><key name="home" qpos=".1 .2 .01" ctrl="%s"/></keyframe></mujoco>"""
SETS = {
    "servos": (
        """<position name="pa" joint="a" kp="300" kv="20" forcerange="-30 30"/>
        <velocity name="vb" joint="b" kv="3" gear="2"/>
        <general name="gc" joint="c" gaintype="affine" gainprm="100 2 -1" biastype="affine"
         biasprm="1 -500 -20" ctrlrange="-1 1"/>""",
        ".5 1 3",
    ),
    "several": (
        """<motor name="ma" joint="a" gear="-3"/>
        <damper name="da" joint="a" kv="2" ctrlrange="0 1"/>
        <position name="pb" joint="b" kp="40" gear="-2"/><velocity name="vb" joint="b" kv="2"/>
        <intvelocity name="ic" joint="c" kp="300" kv="9" actrange="-.05 .05"/>""",
        "-2 .7 .4 .3 .5",
    ),
    "filtered": (
        """<general name="fa" joint="a" dyntype="filter" dynprm=".05" gainprm="5"/>
        <general name="fb" joint="b" dyntype="filterexact" dynprm=".02" gainprm="2"/>
        <position name="pc" joint="c" kp="200" dampratio="1" timeconst=".03"/>""",
        "1 1 .02",
    ),
}


def arm(actuators: str, control: str = "0 0 0") -> tuple[str, Robot]:
    """Text of the arm with the given actuators, and the robot."""
    text = ARM % (actuators, control)
    return text, Robot.of(read_mjcf(text))


def of_mujoco(text: str, dt: float, seconds: float, integrator: str) -> np.ndarray:
    """Final coordinates in MuJoCo."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep = dt
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(round(seconds / dt)):
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


def pendulum(actuator: str, rest: str = "", **joint: Any) -> Robot:
    """A point mass of 1 kg on a rod of 1 m about a vertical axis, with one actuator.

    `rest` is the remaining text of the file.
    """
    more = " ".join(f'{name}="{value}"' for name, value in joint.items())
    return Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian"/><worldbody><body name="bob">
            <joint name="j" axis="0 0 1"
            {more}/><inertial mass="1" pos="1 0 0" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody>
            <actuator>{actuator}</actuator>{rest}</mujoco>"""
        )
    )


@pytest.mark.parametrize("name", SETS)
def test_a_file_moves_as_in_mujoco(name: str) -> None:
    """Both go to the same limit, at first order; RK4 with a tiny step is the limit."""
    text, robot = arm(*SETS[name])
    limit, off = of_mujoco(text, 1e-5, 0.3, "RK4" if name != "filtered" else "Euler"), []
    for dt in (2e-3, 1e-3):
        simulation = Simulation(robot, dt=dt, actuators="file")
        simulation.advance(0.3)
        off.append(np.abs(simulation.q - limit).max())
    assert off[1] < 2e-3
    assert 1.7 < off[0] / off[1] < 2.4


@pytest.mark.parametrize("early", ["true", "false"])
@pytest.mark.parametrize("kind", ["filter", "integrator"])
def test_actearly_of_the_file_is_respected(kind: str, early: str) -> None:
    """Step by step: its force is that of the activation at the step's end, or at its start."""
    law = f'dyntype="{kind}" dynprm=".05" gainprm="5" actearly="{early}"'
    robot, dt = pendulum(f'<general name="g" joint="j" {law}/>'), 2e-3
    simulation = Simulation(robot, dt=dt, actuators="file")
    activation = speed = 0.0
    for _ in range(20):
        simulation.step(np.array([0.7]))
        after = activation + dt * (0.7 if kind == "integrator" else (0.7 - activation) / 0.05)
        speed += dt * 5 * (after if early == "true" else activation)
        activation = after
        assert simulation.u[0] == pytest.approx(speed, rel=1e-7, abs=1e-12)


def test_servos_too_stiff_for_an_explicit_step_come_to_rest() -> None:
    """dt kv / I is 50 and dt^2 kp / I 250; the limits of an explicit step are 2 and 4."""
    robot, dt = pendulum('<position joint="j" kp="1e7" kv="1e4"/>'), 5e-3
    simulation = Simulation(robot, dt=dt, actuators="file")
    simulation.step(np.array([0.3]))
    simulation.advance(10.0)
    assert simulation.q[0] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("start", [0.0, 0.0003, -0.02])
def test_a_limit_holds_exactly_and_does_not_chatter(start: float) -> None:
    """What is limited at the start is not explicit: dt kv / I is 50, and the motor weak."""
    robot, dt = pendulum('<position joint="j" kp="1e5" kv="1e4" forcerange="-3 2"/>'), 5e-3
    simulation = Simulation(robot, dt=dt, actuators="file")
    simulation.set(q=np.array([start]), u=np.array([0.5]))
    log = simulation.run(5.0)
    tau = log.tau.values[:, 0]
    assert tau.min() == pytest.approx(-3, abs=1e-12) and tau.max() <= 2
    assert np.abs(tau[-200:]).max() < 1e-9 and abs(simulation.q[0]) < 1e-9
    # at the limit it brakes as a constant torque does
    braking = log.u.values[:10, 0]
    assert braking == pytest.approx(0.5 - 3 * dt * np.arange(1, 11), abs=1e-9)


def test_limits_of_controls_joints_and_gears() -> None:
    robot = pendulum(
        '<motor joint="j" gear="2" ctrlrange="-1 3"/>'
        '<motor name="m" joint="j" forcerange="-.5 .5"/>',
        actuatorfrcrange="-4 4",
    )
    simulation = Simulation(robot, actuators="file")
    for action, torque in (([9, 0], 4), ([1, 9], 2.5), ([-9, -9], -2.5), ([0.1, 0.2], 0.4)):
        simulation.step(np.array(action, dtype=float))
        assert simulation.backend.output("tau")[0, 0] == pytest.approx(torque, abs=1e-12)


def test_signals_are_delayed_by_the_steps_of_their_world() -> None:
    robot = pendulum('<motor joint="j"/>')
    delays = np.array([0, 1, 4])
    simulation = Simulation(robot, worlds=3, actuators=FileActuators(delay=delays))
    felt = []
    for k in range(1, 8):
        simulation.step(np.array([float(k)]))
        felt.append(simulation.backend.output("tau")[:, 0])
    expected = np.maximum(np.arange(1, 8)[:, None] - delays, 0)
    assert np.array_equal(felt, expected)
    simulation.set(delay=np.array([2, 2, 0]))
    simulation.step(np.array([8.0]))
    assert np.array_equal(simulation.backend.output("tau")[:, 0], [6, 6, 8])
    simulation.reset()
    simulation.step(np.array([5.0]))
    assert np.array_equal(simulation.backend.output("tau")[:, 0], [0, 0, 5])


def test_signals_are_delayed_by_the_steps_of_their_actuator() -> None:
    """Two motors in two worlds: delays by name, and by world and actuator."""
    two = pendulum('<motor name="a" joint="j"/><motor name="b" joint="j" gear="100"/>')
    simulation = Simulation(two, worlds=2, actuators=FileActuators(delay=[[0, 3]]))

    def felt() -> list[list[float]]:
        simulation.reset()
        torques = []
        for k in range(1, 6):
            simulation.step(np.array([float(k), float(k)]))
            torques.append(simulation.backend.output("tau")[:, 0].tolist())
        return torques

    def expected(delays: list[list[int]]) -> list[list[float]]:
        a, b = np.transpose(delays)
        at = np.arange(1, 6)[:, None]
        return (np.maximum(at - a, 0) + 100 * np.maximum(at - b, 0)).tolist()

    assert felt() == expected([[0, 3], [0, 3]])
    simulation.set(delay={"a": 1, "b": np.array([0, 2])})
    assert felt() == expected([[1, 0], [1, 2]])
    simulation.set(delay=np.array([3, 1]))
    assert felt() == expected([[3, 3], [1, 1]])


def test_a_fraction_of_a_step_mixes_two_signals() -> None:
    """Signals are constant over a step, so 2.25 steps of delay give 3/4 and 1/4 of two of them."""
    simulation = Simulation(pendulum('<motor joint="j"/>'), actuators=FileActuators(delay=2.25))
    felt = []
    for k in range(1, 8):
        simulation.step(np.array([float(k**2)]))
        felt.append(simulation.backend.output("tau")[0, 0])
    signals = np.array([0, 0, 0, *np.arange(1, 8) ** 2])  # none before the start
    assert felt == pytest.approx(0.75 * signals[1:8] + 0.25 * signals[:7], abs=1e-14)


def test_delay_lag_and_encoder_offset_of_the_file() -> None:
    """Numbers of the actuator act like the same numbers of the user's models."""
    robot = pendulum('<position joint="j" kp="30" kv="1"/>')
    (servo,) = robot.file_actuators
    real = replace(servo, delay=0.0065, lag=0.01, encoder_offset=0.05)
    models = (Encoder(0.05, 0.0), Lag(0.01))
    runs = (
        (replace(robot, file_actuators=(real,)), "file"),
        (robot, FileActuators(delay=3.25, models=models)),
        (robot, "file"),
    )
    angles = []
    for one, actuators in runs:
        simulation = Simulation(one, actuators=actuators, dt=0.002)
        for _ in range(100):
            simulation.step(np.array([0.4]))
        angles.append(simulation.q[0])
    assert angles[0] == angles[1] != angles[2]
    with refused(InvalidModel, servo.name):
        replace(servo, delay=-0.001)


def test_motor_run_up_matches_the_closed_form() -> None:
    """I u' = stall (1 - u / u_0): u = u_0 (1 - exp(-t stall / (I u_0)))."""
    given = FileActuators(stall_torque=4.0, no_load_speed=10.0)
    simulation = Simulation(pendulum('<motor joint="j"/>'), dt=1e-3, actuators=given)
    simulation.set(q=np.zeros(1))
    simulation.step(np.array([100.0]))
    log = simulation.run(1.999)
    t = 1e-3 * np.arange(2, 2001)
    assert log.u.values[:, 0] == pytest.approx(10 * (1 - np.exp(-0.4 * t)), abs=2e-3)
    # past its no-load speed it cannot drive, and it can brake with its stall torque
    for action, torque in ((100.0, 0.0), (-100.0, -4.0)):
        simulation.set(u=np.array([11.0]))
        simulation.step(np.array([action]))
        assert simulation.backend.output("tau")[0, 0] == pytest.approx(torque, abs=1e-12)


def test_a_landing_does_not_exceed_a_limit() -> None:
    """A leg falls on its foot: the impact turns its knee by far more than a step's free motion."""
    robot = Robot.of(
        read_mjcf(
            """<mujoco><compiler angle="radian"/><worldbody><body name="trunk"><joint name="rail"
            type="slide" axis="0 0 1"/><inertial mass="3" pos="0 0 0" diaginertia=".1 .1 .1"/>
            <body name="thigh"><joint name="hip" axis="0 1 0"/><geom type="capsule" size=".02"
            fromto="0 0 0 0 0 -.2" contype="0" conaffinity="0"/><body name="shank" pos="0 0 -.2">
            <joint name="knee" axis="0 1 0"/><geom type="capsule" size=".015"
            fromto="0 0 0 0 0 -.2" contype="0" conaffinity="0"/><geom name="foot" type="sphere"
            size=".02" pos="0 0 -.2"/></body></body></body></worldbody><actuator>
            <position joint="hip" kp="400" kv="20" forcerange="-12 12"/>
            <position joint="knee" kp="400" kv="20" forcerange="-12 12"/></actuator>
            <keyframe><key name="stand" qpos=".6 .6 -1.2" ctrl=".6 -1.2"/></keyframe></mujoco>"""
        )
    )
    simulation = Simulation(robot, actuators="file")
    simulation.set(q=robot.keyframes["stand"])
    log = simulation.run(1.0)
    assert float(np.abs(log.tau).max()) == pytest.approx(12, abs=1e-4)
    assert float(np.abs(log.tau).max()) < 12 * (1 + 3e-6)
    assert float(log.equation_residual.max()) < 1e-8 and log.converged.values.all()
    assert float(np.abs(log.u.values[-1]).max()) < 1e-2  # it stands again


def test_the_ledger_balances_with_servos() -> None:
    """The work of a servo without damping is what its potential loses."""
    robot = pendulum('<position joint="j" kp="100" kv="0"/>')
    simulation = Simulation(robot, dt=2e-3, actuators="file")
    simulation.set(q=np.array([0.5]))
    log = simulation.run(1.0)
    q = np.concatenate([[0.5], log.q.values[:, 0]])
    assert log.energy_motors.values == pytest.approx(-np.diff(50 * q**2), abs=1e-10)
    energy = (log.kinetic_energy + log.potential_energy - log.energy_start).values
    assert energy == pytest.approx(np.cumsum(log.energy_motors.values), abs=1e-9)
    assert float(log.equation_residual.max()) < 1e-9


def test_gains_and_strength_differ_from_world_to_world() -> None:
    robot = pendulum('<position name="servo" joint="j" kp="10" kv="1"/>')
    simulation = Simulation(robot, worlds=2, actuators="file")
    simulation.set(q=np.array([0.1]), kp=np.array([[20.0], [40.0]]), strength={"servo": 0.5})
    simulation.step()
    one, other = simulation.backend.output("tau")[:, 0]
    assert other / one == pytest.approx(2, rel=2e-2) and one == pytest.approx(-1, rel=1e-2)
    with pytest.raises(TarsusError, match="kp must be one number"):
        simulation.set(kp=np.ones(7))
    with pytest.raises(TarsusError, match="kv must"):
        simulation.set(kv=-1.0)
    wrong: list[tuple[dict[str, Any], type[TarsusError], str]] = [
        ({"strenght": 1.0}, UnknownName, "strenght"),
        ({"kp": {"sevo": 1.0}}, UnknownName, "sevo"),
        ({"delay": 1}, IncompatibleOptions, "delay"),
        ({"kp": None}, InvalidValue, "kp"),
        ({"by_world": ["gear"]}, UnknownName, "by_world"),
    ]
    for given, kind, subject in wrong:
        with refused(kind, subject):
            simulation.set(**given)
    late = Simulation(robot, actuators=FileActuators(delay=2))
    with refused(InvalidValue, "delay"):
        late.set(delay=3)


def test_motors_are_the_default_and_mismatches_are_rejected() -> None:
    robot = pendulum('<position joint="j" kp="10"/>')
    simulation = Simulation(robot)
    simulation.step(np.array([3.0]))
    assert simulation.backend.output("tau")[0, 0] == 3.0
    with refused(IncompatibleOptions, "actuators"):
        Simulation("mini_cheetah", actuators="file")
    with refused(IncompatibleOptions, "actuators"):
        Simulation(robot, actuators="file", controller="stand")
    with refused(InvalidValue, "actuators"):
        Simulation(robot, actuators="servo")
    muscle = pendulum('<muscle name="m" joint="j" lengthrange="0 1"/>')
    with refused(Unsupported, "m"):
        Simulation(muscle, actuators="file")
    with warned("unsupported-actuators-ignored", "pull"):
        pulled = pendulum('<adhesion name="pull" body="bob" ctrlrange="0 1"/>')
    with refused(Unsupported, "actuators") as caught:
        Simulation(pulled, actuators="file")
    assert "pull" in str(caught.value)


def test_a_gait_drives_file_motors() -> None:
    """Torques as signals through motors of a gear, within their limits, are the torques."""
    robot = pendulum('<motor joint="j" gear="3"/>')
    runs = [Simulation(robot, controller="stand", actuators=own) for own in ("motor", "file")]
    for one in runs:
        one.set(q=[0.3])
        one.advance(0.05)
    assert runs[0].q[0] != 0.3
    assert runs[1].q == pytest.approx(runs[0].q, rel=1e-6)


def test_zero_gains_are_written_without_a_sign() -> None:
    for actuator in pendulum('<motor joint="j"/><position joint="j" kp="9"/>').file_actuators:
        assert not np.signbit([actuator.kp, actuator.kv]).any()


def test_a_urdf_gives_motors_with_its_efforts() -> None:
    text = """<robot name="r"><link name="world"/><link name="l"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="revolute"><parent link="world"/><child link="l"/>
    <limit effort="7" velocity="3" lower="-9" upper="9"/></joint></robot>"""
    robot = Robot.of(read_urdf(text))
    simulation = Simulation(robot, actuators=FileActuators(strength=0.5))
    simulation.step(np.array([20.0]))
    assert simulation.backend.output("tau")[0, 0] == 3.5
    # and a function of state may give the signals
    servo = Simulation(robot, actuators="file", controller=lambda t, q, u: 50 * (1 - q) - 20 * u)
    servo.advance(3.0)
    assert servo.q[0] == pytest.approx(1, abs=1e-2)


SPEED, EFFORT, SPUN = 9.0, 5.0, 0.5  # rad/s, N m, kg m^2
WHEEL = f"""<robot name="wheel"><link name="world"/><link name="rotor"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="{SPUN}"/></inertial></link><joint name="j" type="continuous">
<parent link="world"/><child link="rotor"/><axis xyz="0 0 1"/>
<limit effort="{EFFORT}" velocity="{SPEED}"/></joint></robot>"""


def test_urdf_motors_respect_their_velocity_limit() -> None:
    """Full effort up to 95 % of the limit, then u' = f / I (1 - u / v) / 0.05: u approaches v
    but does not exceed it. A joint driven faster by an external torque gets no torque along its
    motion, and full torque against it.
    """
    wheel = Robot.of(read_urdf(WHEEL))
    made = Simulation(wheel, actuators="file", dt=1e-3)
    made.backend.set("action", np.array([EFFORT]))
    log = made.run(2.0)
    u, t = log.u.values[:, 0], log.time.values
    knee, decay = 0.95 * SPEED * SPUN / EFFORT, 0.05 * SPEED * SPUN / EFFORT
    expected = np.where(
        t < knee, EFFORT / SPUN * t, SPEED * (1 - 0.05 * np.exp(-(t - knee) / decay))
    )
    assert np.abs(u - expected).max() < 0.012 and u.max() < SPEED
    assert np.abs(log.tau.values).max() <= EFFORT * (1 + 1e-9)
    made.set(u=[1.5 * SPEED])
    made.step([EFFORT])
    assert made.u[0] == pytest.approx(1.5 * SPEED, rel=1e-12)
    made.step([-EFFORT])
    assert made.u[0] == pytest.approx(1.5 * SPEED - EFFORT / SPUN * 1e-3, rel=1e-9)
    torques = Simulation(wheel, dt=1e-3, controller=lambda t, q, u: [EFFORT])
    assert torques.run(2.0).u.values.max() > 2 * SPEED, "motors that take torques have no curve"


@pytest.mark.parametrize(
    ("stepper", "law"), [("rk4", "compliant"), ("heun", "compliant"), ("event_driven", "moreau")]
)
def test_servos_too_stiff_for_constant_force_are_rejected(stepper: str, law: str) -> None:
    """dt 10 ms: the bounds are D > dt/2 K and dt D < 2 I, and here gains on both sides of both."""

    def moved(kp: float, kv: float) -> Simulation:
        robot = pendulum(f'<position joint="j" kp="{kp}" kv="{kv}"/>', damping=0.0)
        return Simulation(robot, law, stepper, actuators="file", dt=0.01)

    inertia = float(pendulum("<motor joint='j'/>").mass_matrix([0.0])[0, 0])
    fine = moved(40 * inertia, 190 * inertia)
    fine.step([0.1])
    fine.advance(2.0)
    assert not fine.warnings and abs(fine.q[0] - 0.1) < 0.2
    with refused(IncompatibleOptions, "stepper") as caught:
        moved(40 * inertia, 210 * inertia)
    assert stepper in str(caught.value) and "midpoint, symplectic_euler" in str(caught.value)
    weak = moved(40 * inertia, 0.15 * inertia)  # less than dt/2 K
    assert [notice.code for notice in weak.warnings] == ["servos-swing-up"]
    assert not moved(40 * inertia, 0.25 * inertia).warnings


LIMITED = (
    '<position joint="j" kp="3" kv="2" gear="%s" forcerange="-4 3"/>',
    '<motor joint="j" gear="%s" forcerange="-4 3"/>',
    '<general joint="j" gaintype="affine" gainprm="5 2 -1" biastype="affine" biasprm="1 -9 -2"'
    ' gear="%s" forcerange="-2 6"/>',
)


@pytest.mark.parametrize("actuator", LIMITED)
@pytest.mark.parametrize("curve", [False, True])
@pytest.mark.parametrize("gear", [2.0, -1.5])
@pytest.mark.parametrize("speed", [np.inf, 3.0])
def test_limits_leave_admissible_forces_unchanged(
    actuator: str, curve: bool, gear: float, speed: float
) -> None:
    """`allows` detects without the nonlinear law where it equals the law without limits."""
    robot = pendulum(actuator % gear, actuatorfrcrange="-5 7", actuatorfrclimited="true")
    own = tuple(replace(one, speed=speed) for one in robot.file_actuators)
    robot = replace(robot, file_actuators=own)
    c, strength, q, u, d = (SX.sym(name) for name in ("c", "strength", "q", "u", "d"))
    values = {"kp": SX(3), "kv": SX(2), "strength": strength}
    if curve:
        values |= {"stall_torque": SX(5), "no_load_speed": SX(4)}
    at = ActuatorForce(robot, c, values).at(q, u, SX(0.01))
    free, slope = at.without_limits()
    straight = free - slope * d
    told = Function(
        "told",
        [c, strength, q, u, d],
        [at.is_within_limits(straight, d), straight, at.with_limits(d)[0]],
    )
    draws = np.random.default_rng(3).normal(0, 1.5, (5, 2000))
    draws[1] = np.abs(draws[1])
    allowed, plain, bent = (np.array(x)[0] for x in told(*(row[None] for row in draws)))
    assert 0.05 < allowed.mean() < 0.95
    np.testing.assert_array_equal(allowed == 1, np.abs(bent - plain) < 1e-9)
