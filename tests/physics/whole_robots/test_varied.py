"""Values that differ by world: a world moves like a robot built with its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused
from numpy.typing import NDArray

import tarsus
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue, TarsusError, UnknownName
from tarsus.model.mechanism import Body, Inertia, Joint
from tarsus.model.mjcf import read_mjcf

ROBOT = Robot.of(
    read_mjcf("""<mujoco model="hopper"><worldbody><body name="base"><freejoint/>
    <geom type="box" size=".1 .08 .04" mass="3" contype="0" conaffinity="0"/>
    <body name="thigh"><joint name="hip" axis="0 1 0"/>
    <geom size=".02" type="capsule" fromto="0 0 0 .1 0 -.2" mass=".5" contype="0"
    conaffinity="0"/>
    <body name="shank" pos=".1 0 -.2"><joint name="knee" axis="0 1 0" armature="0.01"/>
    <geom size=".015" type="capsule" fromto="0 0 0 -.1 0 -.2" mass=".3" contype="0"
    conaffinity="0"/>
    <geom name="foot" type="sphere" size=".02" pos="-.1 0 -.2" mass=".2"/></body></body>
    </body></worldbody><actuator><motor joint="hip" ctrlrange="-30 30" ctrllimited="true"/>
    <motor joint="knee" ctrlrange="-30 30" ctrllimited="true"/></actuator></mujoco>""")
)
SECONDS = 0.1
JOINTS = [motor.joint for motor in ROBOT.actuators]
TRUNK, KNEE = "base", "knee"
SOFT = Stand(kp=20.0, kd=0.5)
Array = NDArray[np.float64]


def rebuilt(name: str, change: Callable[[Body], Body]) -> tarsus.Robot:
    """Robot with one body replaced, given its name or that of its joint."""
    bodies = tuple(
        change(body) if name in (body.name, body.joint.name) else body for body in ROBOT.bodies
    )
    return replace(ROBOT, bodies=bodies)


def with_inertia(**given: Any) -> Callable[[Body], Body]:
    return lambda body: replace(body, inertia=replace(body.inertia, **given))


def moved(robot: tarsus.Robot, gait: Stand = SOFT) -> tuple[Array, Array]:
    """Coordinates and velocities after a while with servos that let the robot sink."""
    simulation = tarsus.Simulation(robot, controller=gait)
    simulation.advance(SECONDS)
    return simulation.q, simulation.u


def varied(**values: Any) -> tuple[Array, Array]:
    """The same for three worlds, with other parameters in the second."""
    kinds = {
        kind: list(given) if isinstance(given, dict) else "all" for kind, given in values.items()
    }
    simulation = tarsus.Simulation(ROBOT, controller=SOFT, worlds=3, varied=kinds)
    simulation.set(where=np.arange(3) == 1, **values)
    simulation.advance(SECONDS)
    return simulation.q, simulation.u


HEAVY = 1.3 * ROBOT.bodies[0].inertia.mass
SHIFTED = np.array([0.02, -0.01, 0.03])
ROUND = np.diag([0.05, 0.12, 0.13])


@pytest.mark.parametrize(
    ("values", "other"),
    [
        (
            {"mass": {TRUNK: HEAVY}},
            with_inertia(mass=HEAVY, about_com=1.3 * ROBOT.bodies[0].inertia.about_com),
        ),
        ({"com": {TRUNK: SHIFTED}}, with_inertia(com=SHIFTED)),
        ({"inertia": {TRUNK: ROUND}}, with_inertia(about_com=ROUND)),
        (
            {"mass": {TRUNK: 7.0}, "com": {TRUNK: SHIFTED}, "inertia": {TRUNK: ROUND}},
            lambda body: replace(body, inertia=Inertia(7.0, SHIFTED, ROUND)),
        ),
    ],
    ids=["mass", "com", "inertia", "all"],
)
def test_varied_masses_match_an_edited_robot(values: Any, other: Callable[[Body], Body]) -> None:
    q, u = varied(**values)
    for found, expected in zip((q, u), moved(rebuilt(TRUNK, other)), strict=True):
        assert np.abs(found[1] - expected).max() < 1e-11
    as_made = moved(ROBOT)
    assert np.array_equal(q[0], q[2]) and np.abs(q[0] - as_made[0]).max() < 1e-11
    assert np.abs(q[1] - q[0]).max() > 1e-5, "it makes a difference"


def test_varied_rotors_and_gains_match_compiled_constants() -> None:
    turning = rebuilt(KNEE, lambda body: replace(body, joint=replace(body.joint, armature=0.02)))
    stiff = np.array([20.0, 60.0])
    for values, other in (
        ({"armature": {KNEE: 0.02}}, moved(turning)),
        (
            {"kp": dict(zip(JOINTS, stiff, strict=True)), "kd": 0.8},
            moved(ROBOT, Stand(kp=tuple(stiff), kd=0.8)),
        ),
        ({"strength": 0.5}, moved(ROBOT, Stand(kp=10.0, kd=0.25))),
    ):
        q, u = varied(**values)
        assert np.array_equal(q[1], other[0]) and np.array_equal(u[1], other[1]), list(values)
        assert np.array_equal(q[0], moved(ROBOT)[0])


def test_varied_joint_resistance_matches_an_edited_robot() -> None:
    def robot(damping: float, friction: float) -> tarsus.Robot:
        own: Any = {"damping": damping, "dry_friction": friction}
        return rebuilt(KNEE, lambda body: replace(body, joint=replace(body.joint, **own)))

    simulation = tarsus.Simulation(
        robot(0.1, 0.05), controller=SOFT, worlds=3, varied=["damping", "dry_friction"]
    )
    simulation.set(where=np.arange(3) == 1, damping={KNEE: 0.3}, dry_friction={KNEE: 0.2})
    simulation.advance(SECONDS)
    for world, other in ((0, robot(0.1, 0.05)), (1, robot(0.3, 0.2))):
        expected = moved(other)
        for found, wanted in zip((simulation.q, simulation.u), expected, strict=True):
            assert np.abs(found[world] - wanted).max() < 1e-11
    assert np.abs(simulation.q[1] - simulation.q[0]).max() > 1e-4, "it makes a difference"
    with refused(InvalidValue, "dry_friction"):
        tarsus.Simulation(ROBOT, controller=SOFT, varied="dry_friction")


def test_torque_delays_are_whole_steps() -> None:
    """Applied torques in each step of each world, for a torque of 1, 2, 3, ... N m over time."""
    delays = np.array([0, 1, 3])
    simulation = tarsus.Simulation(
        ROBOT,
        controller=lambda t, q, u: np.full(2, 1 + round(t / 0.0025)),
        worlds=3,
        varied={"delay": 3},
    )
    simulation.set(delay=delays)
    for step in range(1, 9):
        simulation.step()
        acted = simulation.backend.get("tau")
        assert np.array_equal(acted[:, 0], np.maximum(step - delays, 0))
    with refused(InvalidValue, "delay"):
        simulation.set(delay=4)


def test_terrain_parameters_can_be_varied_by_world() -> None:
    slopes = np.array([0.0, 0.1, 0.2])
    changed = tarsus.Simulation(ROBOT, terrain=tarsus.Slope(angle=0.0), controller=SOFT, worlds=3)
    made = tarsus.Simulation(ROBOT, terrain=tarsus.Slope(angle=slopes), controller=SOFT, worlds=3)
    changed.set(terrain=tarsus.Slope(angle=slopes), q=made.q)
    for simulation in (changed, made):
        simulation.advance(SECONDS)
    assert np.array_equal(changed.q, made.q)
    with refused(InvalidValue, "terrain"):
        changed.set(terrain="plane")


def test_the_log_of_a_varied_world_balances() -> None:
    """Momentum and energy by the Newton-Euler recursion, with the parameters of the world."""
    simulation = tarsus.Simulation(
        ROBOT, controller=SOFT, worlds=2, varied={"mass": TRUNK, "com": TRUNK, "armature": KNEE}
    )
    simulation.set(mass=[5.0, 9.0], com=SHIFTED, armature=[0.0, 0.05])
    log = simulation.run(SECONDS)
    assert log["equation_residual"].max() < 1e-6


def test_unvaried_values_stay_compiled_constants() -> None:
    plain = tarsus.Simulation(ROBOT, controller=SOFT)
    named = tarsus.Simulation(ROBOT, controller=SOFT, varied={"armature": KNEE})
    assert not any(name.startswith("varied") for name in plain.program.sizes)
    assert named.program.sizes["varied.armature"] == 1


def test_rods_get_a_positive_definite_inertia() -> None:
    """The inertia about its own axis is zero, and round-off can make it negative after a
    rotation.
    """
    varied = tarsus.Simulation(ROBOT, controller=SOFT, varied={"inertia": TRUNK})
    random = np.random.default_rng(2)
    for axis in random.standard_normal((50, 3)):
        along = axis / np.linalg.norm(axis)
        varied.set(inertia={TRUNK: 0.03 * (np.eye(3) - np.outer(along, along))})


def test_mass_factors_skip_massless_bodies() -> None:
    """A NaN would stay undetected: no shape grows with the mass."""
    light = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    axes = [np.array(axis) for axis in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])]
    bodies = (
        Body("cross", -1, Joint("first", "hinge", axes[0]), light),
        Body("arm", 0, Joint("second", "hinge", axes[1]), Inertia(1.0, axes[0], np.eye(3))),
    )
    robot = tarsus.Robot("gimbal", bodies, ())
    simulation = tarsus.Simulation(robot, varied=["mass", "inertia"])
    simulation.set(mass={"arm": 2.0}, inertia={"cross": np.diag([0.1, 0.1, 0.2])})
    simulation.set(inertia={"cross": np.diag([0.2, 0.2, 0.1])})
    simulation.advance(0.1)
    assert np.isfinite(simulation.q).all()
    with refused(InvalidValue, "mass"):
        simulation.set(mass={"cross": 1.0})


@pytest.mark.parametrize(
    ("asked", "given", "kind", "subject"),
    [
        ({"varied": "mas"}, {}, UnknownName, "mas"),
        ({"varied": {"mass": "bass"}}, {}, UnknownName, "bass"),
        ({}, {"mass": 1.0}, IncompatibleOptions, "mass"),
        ({"varied": "mass"}, {"mass": {"bass": 1.0}}, UnknownName, "bass"),
        ({"varied": "mass"}, {"mass": -1.0}, InvalidValue, "mass"),
        ({"varied": "mass"}, {"mass": np.ones(3)}, InvalidValue, "mass"),
        (
            {"varied": "inertia"},
            {"inertia": {TRUNK: np.diag([1.0, 0.1, 0.1])}},
            InvalidValue,
            "inertia",
        ),
        ({"varied": "mass"}, {"mass": "heavy"}, InvalidValue, "mass"),
        ({"varied": "delay"}, {"delay": -1}, InvalidValue, "delay"),
        ({"varied": "delay"}, {"delay": 0.5}, InvalidValue, "delay"),
        ({"varied": "delay"}, {"delay": None}, InvalidValue, "delay"),
        ({"varied": "delay"}, {"delay": 9}, InvalidValue, "delay"),
        ({"varied": {"delay": 0}}, {}, InvalidValue, "delay"),
        ({"varied": 5}, {}, InvalidValue, "varied"),
        ({"varied": {"mass": None}}, {}, InvalidValue, "mass"),
        ({}, {"armatur": 1.0}, UnknownName, "armatur"),
        ({"varied": "armature", "coordinates": "maximal"}, {}, InvalidValue, "armature"),
    ],
)
def test_mistakes_are_named(asked: Any, given: Any, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        tarsus.Simulation(ROBOT, controller=SOFT, worlds=2, **asked).set(**given)
