"""The law `lcp_impulse` (Ogunsola) against closed forms and brute force. g = 9.81 m/s^2."""

from __future__ import annotations

from itertools import product

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench, bench, contacts, sole
from helpers.contact_algebra import algebra
from numpy.typing import NDArray

from tarsus.algebra.pivoting import ComplementarityProblem, pivot
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.errors import TarsusError
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import BOX, G, pose
from tarsus.validation.table import validate

Array = NDArray[np.float64]


def by_trying_all_sets(K: Array, c: Array) -> Array:
    """Solution of an LCP with positive definite K, from all 2^n active sets."""
    for chosen in product((False, True), repeat=len(c)):
        on, x = np.array(chosen), np.zeros(len(c))
        x[on] = np.linalg.solve(K[np.ix_(on, on)], -c[on])
        if (x >= 0).all() and (K @ x + c)[~on].min(initial=0) >= -1e-13:
            return x
    raise AssertionError("no solution")


def pivoted(K: Array, c: Array, start: Array) -> tuple[Array, Array, Array]:
    """Solution x, pivots and convergence of many problems."""
    n = c.shape[1]
    b = Builder("pivoting")
    k, v, s = (b.parameter(name, size) for name, size in (("K", n * n), ("c", n), ("start", n)))
    rows = [[k[n * i + j] for j in range(n)] for i in range(n)]
    found = pivot(
        ComplementarityProblem(rows, entries(v), [SX(1)] * n, SX(1e-12), SX(1e-10)), entries(s), b
    )
    program = b.program(x=ca.vertcat(*found.x), pivots=found.iterations, settled=found.converged)
    worlds = Worlds(program, len(c))
    for name, value in (("K", K.reshape(len(c), -1)), ("c", c), ("start", start)):
        worlds.set(name, value)
    worlds.advance()
    return worlds.get("x").copy(), worlds.get("pivots").copy(), worlds.get("settled").copy()


@pytest.mark.parametrize("n", [1, 4, 8])
def test_pivoting_solves_random_problems_exactly(n: int) -> None:
    rng, count = np.random.default_rng(n), 200
    A = rng.normal(size=(count, n, n + 2))
    K = np.einsum("wik,wjk->wij", A, A)
    c = rng.normal(size=(count, n))
    x, pivots, settled = pivoted(K, c, rng.integers(0, 2, (count, n)).astype(float))
    w = np.einsum("wij,wj->wi", K, x) + c
    assert settled.all() and pivots.max() <= 3 * n + 8
    assert (x >= 0).all()
    assert w.min() > -1e-12
    assert np.abs(x * w).max() < 1e-12
    for k in range(0, count, 4 if n < 8 else 20):
        np.testing.assert_allclose(x[k], by_trying_all_sets(K[k], c[k]), rtol=1e-8, atol=1e-10)


def test_pivoting_terminates_on_a_cycling_problem() -> None:
    """A symmetric positive definite problem, found by search, on which exchanging all wrong
    signs cycles.
    """
    K = np.array([[10, -3, 17, 8], [-3, 7, -7, -1], [17, -7, 31, 9], [8, -1, 9, 28]], float)
    c = np.array([-1.0, 4.0, -4.0, -3.0])
    on, seen = np.zeros(4, bool), []
    while on.tobytes() not in seen:
        seen.append(on.tobytes())
        x = np.zeros(4)
        x[on] = np.linalg.solve(K[np.ix_(on, on)], -c[on])
        wrong = np.where(on, x < 0, K @ x + c < 0)
        assert wrong.any()
        on = on ^ wrong
    starts = np.array(list(product((0.0, 1.0), repeat=4)))
    x, pivots, settled = pivoted(np.tile(K, (16, 1, 1)), np.tile(c, (16, 1)), starts)
    assert settled.all() and pivots.max() > len(seen)
    np.testing.assert_allclose(x, np.tile(by_trying_all_sets(K, c), (16, 1)), atol=1e-12)


def test_pivoting_shares_redundant_loads() -> None:
    """Four corners of a plate, K of rank 3: complementary to round-off, and evenly shared."""
    r = np.array([[1, x, y] for x in (1, -1) for y in (1, -1)], float)
    K = (r @ np.diag([0.5, 0.7, 0.9]) @ r.T)[None]
    x, _, settled = pivoted(K, -r[None] @ np.array([1.0, 0.1, -0.2]), np.ones((1, 4)))
    assert settled.all() and x.min() > 0
    assert np.abs(K[0] @ x[0] - r @ [1.0, 0.1, -0.2]).max() < 1e-12
    tight, _, settled = pivoted(K, -r[None] @ np.array([1.0, 1.6, 2.2]), np.ones((1, 4)))
    w = K[0] @ tight[0] - r @ [1.0, 1.6, 2.2]
    assert settled.all() and w.min() > -1e-12 and np.abs(w * tight).max() < 1e-12


