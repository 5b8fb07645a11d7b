"""Contacts, joint limits and dry joint friction in one problem, as pure algebra."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import symbols
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.problem import Contact, ContactProblem, JointRows, VelocityForm
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder

Array = NDArray[np.float64]
CONTACTS, JOINTS, MU = 3, 4, 0.8
NEAR = 1e-6  # N s, N m s, m/s, rad/s: the law's tolerance
STOPS = [(None, 0.0), (-0.3, 0.2), (0.0, None), (None, None)]  # of the joints: lower, upper
FRICTION = [0.0, 0.1, 0.05, 0.3]


def solved(G: Array, free: Array) -> tuple[Array, Array, bool]:
    """Impulses of contacts (3, 3) and joints (4,), and whether they are called a solution, with the
    Delassus matrix G (13, 13) and velocities `free` (13,) of all rows.
    """
    law, b, n = Moreau(), Builder("rows"), 3 * CONTACTS
    p = {name: b.parameter(f"law.{name}") for name in law.parameters()}
    whole, start = ca.reshape(b.parameter("G", G.size), *G.shape), b.parameter("free", len(G))
    at = [slice(3 * i, 3 * i + 3) for i in range(CONTACTS)]
    own = range(n, n + JOINTS)
    lower, upper = (
        [None if end is None else SX(end) for end in ends] for ends in zip(*STOPS, strict=True)
    )
    rows = JointRows(
        [start[k] for k in own],
        [[whole[k, j] for j in range(n)] for k in own],
        [[whole[k, j] for j in own] for k in own],
        lower,
        upper,
        [SX(f) for f in FRICTION],
    )
    nothing = VelocityForm(SX(0, 1), SX(0, n), SX(0, n))
    problem = ContactProblem(
        [Contact(SX(-1e-9), SX.zeros(3), SX.zeros(3), SX.eye(3)) for _ in at],
        [SX(1)] * CONTACTS,
        [start[a] for a in at],
        b.parameter("dt"),
        lambda: {(i, j): whole[at[i], at[j]] for i in range(CONTACTS) for j in range(CONTACTS)},
        lambda: nothing,
        joints=rows,
    )
    found = law.solve(problem, symbols(p), SX.zeros(law.memory_size(CONTACTS)), b)
    assert found.joints is not None
    program = b.program(L=found.stack(), p=found.joints, converged=found.converged)
    given = {f"law.{name}": value for name, value in law.parameters().items()}
    got = reference.run(program, given | {"G": G.T.ravel(), "free": free, "dt": 0.0025})
    return got["L"].reshape(CONTACTS, 3), got["p"][0], bool(got["converged"][0, 0])


@pytest.mark.parametrize("seed", range(6))
def test_all_conditions_hold_at_once(seed: int) -> None:
    """Signorini's and Coulomb's of contacts; stops only push, and only where the rate is at one;
    friction brakes with f, or holds with no more. All rows are driven into each other.
    """
    rng, size = np.random.default_rng(seed), 3 * CONTACTS + JOINTS
    rows = np.eye(size, size + 2) + 0.2 * rng.normal(size=(size, size + 2))  # their directions
    G, free = rows @ rows.T, rows @ rng.normal(size=size + 2)
    L, p, converged = solved(G, free)
    assert converged
    v = G @ np.concatenate([L.ravel(), p]) + free
    # contacts
    xi = v[: 3 * CONTACTS].reshape(CONTACTS, 3)
    slip, pull = np.linalg.norm(xi[:, 1:], axis=1), np.linalg.norm(L[:, 1:], axis=1)
    np.testing.assert_allclose(np.minimum(L[:, 0], xi[:, 0]), 0, atol=NEAR)
    assert (pull <= MU * L[:, 0] + NEAR).all()
    work = np.sum(L[:, 1:] * xi[:, 1:], axis=1)
    np.testing.assert_allclose(work, -MU * L[:, 0] * slip, atol=NEAR)
    # joints: what friction is, and what is left to the stops
    for rate, impulse, most, (lower, upper) in zip(v[-JOINTS:], p, FRICTION, STOPS, strict=True):
        rubbed = np.clip(impulse, -most, most)
        if abs(rate) > NEAR:
            assert rubbed == pytest.approx(-most * np.sign(rate), abs=NEAR)
        below, above = (np.inf if end is None else abs(rate - end) for end in (lower, upper))
        stop = impulse - rubbed
        assert stop <= NEAR or below < NEAR, "a stop pushes up from its lower end alone"
        assert stop >= -NEAR or above < NEAR
        assert (lower is None or rate > lower - NEAR) and (upper is None or rate < upper + NEAR)
