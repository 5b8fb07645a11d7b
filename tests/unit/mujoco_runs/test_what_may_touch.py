"""Default contact candidates."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation, load
from tarsus.errors import UnknownName
from tarsus.mujoco_runs.simulation import MujocoSimulation


def names(simulation: Simulation) -> tuple[str, ...]:
    return tuple(candidate.name for candidate in simulation.plan.scene.candidates)


def codes(simulation: Simulation) -> set[str]:
    return {notice.code for notice in simulation.warnings}


def test_whole_body_contacts_on_flat_ground_and_feet_otherwise() -> None:
    robot = load("starleth")
    every = tuple(candidate.name for candidate in robot.candidates)
    feet = tuple(name for name in every if "foot" in name)
    assert len(every) == 24 and len(feet) == 4
    for ground in ("plane", "slope"):
        whole = Simulation(robot, terrain=ground)
        assert names(whole) == every and whole.options.contacts == "all"
        assert "contacts-ignored" not in codes(whole)
    for options in ({"terrain": "rough"}, {"stepper": "heun", "law": "hertz"}):
        alone = Simulation(robot, **options)
        assert names(alone) == feet
        assert "contacts-ignored" in codes(alone)
    # those of the feet are not told: they were asked for
    asked = Simulation(robot, contacts="feet")
    assert names(asked) == feet and "contacts-ignored" not in codes(asked)


def test_several_names_and_patterns_with_commas_between_them() -> None:
    robot = load("starleth")
    feet = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
    body = tuple(c.name for c in robot.candidates if c.name.endswith(("_top", "_bottom")))
    assert names(Simulation(robot, contacts="LF_foot, RH_*oot")) == ("LF_foot", "RH_foot")
    for given in ("feet,*_top,*_bottom", ["feet", "*_top", "*_bottom"]):
        assert set(names(Simulation(robot, contacts=given))) == {*feet, *body}
    mujoco = MujocoSimulation(robot, contacts="LF_foot,RF_foot").robot
    assert len(mujoco.candidates) == 2
    with refused(UnknownName, "LF_fot"):
        Simulation(robot, contacts="RF_foot,LF_fot")


def test_a_log_contains_feet_and_other_contacts() -> None:
    standing = Simulation("starleth", controller="stand").run(0.1)
    feet = [f"{leg}_foot" for leg in ("LF", "RF", "LH", "RH")]
    assert standing["contact"].values.tolist() == feet
    fallen = Simulation("starleth", controller="stand")
    q = fallen.q
    q[2] -= 0.3  # its trunk just above the ground, its legs drawn in
    q[8::3], q[9::3] = 1.2 * np.sign(q[8::3]), 2.4 * np.sign(q[9::3])
    fallen.set(q=q, u=np.zeros(18))
    log = fallen.run(0.3)
    told = log["contact"].values.tolist()
    assert set(feet) < set(told) < {candidate.name for candidate in fallen.robot.candidates}


def test_mujoco_has_the_same_collision_pairs() -> None:
    pytest.importorskip("mujoco")
    robot = load("starleth")
    assert MujocoSimulation(robot).robot.candidates == robot.candidates
    assert len(MujocoSimulation(robot, contacts="feet").robot.candidates) == 4
    assert len(MujocoSimulation(robot, terrain="rough").robot.candidates) == 4
