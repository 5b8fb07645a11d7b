"""Secondary contacts cost a standing robot little, and support a falling one in slots."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.step_program import Plan, step_program

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
PUSH = {
    "base": np.array([[0.0, 0.0, 0.0], [0.0, 900.0, 0.0], [0.0, -900.0, 0.0], [700.0, 0.0, 0.0]])
}


@cache
def pushed(
    law: str, worlds: tuple[int, int] = (0, 4), dt: float = 0.0025
) -> tuple[np.ndarray, Simulation]:
    """Standing robots, all but the first overturned by a push of 0.1 s.

    Returns coordinates (worlds, nq) after 0.5 s, and the simulation after 1.5 s.
    """
    pushes = PUSH["base"][slice(*worlds)]
    count = len(pushes)
    simulation = Simulation(
        "starleth", law, controller="stand", worlds=count, contacts="all", pushes="base", dt=dt
    )
    simulation.set(push={"base": pushes})
    simulation.advance(0.1)
    simulation.set(push={"base": [0.0, 0.0, 0.0]})
    simulation.advance(0.4)
    standing = np.atleast_2d(simulation.q)
    simulation.advance(1.0)
    return standing, simulation


def test_secondary_contacts_do_not_affect_a_standing_robot() -> None:
    alone = Simulation("starleth", controller="stand", contacts="*_foot")
    alone.advance(0.5)
    standing, _ = pushed("moreau")
    np.testing.assert_allclose(alone.q, standing[0], atol=1e-12)


@pytest.mark.parametrize(
    ("law", "dt"), [("moreau", 0.0025), pytest.param("compliant", 0.0005, marks=pytest.mark.slow)]
)
def test_a_fallen_robot_lies_on_its_body(law: str, dt: float) -> None:
    _, simulation = pushed(law, dt=dt)
    q = simulation.q
    assert len(simulation.plan.scene.secondary) == 20
    start = simulation.robot.keyframes["stand"][2]
    assert abs(q[0, 2] - start) < 0.005, "not pushed: stands, its weight borne"
    names = [candidate.name for candidate in simulation.plan.scene.candidates]
    on_body = simulation.contact_force[
        :, [k for k, name in enumerate(names) if "foot" not in name], 0
    ]
    assert (on_body[0] == 0).all()
    assert (on_body[1:].max(-1) > 1).any(), "lies on its body"
    assert (simulation.q[:, 2] > 0.02).all()


@pytest.mark.slow
def test_worlds_are_independent() -> None:
    """For a ball see `test_slot_results_do_not_depend_on_the_lane`."""
    _, together = pushed("moreau")
    _, alone = pushed("moreau", (1, 2))
    assert (together.q[1] == alone.q).all()


def dropped() -> Simulation:
    """StarlETH upside down, slightly rotated, just above the ground; ten contacts, ten slots."""
    some = ("*_foot", "*_top", "LF_KFE", "RF_KFE")
    simulation = Simulation("starleth", "hertz", contacts=some, slots=10, dt=5e-4)
    q = simulation.q
    q[2:7] = [0.12, 0.05, 0.998, 0.03, 0.02]
    q[3:7] /= np.linalg.norm(q[3:7])
    simulation.set(q=q)
    return simulation


def rolling(slots: int, law: str = "hertz", worlds: int = 1) -> Simulation:
    """A ball of 2 kg with 120 points of its surface as candidates, rolling."""
    k = np.arange(120) + 0.5
    polar, around = np.arccos(1 - 2 * k / 120), np.pi * (1 + 5**0.5) * k
    sides = np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)
    candidates = (Candidate(f"p{i}", 0, 0.1 * point) for i, point in enumerate(np.stack(sides, 1)))
    body = Body("ball", -1, Joint("free", "free"), Inertia(2.0, about_com=0.008 * np.eye(3)))
    ball = Robot.of(Mechanism("ball", (body,), tuple(candidates)))
    simulation = Simulation(ball, law, dt=5e-4, contacts="all", slots=slots, worlds=worlds)
    simulation.set(u=[0.5, 0.2, 0, -2, 5, 1])
    return simulation


def without_slots(simulation: Simulation) -> Worlds:
    """The same step with every contact evaluated in every step, from the same start."""
    plan = simulation.plan
    always = Plan(replace(plan.scene, secondary=(), slots=0), plan.stepper, plan.controller)
    worlds = Worlds(step_program(always), 1)
    for register in worlds.program.of_kind("state", "parameter"):
        if register.name != "memory":  # both begin without any
            worlds.set(register.name, simulation.backend.get(register.name))
    return worlds


@pytest.mark.slow
def test_a_slot_per_contact_equals_all_contacts() -> None:
    simulation = dropped()
    always = without_slots(simulation)
    log = simulation.run(0.15)
    always.advance(300)
    np.testing.assert_allclose(simulation.q, always.get("q")[0], atol=1e-9)
    pressed = log["force_contact"].values[:, 4:, 0] > 1
    assert (pressed.sum(1) >= 2).any(), "falls on its back"


def test_too_few_slots_keep_the_deepest_contacts_with_a_warning() -> None:
    simulation = rolling(2)
    log = simulation.run(0.5)
    pressed = log["force_contact"].values[..., 0] > 0
    full, crowded = pressed.sum(1) == 2, int(log.attrs["overflow_steps"])
    assert pressed.sum(1).max() == 2 and full.any()
    assert 0 < crowded < len(full) and log.attrs["max_overflow"] <= 4
    assert f"in {crowded} steps more contacts touched" in log.attrs["warnings"]
    # what was kept is not above what was left out
    lowest_out = np.where(pressed, np.inf, log["gap"].values).min(1)
    highest_in = np.where(pressed, log["gap"].values, -np.inf).max(1)
    assert (highest_in[full] <= lowest_out[full] + 1e-12).all()


def test_hundreds_of_candidates_touch() -> None:
    simulation = rolling(8)
    assert len(simulation.plan.scene.candidates) == 120
    log = simulation.run(1.0)
    assert 4 < log.sizes["contact"] < 120, "those that touched"
    assert log.attrs["overflow_steps"] == 0
    weight = log["force_world"].values[-1000:, :, 2].sum(1).mean() / (2 * 9.81)
    assert abs(weight - 1) < 0.05
    force = simulation.contact_force
    last = dict(zip(log["contact"].values, log["force_contact"].values[-1], strict=True))
    for candidate, own in zip(simulation.plan.scene.candidates, force, strict=True):
        np.testing.assert_array_equal(own, last.get(candidate.name, np.zeros(3)))


@pytest.mark.parametrize("law", ["moreau", "compliant"])
def test_slot_memory_is_part_of_the_state(law: str) -> None:
    simulation = rolling(6, law)
    simulation.advance(0.1)
    kept, copy = simulation.state(), pickle.loads(pickle.dumps(simulation))
    simulation.advance(0.05)
    copy.advance(0.05)
    assert (simulation.q == copy.q).all() and (simulation.contact_force == copy.contact_force).all()
    copy.restore(kept)
    copy.advance(0.05)
    assert (simulation.q == copy.q).all()


@pytest.mark.parametrize("law", ["hertz", "moreau"])
def test_slot_results_do_not_depend_on_the_lane(law: str) -> None:
    alone, many = rolling(6, law), rolling(6, law, worlds=11)
    start = many.q
    start[3:, 2] += 0.4  # these do not touch
    many.set(q=start)
    alone.advance(0.2)
    many.advance(0.2)
    assert (many.q[:3] == alone.q).all() and (many.q[3:] != alone.q).any(1).all()
    assert (many.contact_force[:3] == alone.contact_force).all()
    assert np.abs(alone.u - [0.5, 0.2, 0, -2, 5, 1]).max() > 0.01, "they touched"
    assert (many.contact_force[3:] == 0).all()


def plates(slots: int, worlds: int) -> Simulation:
    """Plates of 2 kg with sixteen points below and 32 above as candidates; all but the first
    stand on an edge and tip over.
    """

    def ring(count: int, z: float) -> list[np.ndarray]:
        angles = 2 * np.pi * np.arange(count) / count
        return [np.array([0.2 * np.cos(a), 0.2 * np.sin(a), z]) for a in angles]

    points = enumerate(ring(16, -0.05) + ring(32, 0.05))
    candidates = tuple(Candidate(f"p{i}", 0, point) for i, point in points)
    inertia = Inertia(2.0, about_com=np.diag([0.022, 0.022, 0.04]))
    body = Body("plate", -1, Joint("free", "free"), inertia)
    plate = Robot.of(Mechanism("plate", (body,), candidates))
    simulation = Simulation(plate, contacts="all", slots=slots, worlds=worlds)
    q = np.atleast_2d(simulation.q)
    q[:, 2:7] = 0.05, 1.0, 0.0, 0.0, 0.0
    q[1:, 2:7] = 0.25, np.cos(0.6), np.sin(0.6), 0.0, 0.0
    simulation.set(q=q)
    return simulation


def test_more_than_twelve_contacts_are_all_solved() -> None:
    simulation = plates(16, worlds=3)
    alone, few = plates(16, worlds=1), plates(12, worlds=3)
    log = simulation.run(0.2)
    alone.advance(0.2)
    assert log.attrs["overflow_steps"] == 0 and (log["converged"] == 1).all()
    assert (simulation.q[0] == alone.q).all(), "the same bits beside worlds with few"
    # it lies still, on points below alone, which carry its weight and no more
    force = simulation.contact_force[0]
    np.testing.assert_allclose(force.sum(0)[0], 2 * 9.81, rtol=1e-6)
    assert (force[16:] == 0).all() and (force[:16, 0] > 0).all()
    assert np.abs(simulation.u[0]).max() < 1e-9
    assert simulation.q[0, 2] == pytest.approx(0.05, abs=1e-8)
    # who stands on few points does what it does in twelve slots, to the bit
    few.advance(0.2)
    assert (simulation.q[1:] == few.q[1:]).all()
    assert not np.allclose(simulation.q[0], few.q[0], rtol=0, atol=1e-9), "in turns it sinks"


def test_steppers_with_two_evaluations_reject_many_contacts() -> None:
    ball = rolling(2).robot
    with refused(IncompatibleOptions, "contacts"):
        Simulation(ball, "hertz", "heun", contacts="all")
    with refused(InvalidValue, "slots"):
        Simulation(ball, contacts="all", slots=0)


@pytest.mark.slow
def test_slots_match_solving_all_contacts() -> None:
    simulation = Simulation("starleth", controller="stand", contacts="all")
    worlds = without_slots(simulation)
    simulation.advance(0.25)
    worlds.advance(100)
    np.testing.assert_allclose(simulation.q, worlds.get("q")[0], atol=1e-6)
