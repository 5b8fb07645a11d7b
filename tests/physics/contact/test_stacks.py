"""Stacks of boxes, aligned and rotated, under every law: they rest, or a warning is issued."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tarsus
from tarsus import Ball, Box, Simulation
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.hunt_crossley import HuntCrossley
from tarsus.dynamics.robot import Robot
from tarsus.simulation.stacked_contacts import find_touching_contacts
from tarsus.stepping.methods.midpoint import Midpoint

G, EDGES, MASSES = 9.81, (0.2, 0.16, 0.1), (3.0, 2.0, 1.0)
SPRINGS = ("compliant", "hertz", "hunt_crossley", "micro")
OTHERS = ("linearized", "lcp_impulse", "macro", "moreau", "soft_convex")
TOLD = "dt-above-stable-limit"


def stack(count: int, turn: float) -> Robot:
    """Boxes, each rotated by an angle in degrees relative to the one below."""
    boxes = [Box(mass=mass, edges=EDGES) for mass in MASSES[:count]]
    places = [(0, 0, k * EDGES[2], np.radians(turn) * k) for k in range(1, count)]
    return tarsus.world(*boxes, at=places)


def rests(
    simulation: Simulation, count: int, seconds: float, sinks: bool = False, speed: float = 1e-6
) -> None:
    """After a second and a little push, where there is friction to stop it, nothing moves any more,
    and each box bears what is on it.

    sinks: along z alone, without end
    """
    simulation.advance(1.0)
    rubs = simulation.law.parameters().get("mu", 0.0) > 0
    kick = 1e-4 * np.random.default_rng(1).normal(size=6 * count)
    simulation.set(u=simulation.u + rubs * kick)
    simulation.advance(2.0)
    log = simulation.run(seconds)
    u = log.u.values.reshape(-1, count, 6)
    q = log.q.values.reshape(-1, count, 7)
    across, along = [0, 1, 3, 4, 5], [0, 1, 4, 5, 6]
    last = len(u) // 4
    assert np.abs(u[-last:, :, across]).max() < speed
    assert np.abs(u[-last:, :, 2]).max() < (2e-4 if sinks else speed)
    drift = np.abs(q[-1] - q[0])
    assert drift[:, along].max() < 10 * seconds * speed
    assert np.abs(q[-1, :, 2] - q[-1, 0, 2] - EDGES[2] * np.arange(count)).max() < 5e-3
    assert (log.converged == 1).all() and log.attrs.get("overflow_steps", 0) == 0
    # the load under each box
    force = log.force_contact.values[-last:, :, 0].mean(0)
    names = [str(name) for name in log.contact.values]
    on_ground = sum(f for f, name in zip(force, names, strict=True) if ":" not in name)
    assert on_ground == pytest.approx(G * sum(MASSES[:count]), rel=1e-4)
    bodies = ["box", *(f"box_{k}" for k in range(2, count + 1))]
    for k, (low, high) in enumerate(pairwise(bodies), 1):
        borne = sum(f for f, name in zip(force, names, strict=True) if f"{low}:{high}_" in name)
        assert borne == pytest.approx(G * sum(MASSES[k:count]), rel=1e-4)


def comfortable(law: Law | str, whole: Robot) -> float:
    """Less than half of the largest stable step of the stack, s; 2.5 ms at most."""
    simulation = Simulation(whole, law)
    touching = find_touching_contacts(simulation.plan.scene, simulation.q.ravel())
    return 2.5e-3 if touching is None else min(2.5e-3, 0.45 * touching.step)


@pytest.mark.parametrize("turn", [0, 20])
@pytest.mark.parametrize("law", ["compliant", "moreau", "soft_convex"])
def test_two_boxes_rest_on_each_other(law: str, turn: float) -> None:
    whole = stack(2, turn)
    simulation = Simulation(whole, law, dt=comfortable(law, whole))
    assert not any(note.code == TOLD for note in simulation.warnings)
    rests(simulation, 2, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "turn"), [(2, 0), (2, 20), (3, 0), (3, 20)])
@pytest.mark.parametrize("law", [*SPRINGS, *OTHERS, "micro_macro"])
def test_stacks_rest_under_every_law(law: str, count: int, turn: float) -> None:
    """`micro_macro` sinks until its membrane carries the load, as documented."""
    whole = stack(count, turn)
    simulation = Simulation(whole, law, dt=comfortable(law, whole))
    assert not any(note.code == TOLD for note in simulation.warnings)
    seconds = 10.0 if simulation.dt > 1e-3 else 1.0
    rests(simulation, count, seconds, sinks=law == "micro_macro", speed=1e-5)


@pytest.mark.parametrize("law", [*SPRINGS, "micro_macro"])
def test_stacks_too_stiff_for_dt_are_reported(law: str) -> None:
    simulation = Simulation(stack(3, 20), law, Midpoint(forces="once"))
    [told] = [note for note in simulation.warnings if note.code == TOLD]
    assert "with the 20 contacts of the start together" in told and "use dt = " in told
    if law != "hertz" and law != "hunt_crossley":
        assert "box_2 and box_3 touch" in told and " divided by " in told


def test_laws_without_a_step_limit_give_no_warning() -> None:
    for law in OTHERS:
        assert not any(note.code == TOLD for note in Simulation(stack(3, 20), law).warnings)


@pytest.mark.parametrize(("count", "turn"), [(1, 0), (2, 0), (2, 20)])
def test_the_reported_limit_is_where_stacks_become_unstable(count: int, turn: float) -> None:
    whole = stack(count, turn)
    once = Midpoint(forces="once")
    begun = Simulation(whole, "compliant", once)
    touching = find_touching_contacts(begun.plan.scene, begun.q.ravel())
    assert touching is not None and touching.linear
    speeds = []
    for share in (0.95, 1.05):
        simulation = Simulation(whole, "compliant", once, dt=share * touching.step)
        simulation.advance(0.5)
        kick = 1e-4 * np.random.default_rng(0).normal(size=6 * count)
        simulation.set(u=simulation.u + kick)
        simulation.advance(4.0)
        speeds.append(np.abs(simulation.run(0.1).u.values).max())
    assert speeds[0] < 1e-8 and speeds[1] > 1e-2
    # a law that is softer by what is told is at its limit at the dt at which it is told
    dt = 2 * touching.step
    by = touching.softening_factor(dt)
    softer = Compliant(
        **{
            name: value / by
            for name, value in {"c_N": 3e4, "c_T": 3e4, "d_N": 50.0, "d_T": 50.0}.items()
        }
    )
    simulation = Simulation(whole, softer)
    again = find_touching_contacts(simulation.plan.scene, simulation.q.ravel())
    assert again is not None and again.step == pytest.approx(dt, rel=1e-3)


def test_a_ball_on_a_ball_is_two_masses_in_series() -> None:
    """Of equal balls on springs without friction: the larger eigenvalue of [[2, -1], [-1, 1]] / m
    times the spring, and a damper.
    """
    mass, c, d = 2.0, 3e4, 50.0
    whole = tarsus.world(Ball(mass=mass), Ball(mass=mass), at=[(0, 0, 0.2)])
    simulation = Simulation(whole, Compliant(mu=0.0, c_N=c, d_N=d, c_T=0.0, d_T=0.0))
    touching = find_touching_contacts(simulation.plan.scene, simulation.q.ravel())
    assert touching is not None and touching.count == 2 and touching.shapes == ("ball", "ball_2")
    most = (3 + np.sqrt(5)) / 2 / mass
    assert most * (c * touching.step**2 / 4 + d * touching.step / 2) == pytest.approx(1, rel=1e-6)


def test_regularized_friction_counts_as_a_damper_under_load() -> None:
    """A thin plate alone under Hunt and Crossley's law turns about z against a damper mu m g / v_s
    at its corners: inertia m r^2 / 3. Loads are rounded up by a quarter at most.
    """
    law = HuntCrossley(k=1e3, n=1.0, alpha=0.0)
    simulation = Simulation(tarsus.world(Box(mass=1.0, edges=(2.0, 2.0, 1e-3))), law)
    touching = find_touching_contacts(simulation.plan.scene, simulation.q.ravel())
    assert touching is not None
    exact = 2 / (3 * 0.8 * G / 0.1)
    assert 0.8 * exact <= touching.step <= 1.001 * exact


def test_a_stack_has_slots_for_all_contacts() -> None:
    """Two turned faces share eight corners; the ground has four."""
    for count in (2, 3):
        assert Simulation(stack(count, 20)).plan.scene.slots == 4 + 8 * (count - 1)
