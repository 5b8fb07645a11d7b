"""Contacts that touch only when the robot falls cost a standing robot nothing and catch a falling
one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tarsus import Simulation
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.step_program import Plan, step_program

PUSH = {
    "base": np.array([[0.0, 0.0, 0.0], [0.0, 900.0, 0.0], [0.0, -900.0, 0.0], [700.0, 0.0, 0.0]])
}


def pushed(
    law: str, worlds: slice = slice(0, 4), dt: float = 0.0025
) -> tuple[np.ndarray, Simulation]:
    """Standing robots, all but the first thrown over by a push of 0.1 s; coordinates (worlds, nq)
    after 1.5 s.
    """
    count = len(PUSH["base"][worlds])
    simulation = Simulation(
        "starleth", law, controller="stand", worlds=count, contacts="all", pushes="base", dt=dt
    )
    simulation.set(push={"base": PUSH["base"][worlds]})
    simulation.advance(0.1)
    simulation.set(push={"base": [0.0, 0.0, 0.0]})
    simulation.advance(1.4)
    return simulation.q, simulation


def test_a_standing_robot_stands_as_on_its_feet_alone() -> None:
    runs = []
    for contacts in ("*_foot", "all"):
        simulation = Simulation("starleth", controller="stand", contacts=contacts)
        simulation.advance(0.5)
        runs.append(simulation.q)
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


@pytest.mark.parametrize(("law", "dt"), [("moreau", 0.0025), ("compliant", 0.0005)])
def test_a_fallen_robot_lies_on_its_body(law: str, dt: float) -> None:
    q, simulation = pushed(law, dt=dt)
    assert len(simulation.plan.scene.rare) == 20
    assert abs(q[0, 2] - 0.38) < 0.02, "not pushed: stands"
    names = [candidate.name for candidate in simulation.plan.scene.candidates]
    on_body = simulation.contact_force[
        :, [k for k, name in enumerate(names) if "foot" not in name], 0
    ]
    assert (on_body[0] == 0).all()
    assert (on_body[1:].max(-1) > 1).any(), "lies on its body"
    assert (simulation.q[:, 2] > 0.02).all()


def test_a_world_does_not_feel_its_neighbors() -> None:
    together, _ = pushed("moreau")
    alone, _ = pushed("moreau", slice(1, 2))
    assert (together[1] == np.atleast_2d(alone)[0]).all()


@pytest.mark.slow
def test_the_cases_agree_with_all_contacts_always_solved() -> None:
    simulation = Simulation("starleth", controller="stand", contacts="all")
    plan = simulation.plan
    always = Plan(replace(plan.scene, rare=()), plan.stepper, plan.controller)
    worlds = Worlds(step_program(always), 1)
    for register in worlds.program.of_kind("state"):
        worlds.set(register.name, simulation.backend.get(register.name))
    for register in worlds.program.of_kind("parameter"):
        worlds.set(register.name, simulation.backend.get(register.name))
    simulation.advance(0.25)
    worlds.advance(100)
    np.testing.assert_allclose(simulation.q, worlds.get("q")[0], atol=1e-6)
