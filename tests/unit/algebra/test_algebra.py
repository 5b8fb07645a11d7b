"""The shared algebra against NumPy: factorization, blocks, projections, quaternions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.algebra import blocks, projections
from tarsus.algebra.ldl import factorize, factorize_dense, factorize_tree, lower_triangle
from tarsus.algebra.products import dot, multiply
from tarsus.algebra.projections import ConePoint
from tarsus.dynamics import constraint_solve
from tarsus.spatial import quaternion

Array = NDArray[np.float64]
TREE = (-1, 0, 0, 2, 2, 4)  # parent of each unknown


def number(x: SX) -> Array:
    return np.array(ca.DM(ca.densify(x))).squeeze()


def definite(size: int, seed: int) -> Array:
    A = np.random.default_rng(seed).normal(size=(size, size))
    return A @ A.T + np.eye(size)


def of_a_tree(seed: int) -> Array:
    """A matrix with entries between an unknown and its ancestors alone."""
    size = len(TREE)
    pattern = np.eye(size, dtype=bool)
    for k in range(size):
        i = TREE[k]
        while i >= 0:
            pattern[k, i] = pattern[i, k] = True
            i = TREE[i]
    return np.where(pattern, definite(size, seed), 0) + size * np.eye(size)


# ---------------------------------------------------------------- factorization


@pytest.mark.parametrize("seed", range(4))
def test_every_order_of_elimination_solves_the_system(seed: int) -> None:
    size, rng = 6, np.random.default_rng(seed)
    M, b = definite(size, seed), rng.normal(size=size)
    order = [int(k) for k in rng.permutation(size)]
    factor = factorize(lower_triangle(SX(M)), order)
    found = number(ca.vertcat(*factor.solve([SX(value) for value in b])))
    np.testing.assert_allclose(found, np.linalg.solve(M, b), rtol=1e-10)


def test_a_dense_factor_matches_the_textbook_form() -> None:
    M = definite(5, 0)
    factor = factorize_dense([[SX(value) for value in row] for row in M])
    L, D = np.eye(5), np.diag([1 / float(p) for p in factor.inverse_pivots])
    for (k, i), value in factor.L.items():
        L[i, k] = float(value)
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ D @ L.T, M, rtol=1e-12)


def test_a_tree_has_no_fill_in_from_the_last_unknown() -> None:
    M = SX.sym("M", len(TREE), len(TREE))
    kept = of_a_tree(0) != 0
    H = {place: M[place] for place in zip(*np.nonzero(np.tril(kept)), strict=True)}
    H = {(int(k), int(i)): value for (k, i), value in H.items()}
    factor = factorize_tree(H, len(TREE))
    assert set(factor.L) == {(k, i) for k, i in H if k != i}
    assert len(factorize(H, range(len(TREE))).L) > len(factor.L)


def test_the_halves_of_a_solution_keep_zeros_structural() -> None:
    factor = factorize_tree(
        lower_triangle(SX(ca.DM(of_a_tree(1)).sparsity(), ca.DM(of_a_tree(1)).nz[:])), 6
    )
    half = factor.backward([SX(0), SX(1), SX(0), SX(0), SX(0), SX(0)])
    assert [k for k, value in enumerate(half) if not value.is_zero()] == [0, 1]


# ---------------------------------------------------------------- products and blocks


def test_products_skip_structural_zeros() -> None:
    x = SX.sym("x", 3)
    a, b = [x[0], SX(0), x[1]], [SX(0), x[2], x[2]]
    assert ca.is_equal(dot(a, b), x[1] * x[2], 1)
    assert dot([], []).is_zero() and float(dot([], [], SX(2))) == 2
    K = definite(3, 2)
    found = multiply([[SX(value) for value in row] for row in K], [SX(1), SX(2), SX(3)])
    np.testing.assert_allclose(number(ca.vertcat(*found)), K @ [1, 2, 3], rtol=1e-14)


def test_blocks_of_three_round_trip() -> None:
    n = 3
    G = np.random.default_rng(0).normal(size=(3 * n, 3 * n))
    made = {(i, j): SX(G[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]) for i in range(n) for j in range(n)}
    rows = blocks.flatten_blocks(made, n)
    assert np.array_equal([[float(value) for value in row] for row in rows], G)
    triangle = blocks.lower_triangle(made, n)
    assert [len(row) for row in triangle] == list(range(1, 3 * n + 1))
    assert all(
        float(value) == G[i, j] for i, row in enumerate(triangle) for j, value in enumerate(row)
    )
    assert np.array_equal(number(blocks.block(rows, 2, 1)), G[6:9, 3:6])
    x = SX.sym("x", 3 * n)
    assert ca.is_equal(ca.vertcat(*blocks.triples(x)), x, 2)
    assert ca.is_equal(ca.vertcat(*blocks.flatten(blocks.triples(x))), x, 2)
    assert ca.is_equal(ca.vertcat(*blocks.list_triples(blocks.flatten([x]))), x, 2)


# ---------------------------------------------------------------- projections


def points() -> Array:
    """Points inside, outside and in the polar of wide and narrow cones."""
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(size=(60, 3)) * [1, s, s] for s in (1.0, 0.03)])


@pytest.mark.parametrize("mu", [0.1, 0.8])
def test_the_projection_is_the_closest_point_of_the_cone(mu: float) -> None:
    """Moreau's decomposition: p in the cone, x - p in its polar cone, both orthogonal."""
    kinds = set()
    for x in points():
        point = ConePoint.of(SX(x), mu)
        p = number(point.project())
        rest = x - p
        assert np.hypot(*p[1:]) <= mu * p[0] + 1e-14
        assert mu * np.hypot(*rest[1:]) <= -rest[0] + 1e-14 or np.allclose(rest, 0, atol=1e-15)
        assert abs(p @ rest) < 1e-14
        kinds.add((bool(p.any()), bool(rest.any())))
        np.testing.assert_allclose(number(point.project_by_direction()), p, atol=1e-14)
        assert float(point.squared_length()) == pytest.approx(p @ p, abs=1e-14)
    assert kinds == {(True, False), (True, True), (False, True)}


