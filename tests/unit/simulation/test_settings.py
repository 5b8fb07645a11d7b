"""Registers that `Simulation.set` writes, and parameters by name."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidValue, UnknownName, Unsupported
from tarsus.simulation.recording.log_robot import scale_masses


@pytest.fixture(scope="module")
def scaled() -> tarsus.Simulation:
    return tarsus.Simulation(
        "mini_cheetah", controller="stand", worlds=3, mass_scale={"base": 1.0}, pushes="base"
    )


def test_changed_masses_match_a_new_simulation(
    scaled: tarsus.Simulation,
) -> None:
    factors = [0.8, 1.0, 1.3]
    scaled.set(mass_scale={"base": factors})
    scaled.advance(0.05)
    created = tarsus.Simulation(
        "mini_cheetah", controller="stand", worlds=3, mass_scale={"base": factors}, pushes="base"
    )
    created.advance(0.05)
    np.testing.assert_array_equal(scaled.q, created.q)
    assert len(np.unique(scaled.q[:, 2])) == 3


def test_masses_are_validated(scaled: tarsus.Simulation) -> None:
    before = scaled.backend.get("mass_scale")
    for wrong in (0.0, -1.0, [1.0, 2.0], "heavy", np.nan):
        with refused(InvalidValue, "mass_scale"):
            scaled.set(mass_scale={"base": wrong})
    with refused(UnknownName, "bas"):
        scaled.set(mass_scale={"bas": 1.0})
    with refused(Unsupported, "mass_scale"):
        tarsus.Simulation("mini_cheetah").set(mass_scale={"base": 1.1})
    np.testing.assert_array_equal(scaled.backend.get("mass_scale"), before)


def test_robots_of_logs_have_the_changed_masses() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="stand", mass_scale={"base": 1.0})
    simulation.set(mass_scale={"base": 1.5})
    robot = scale_masses(simulation.robot, simulation.run(0.01))
    made = simulation.robot.bodies[0].inertia.mass
    assert robot.bodies[0].inertia.mass == pytest.approx(1.5 * made, rel=1e-12)


def test_copies_have_independent_settings(scaled: tarsus.Simulation) -> None:
    scaled.set(mu=0.8)
    other = copy(scaled)
    other.set(mu=[0.1, 0.2, 0.3], push={"base": [1.0, 0.0, 0.0]})
    assert scaled.backend.get("law.mu").ravel().tolist() == [0.8] * 3
    assert other.backend.get("law.mu").ravel().tolist() == [0.1, 0.2, 0.3]
    assert not scaled.backend.get("push").any()


@pytest.mark.parametrize(
    "parameters",
    [
        {"law.mu": 0.35, "kp": 41, "solver": "sor"},
        [("law.mu", 0.35), ("kp", 41), "solver=sor"],
        ["law.mu=0.35", "kp=41", "solver=sor"],
    ],
)
def test_parameters_are_text_or_numbers(parameters: object) -> None:
    made = tarsus.Simulation("mini_cheetah", controller="trot", parameters=parameters)  # type: ignore[arg-type]
    assert made.law.parameters()["mu"] == 0.35
    assert made.law.solver == "sor"  # type: ignore[attr-defined]
    assert type(made.controller.kp) is float and made.controller.kp == 41.0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("parameters", "subject"),
    [
        ({"mu": -0.1}, "mu"),
        ({"mu": True}, "mu"),
        ([("mu", 0.3), "mu=0.4"], "mu"),
        ({"kp": []}, "kp"),
    ],
)
def test_invalid_numbers_are_reported_by_name(parameters: object, subject: str) -> None:
    with refused(InvalidValue, subject):
        tarsus.Simulation("mini_cheetah", controller="trot", parameters=parameters)  # type: ignore[arg-type]
