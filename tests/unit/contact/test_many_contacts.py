"""More than twelve contacts: lying robots, and compliant contacts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.contact_algebra import problems, solved
from numpy.typing import NDArray

from tarsus.algebra.ldl import factorize_tree, lower_triangle
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.constraint_solve import Constraints, delassus, factorize
from tarsus.program.ir import reference
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.stepping.coupling import Attachment, Coupling, couple
from tarsus.stepping.regularized_solve import regularized_solver

Array = NDArray[np.float64]
NU, N = 7, 3
GIVE = 0.5  # of its own mobility: what the last constraint gives


def coupled(M: SX, W: SX, J: SX, builder: Builder) -> Coupling:
    """Contacts with directions W (3n, nu), and constraints J (m, nu), the last of which is
    compliant.
    """
    factor, constraints = factorize_tree(lower_triangle(M), NU), None
    if J.shape[0]:
        half = [factor.backward(ca.horzsplit(row)) for row in ca.vertsplit(J)]
        G, closing = delassus(factor, half, half), len(half) - 1
        G[-1][-1] = G[-1][-1] * (1 + GIVE)
        zero = [SX(0)] * len(half)
        constraints = Constraints(half, G, factorize(G, closing), zero, closing)
    robot = Coupling(factor, SX.zeros(NU), [], [], constraints, [])
    contacts = [Attachment.from_rows(W[3 * i : 3 * i + 3, :]) for i in range(N)]
    return couple(robot, contacts, builder)


@pytest.mark.parametrize("cold", [False, True], ids=["written out", "in loops"])
@pytest.mark.parametrize("count", [0, 1, 3], ids=lambda count: f"{count} constraints")
def test_compliant_contacts_are_solved_in_joint_space(count: int, cold: bool) -> None:
    """(G + B^-1) z = r with G = W (M^-1 - M^-1 J^T (J M^-1 J^T + D)^-1 J M^-1) W^T."""
    rng = np.random.default_rng(count)
    A, W, J = (rng.normal(size=(rows, NU)) for rows in (NU, 3 * N, count))
    M, B, r = A @ A.T + np.eye(NU), np.zeros((3 * N, 3 * N)), rng.normal(size=3 * N)
    for i in range(N - 1):  # the last one is open: it bears nothing
        at = slice(3 * i, 3 * i + 3)
        B[at, at] = 10.0 ** (2 * i) * (np.eye(3) + 0.3 * rng.normal(size=(3, 3)))
    G = W @ np.linalg.solve(M, W.T)
    if count:
        felt, between = W @ np.linalg.solve(M, J.T), J @ np.linalg.solve(M, J.T)
        between[-1, -1] *= 1 + GIVE
        G -= felt @ np.linalg.solve(between, felt.T)
    expected = B @ np.linalg.solve(np.eye(3 * N) + G @ B, r)

    b = Builder("softened")
    given = {"M": M, "W": W, "J": J, "r": r}
    symbols = {
        name: ca.reshape(b.parameter(name, value.size), value.T.shape[0], -1).T
        for name, value in given.items()
        if value.size
    }
    symbols.setdefault("J", SX(0, NU))
    b.declare("z", 3 * N)

    def body(_: Values) -> tuple[Values, SX]:
        coupling = coupled(symbols["M"], symbols["W"], symbols["J"], b)
        give = [SX(B[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]) for i in range(N)]
        found = regularized_solver(coupling, b, give)(ca.vertsplit(ca.vec(symbols["r"]), 3))
        return {"z": ca.vertcat(*found)}, SX(0)

    start = {"z": SX.zeros(3 * N)}
    z = (b.cold_loop if cold else b.loop)(start, body, 1, SX(1))["z"]
    values = {name: value.reshape(1, -1) for name, value in given.items() if value.size}
    found = reference.run(b.program(z=z), values)["z"][0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8])
def test_lying_robots_are_solved_in_edge_form(mu: float) -> None:
    """Sixteen contacts on bodies of eighteen degrees of freedom, from no impulse at all."""
    G, free = problems(3, 200, 16, 18)
    L, converged = solved(Moreau(mu=mu, recovery=0.0), G, free, 0 * free, lying=True)
    assert converged.mean() > 0.95  # by sweeps 144 of 200 at mu = 0.8
    xi = free.reshape(L.shape) + np.einsum("wij,wj->wi", G, L.reshape(free.shape)).reshape(L.shape)
    size = np.abs(free).max(1)[:, None]
    for world in (L[converged], xi[converged]):
        assert np.isfinite(world).all()
    L, xi, size = L[converged], xi[converged], size[converged]
    sideways = np.linalg.norm(L[..., 1:], axis=-1)
    assert (L[..., 0] >= 0).all() and (xi[..., 0] > -1e-4 * size).all()
    assert (sideways <= mu * L[..., 0] * (1 + 1e-6) + 1e-9).all()
    assert (np.abs(L[..., 0] * xi[..., 0]) < 1e-4 * size * (1 + L[..., 0])).all()
    # who slides is braked by all friction there is, against the way it slides
    slip = np.linalg.norm(xi[..., 1:], axis=-1)
    power = (L[..., 1:] * xi[..., 1:]).sum(-1)
    assert (power + mu * L[..., 0] * slip < 1e-4 * size * (1 + L[..., 0])).all()
