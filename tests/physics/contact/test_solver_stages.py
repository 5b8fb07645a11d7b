"""The log reports the stage of the solver that ended each step."""

from __future__ import annotations

import numpy as np
import xarray as xr
from helpers.free_body import free_body
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.solvers.base import STAGES

CRATE = "type='box' size='.2 .15 .05'"


def stages(log: xr.Dataset) -> NDArray[np.int8]:
    variable = log["solver_stage"]
    assert variable.attrs["flag_meanings"].split() == [name.replace(" ", "_") for name in STAGES]
    assert list(variable.attrs["flag_values"]) == list(range(len(STAGES)))
    return variable.values.ravel()


def test_a_resting_crate_needs_only_the_first_stage() -> None:
    log = Simulation(free_body(CRATE, 0.05), Moreau()).run(0.2)
    assert set(stages(log)) == {STAGES.index("standing")}


def test_a_sliding_crate_is_solved_on_the_edges() -> None:
    simulation = Simulation(free_body(CRATE, 0.05), Moreau(mu=0.3))
    simulation.set(u=[1.0, 0.2, 0, 0, 0, 0.5])
    assert set(stages(simulation.run(0.1))) == {STAGES.index("edges")}


def test_other_solvers_and_substeps_report_their_stages() -> None:
    from tarsus.stepping.methods.midpoint import Midpoint
    from tarsus.stepping.substeps import Substeps

    exact = Simulation(free_body(CRATE, 0.05), Moreau(solver="exact")).run(0.1)
    assert set(stages(exact)) == {STAGES.index("refinement")}
    inner = Simulation(free_body(CRATE, 0.05), Moreau(), stepper=Substeps(Midpoint(), 3)).run(0.1)
    assert set(stages(inner)) == {STAGES.index("standing")}


def test_laws_without_stages_report_none() -> None:
    body = free_body(CRATE, 0.05)
    for law in (Compliant(), Moreau(solver="sor")):
        assert "solver_stage" not in Simulation(body, law).run(0.02)
