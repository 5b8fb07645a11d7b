"""Contacts that cannot move along their normal carry no load, and give no NaN."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus import Simulation, registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.contact.laws.moreau import METHODS, Moreau
from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord
from tarsus.model.mjcf import read_mjcf
from tarsus.terrain.slope import Slope

QUICK = ("moreau", "lcp_impulse", "soft_convex")
LAWS = [
    name
    for name in registry.names("tarsus.contact.laws")
    if not isinstance(registry.member_class("tarsus.contact.laws", "law", name, Law)(), ForceLaw)
]
DEEP = 1e-3  # m: of the ball in the ground


def machine(joint: str, geom: str, height: float, more: str = "") -> Robot:
    """A ball of 2 kg and 0.1 m on one joint."""
    return Robot.of(
        read_mjcf(
            f"""<mujoco><worldbody><body name="b" pos="0 0 {height}">
            <joint name="j" {joint}/><geom name="ball" type="sphere" size="0.1" mass="2" {geom}/>
            </body></worldbody>{more}</mujoco>"""
        )
    )


def cart(law: Law | str) -> Simulation:
    """Cart on a level slide, DEEP in the ground, pushed along it."""
    motor = "<actuator><motor name='push' joint='j'/></actuator>"
    return Simulation(machine("type='slide' axis='1 0 0'", "", 0.1 - DEEP, motor), law)


def pushed_without_friction(law: Law | str) -> None:
    """State after a push of 3 N for 0.5 s without contact forces."""
    simulation = cart(law)
    for _ in range(200):
        simulation.step([3.0])
        assert simulation.converged
    assert simulation.u[0] == pytest.approx(3.0 * 0.5 / 2.0, rel=1e-12)
    assert not simulation.contact_force.any()


@pytest.mark.parametrize(
    "law", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in LAWS]
)
def test_a_blocked_contact_does_not_affect_a_rolling_cart(law: str) -> None:
    pushed_without_friction(law)


@pytest.mark.slow
@pytest.mark.parametrize("solver", registry.names(METHODS))
def test_every_solver_ignores_blocked_contacts(solver: str) -> None:
    pushed_without_friction(Moreau(solver=solver))


def test_blocked_contacts_are_reported() -> None:
    [notice] = cart("moreau").warnings
    assert (notice.code, notice.subject) == ("contacts-cannot-move", "ball")
    assert not cart("compliant").warnings, "a force by depth has an answer"


def test_an_upright_pendulum_with_a_geared_wheel_may_come_down() -> None:
    """The ball cannot move vertically where it starts, straight above the hinge, but elsewhere."""
    world = """<body pos="0 0 .5"><joint name="arm" axis="0 1 0"/>
        <geom name="ball" type="sphere" size=".1" mass="2" pos="0 0 .4"/>
        <body pos="0 0 .3"><joint name="wheel"/>
        <geom type="sphere" size=".05" mass="1"/></body></body>"""
    gear = '<equality><joint joint1="wheel" joint2="arm" polycoef="0 2 0 0 0"/></equality>'
    robot = read_mjcf(f"<mujoco><worldbody>{world}</worldbody>{gear}</mujoco>")
    assert not Simulation(Robot.of(robot)).warnings


def test_rim_contacts_are_not_blocked_by_a_fixed_center() -> None:
    """One end of the cylinder is centered on its hinge."""
    assert Simulation(machine("axis='0 1 0'", "", 0.5)).warnings, "a ball about its middle is held"
    text = """<mujoco><worldbody><body pos="0 0 .5"><joint axis="0 1 0"/>
        <geom name="post" type="cylinder" size=".05" fromto="0 0 0 0 0 .3" mass="1"/></body>
        </worldbody></mujoco>"""
    assert not Simulation(Robot.of(read_mjcf(text))).warnings


@pytest.mark.parametrize("law", ["moreau", "compliant"])
def test_only_contacts_that_can_rise_are_reported_as_deep(law: str) -> None:
    """A level slide holds its cart in level ground. On a slope the cart is pushed out, and so
    is one on an upright slide; reported from twice the slop of hard laws on.
    """
    sides = {"level": "type='slide' axis='1 0 0'", "upright": "type='slide' axis='0 0 1'"}

    def told(side: str, depth: float, angle: float = 0.0) -> list[WarningRecord]:
        low = (0.1 - depth) / np.cos(angle) if angle else 0.1 - depth
        robot = machine(sides[side], "", low)
        return sunk(Simulation(robot, law, terrain=Slope(angle)))

    assert not told("level", 5e-3)
    assert ["ball (by 5 mm)" in notice for notice in told("level", 5e-3, 0.1)] == [True]
    assert ["ball (by 1.2 mm)" in notice for notice in told("upright", 1.2e-3)] == [True]
    assert not told("upright", 0.8e-3)
    assert not sunk(pendulum(5e-3, law))


def sunk(simulation: Simulation) -> list[WarningRecord]:
    """Warnings about contacts that start below the ground."""
    return [notice for notice in simulation.warnings if notice.code == "starts-in-ground"]


def pendulum(depth: float, law: str = "moreau") -> Simulation:
    """Pendulum of 0.9 m whose hanging ball is `deep` (m) in the ground."""
    robot = machine("type='hinge' axis='0 1 0'", "pos='0 0 -0.9'", 1.0 - depth)
    return Simulation(robot, law)


@pytest.mark.parametrize(
    "law", [n if n == "moreau" else pytest.param(n, marks=pytest.mark.slow) for n in LAWS]
)
def test_a_pendulum_hangs_still_in_the_ground(law: str) -> None:
    simulation = pendulum(DEEP, law)
    assert not simulation.warnings, "elsewhere its ball moves up"
    for _ in range(100):
        simulation.step()
        assert simulation.converged
    assert abs(simulation.q[0]) < 1e-12 and abs(simulation.u[0]) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1e-6, 1e-4, 1e-3])
def test_a_pendulum_that_swings_into_the_ground_gains_no_energy(depth: float) -> None:
    simulation = pendulum(depth)
    simulation.set(q=[0.3], u=[-0.5])
    log = simulation.run(4.0)
    energy = (log.kinetic_energy + log.potential_energy).values.ravel()
    assert np.isfinite(energy).all() and bool((log.converged == 1).all())
    # m g times what a ball comes up out of the ground at most
    assert np.diff(energy).max() < 2.0 * 9.81 * depth + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_a_weld_to_the_world_carries_its_load(law: str) -> None:
    weld = "<equality><weld body1='b'/></equality>"
    robot = machine("type='slide' axis='0 0 1'", "", 0.1 - DEEP, weld)
    simulation = Simulation(robot, law)
    assert "contacts-cannot-move" in {notice.code for notice in simulation.warnings}
    for _ in range(200):
        simulation.step()
        assert simulation.converged
    assert abs(simulation.q[0]) < 1e-9 and abs(simulation.u[0]) < 1e-9
    assert not simulation.contact_force.any()