def test_a_slow_contact_gains_no_restitution() -> None:
    v_0, dt = 0.2, 1e-4
    starts = np.zeros((2, 6))
    starts[:, 2] = [-0.15, -0.25]
    log = bench("point", LcpImpulse()).run(
        50, dt, q=pose([0, 0, 1e-6]), u=starts, law_e_N=[0.5], law_v_0=[v_0]
    )
    np.testing.assert_allclose(log["u"][5, :, 2], [0.0, 0.125], atol=10 * G * dt)
    assert log["u"][5, 0, 2] == 0


def test_a_dropped_box_comes_to_rest_on_the_ground() -> None:
    mass, dt = 2.0, 0.005
    q = np.stack([pose([0, 0, BOX[2] + 0.01]), pose([0, 0, 0.12], 0.3, [0.6, 0.8, 0.0])])
    log = bench("sole", LcpImpulse()).run(
        400, dt, q=q, law_mu=[0.5], law_T_rel=[1e-9], law_T_abs=[1e-11]
    )
    assert np.abs(log["u"][-1]).max() < 1e-9
    L = contacts(log)[-1]
    np.testing.assert_allclose(L[..., 0].sum(1) / dt, mass * G, rtol=1e-8)
    assert (L[..., 0] >= 0).all()


@pytest.mark.parametrize("stage", ["acceleration", "impulse"])
def test_the_law_without_friction_is_the_paper_s_problem_to_round_off(stage: str) -> None:
    """At rest, Eqn. (3): a = M lambda + d. Without forces, Eqn. (4): zeta+ >= -e zeta- on what
    approaches.
    """
    n, count, dt, e = 4, 60, 0.002, 0.4
    rng = np.random.default_rng(4)
    A = rng.normal(size=(count, 3 * n, 18))
    delassus = np.einsum("wik,wjk->wij", A, A) / 18
    velocity = rng.normal(size=(count, 3 * n)) * (1.0 if stage == "impulse" else dt * 9.81)
    before = velocity if stage == "impulse" else 0 * velocity
    gap = np.where(rng.uniform(size=(count, n)) < 0.2, 1e-3, -1e-3)
    worlds = Worlds(algebra(LcpImpulse(), n), count)
    values = {"G": delassus.reshape(count, -1), "free": velocity, "before": before, "gap": gap}
    parameters = {
        f"law.{name}": np.full((count, 1), v) for name, v in LcpImpulse(e_N=e).parameters().items()
    }
    for name, value in (values | parameters | {"dt": np.full((count, 1), dt)}).items():
        worlds.set(name, value)
    worlds.advance()
    L = worlds.get("impulse").reshape(count, n, 3)
    assert (
        (worlds.get("converged") > 0).all() and (L[..., 1:] == 0).all() and (L[gap > 0] == 0).all()
    )
    M, closed = delassus[:, ::3, ::3], gap <= 0
    approach = before[:, ::3]
    c = velocity[:, ::3] + np.where(approach < -1e-2, e * approach, 0)
    w = np.einsum("wij,wj->wi", M, L[..., 0]) + c
    assert (L[..., 0] >= 0).all() and w[closed].min() > -1e-12
    assert np.abs(L[..., 0] * w)[closed].max() < 1e-12
    for k in range(count):
        on = closed[k]
        expected = by_trying_all_sets(M[k][np.ix_(on, on)], c[k][on])
        np.testing.assert_allclose(L[k, on, 0], expected, rtol=1e-9, atol=1e-11)


def test_friction_sticks_below_its_angle_and_slides_above() -> None:
    angle, dt, steps = 0.3, 0.005, 200
    mu = np.array([0.0, 0.1, 0.25, 0.35, 0.8])
    q = pose([0, 0, 0], -angle)
    q[:3] = (BOX[2] - 1e-9) * np.array([-np.sin(angle), 0, np.cos(angle)])
    log = Bench(sole(), LcpImpulse(), Slope(angle)).run(
        steps, dt, q=q, law_mu=mu, law_T_rel=[1e-9], law_T_abs=[1e-11]
    )
    down = -np.array([np.cos(angle), 0, np.sin(angle)])
    expected = np.maximum(G * (np.sin(angle) - mu * np.cos(angle)), 0) * dt * steps
    np.testing.assert_allclose(log["u"][-1, :, :3] @ down, expected, rtol=0, atol=1e-6)
    assert np.abs(log["u"][-1, 3:]).max() < 1e-9


def test_a_negative_threshold_is_rejected() -> None:
    with pytest.raises(TarsusError, match="v_0"):
        LcpImpulse(v_0=-1.0)


def test_default_tolerance_prevents_creep() -> None:
    """When the friction sweeps end, a block is left with a speed of about T_abs G_NN, which is
    1.7e-6 m/s for T_abs = 1e-6.
    """
    rows = validate("lcp_impulse", "creep", "midpoint")
    assert [row.status for row in rows] == ["pass"]
