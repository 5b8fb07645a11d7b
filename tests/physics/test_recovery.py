"""A hard contact may take back a part of its penetration each step."""

from __future__ import annotations

import numpy as np
import pytest

import tarsus
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

RADIUS = 0.1


def ball_in_a_bowl(recovery: float) -> float:
    """The deepest penetration (m) of a ball that rocks in a bowl for ten seconds."""
    body = Body("ball", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 4e-3 * np.eye(3)))
    ball = Mechanism("ball", (body,), (Candidate("ball", 0, np.zeros(3), RADIUS),))
    bowl = tarsus.Surface(height=lambda x, y: 0.5 * (x * x + y * y))
    sim = tarsus.Simulation(ball, law=tarsus.Moreau(mu=0.5, recovery=recovery), terrain=bowl)
    q = sim.q
    q[0], q[2] = 0.5, 0.125 + 1.15 * RADIUS
    sim.set(q=q)
    return -float(sim.run(10.0)["gap"].min())


def test_recovery_keeps_a_rocking_ball_from_sinking() -> None:
    sunk = ball_in_a_bowl(0.0)
    assert sunk > 0.01  # the velocity-level law alone drifts in curved ground
    assert ball_in_a_bowl(0.05) < 0.1 * sunk + 1e-3


def test_recovery_of_a_resting_block_is_exponential() -> None:
    body = Body("block", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 1e-2 * np.eye(3)))
    point = Mechanism("block", (body,), (Candidate("foot", 0, np.zeros(3), 0.0),))
    sim = tarsus.Simulation(point, law=tarsus.Moreau(recovery=0.1))
    sim.set(q=np.array([0, 0, -1e-3, 1, 0, 0, 0.0]))
    gap = sim.run(0.25)["gap"].values[:, 0]
    # the midpoint looks half a step ahead: g' = g + dt v with v = -0.1 g / dt over each whole step
    assert gap[-1] == pytest.approx(gap[0] * 0.9 ** (len(gap) - 1), rel=0.15)
    assert (np.diff(gap) >= 0).all() and (gap <= 0).all()
