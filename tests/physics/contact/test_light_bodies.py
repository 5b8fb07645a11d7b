"""Bodies of milligrams slide as closed forms say: the solver's tolerance follows their weight."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.free_body import free_body

from tarsus import Simulation
from tarsus.contact.laws.moreau import Moreau

MU, G, SPEED, DT = 0.5, 9.81, 0.1, 2e-4
HALF = 1e-3  # m: a block of 2 mm, 8 mg


@pytest.mark.parametrize("solver", ["auto", "exact", "sor"])
def test_a_block_of_milligrams_slides_by_v_squared_over_two_mu_g(solver: str) -> None:
    block = free_body(f"type='box' size='{HALF} {HALF} {HALF / 4}'", HALF / 4)
    made = Simulation(block, Moreau(mu=MU, solver=solver), dt=DT)
    assert "tolerance-lowered" in {notice.code for notice in made.notices}
    made.set(u=[SPEED, 0, 0, 0, 0, 0])
    log = made.run(0.05)
    slid = log.q.values[-1, 0]
    assert slid == pytest.approx(SPEED**2 / (2 * MU * G), rel=0.02)
    assert np.abs(log.u.values[-1]).max() < 1e-4 * SPEED


def test_a_tolerance_that_was_set_is_kept_with_a_warning() -> None:
    block = free_body(f"type='box' size='{HALF} {HALF} {HALF}'", HALF)
    notices = Simulation(block, Moreau(T_abs=1e-5), dt=DT).notices
    assert [n.subject for n in notices if n.code == "tolerance-above-weight"] == ["T_abs"]
    heavy = Simulation(free_body("type='box' size='.1 .1 .1'", 0.1), Moreau(), dt=DT).notices
    assert not [n for n in heavy if n.code.startswith("tolerance")]