@pytest.mark.parametrize("mu", [0.1, 0.8])
def test_the_projection_s_derivative_and_its_factor(mu: float) -> None:
    x = SX.sym("x", 3)
    point = ConePoint.of(x, mu)
    B = point.derivative_factor()
    by_hand = ca.Function("d", [x], [point.derivative(), ca.mtimes(B, B.T)])
    value = ca.Function("p", [x], [point.project()])
    for at in points():
        slope = [
            (np.array(value(at + step)) - np.array(value(at - step))).squeeze() / 2e-6
            for step in 1e-6 * np.eye(3)
        ]
        for found in by_hand(at):
            np.testing.assert_allclose(np.array(found), np.transpose(slope), atol=1e-6)


def test_projections_at_the_apex_are_finite() -> None:
    """Without friction (mu = 0) a pull straight away from the ground lay in the cone."""
    for mu in (0.0, 0.1, 0.5):
        for x in (np.zeros(3), np.array([-1.0, 0, 0]), np.array([1.0, 0, 0])):
            point = ConePoint.of(SX(x), mu)
            expected = np.maximum(x, 0)
            assert np.array_equal(number(point.project_by_direction()), expected)
            assert np.isfinite(number(point.derivative_factor())).all()
            rounded = ConePoint.of(SX(x), mu, rounding=1e-12)
            np.testing.assert_allclose(number(rounded.project()), expected, atol=2e-6)


def test_radial_return_keeps_the_normal_and_the_direction() -> None:
    x = SX([2.0, 3.0, -4.0])
    np.testing.assert_allclose(number(projections.radial_return(x, SX(0.5))), [2, 0.6, -0.8])
    inside = number(projections.radial_return(x, SX(5.0)))
    assert np.array_equal(inside, [2, 3, -4])
    on_edge = number(projections.radial_return(x, SX(5.0), SX(1)))
    np.testing.assert_allclose(on_edge, [2, 6, -8])
    assert np.array_equal(number(projections.radial_return(-x, SX(5.0))), np.zeros(3))


# ---------------------------------------------------------------- quaternions


def test_quaternion_products_compose_rotations() -> None:
    rng = np.random.default_rng(3)
    a, b = (Rotation.random(8, rng=rng) for _ in range(2))
    first, second = (r.as_quat(scalar_first=True) for r in (a, b))
    product = quaternion.numeric_product(first, second)
    expected = (a * b).as_matrix()
    np.testing.assert_allclose(
        Rotation.from_quat(product, scalar_first=True).as_matrix(), expected, atol=1e-14
    )
    for p, q, wanted in zip(first, second, product, strict=True):
        np.testing.assert_allclose(number(quaternion.product(SX(p), SX(q))), wanted, atol=1e-15)
        unit = number(quaternion.product(quaternion.conjugate(SX(p)), SX(p)))
        np.testing.assert_allclose(unit, [1, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_nearly_redundant_constraints_cause_no_motion(seed: int) -> None:
    """Hinges of a planar loop are parallel to the digits of a file, and its closing asks for what
    they cannot do: a hip's yaw of Cassie went astray by 0.0016 rad in 0.2 s, by more with a smaller
    step.
    """
    rng = np.random.default_rng(seed)
    W, nearly, asked = rng.normal(size=(4, 9)), 1e-7 * rng.normal(size=9), 1e-7
    turned = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    rows, u = turned @ np.vstack([W, nearly]), rng.normal(size=9)
    driven = turned @ np.append(W @ u, asked)
    G = [[SX(float(value)) for value in row] for row in rows @ rows.T]
    constraints = constraint_solve.Constraints([], G, constraint_solve.factorize(G), [])
    solved = constraints.impulses([SX(float(d)) for d in driven])
    moved = rows.T @ number(ca.vertcat(*solved))
    assert np.abs(moved + np.linalg.pinv(W) @ W @ u).max() < 1e-4
