"""A state that is not finite is never reported as solved."""

from __future__ import annotations

import numpy as np
import pytest

import tarsus
from tarsus import registry
from tarsus.dynamics.robot import Robot
from tarsus.stepping.base import METHODS
from tarsus.validation import bodies

LAWS = registry.names("tarsus.contact.laws")


@pytest.mark.parametrize("law", LAWS)
def test_a_state_of_nan_has_not_converged(law: str) -> None:
    """Two worlds: one on the ground, and one where each entry of the state in turn is NaN."""
    simulation = tarsus.Simulation(Robot.of(bodies.point_mass()), law, dt=1e-4, worlds=2)
    simulation.step()
    assert simulation.converged.all()
    for name in ("q", "u"):
        for entry in range(getattr(simulation, name).shape[1]):
            simulation.reset()
            value = getattr(simulation, name)
            value[1, entry] = np.nan
            simulation.backend.set(name, value)
            for _ in range(2):
                simulation.step()
                assert simulation.converged.tolist() == [True, False], (name, entry)


@pytest.mark.parametrize("stepper", registry.names(METHODS))
def test_under_any_stepper(stepper: str) -> None:
    simulation = tarsus.Simulation(Robot.of(bodies.point_mass()), "compliant", stepper, dt=1e-4)
    simulation.step()
    assert simulation.converged
    simulation.backend.set("u", np.full(simulation.u.shape, np.nan))
    simulation.step()
    assert not simulation.converged
