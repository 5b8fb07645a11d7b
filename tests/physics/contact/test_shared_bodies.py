"""Contacts that share a body are solved through its twist, and agree with the contact form."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from helpers.patched_code import forget_programs
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.algebra.blocks import triples
from tarsus.collision import shared_body
from tarsus.contact.problem import Contact, ContactProblem, SharedBodies, VelocityForm
from tarsus.contact.solvers._cone_edges import BlockSteps, solve_on_edges
from tarsus.contact.solvers._shared_edges import BodySteps
from tarsus.contact.solvers._standing import inverse_diagonals, solve_sticking
from tarsus.contact.solvers.base import HardProblem
from tarsus.dynamics.robot import Robot
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.terrain.slope import Slope
from tarsus.validation import bodies

Array = NDArray[np.float64]
SOLE = np.array([[x, y, -0.04] for x in (0.06, -0.04) for y in (0.03, -0.03)])  # corners, m
LOAD = np.array([0.3, -0.2, 5.0, 0.02, -0.03, 0.001] * 2)  # on two soles, N s and N m s
LEVEL = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("body", "law"),
    [("stool", "moreau"), ("stool", "linearized"), ("stool", "compliant"), ("box", "compliant")],
)
def test_the_edge_form_matches_the_contact_form_for_falling_and_sliding_bodies(
    body, law, monkeypatch
):
    """Corners and round feet, tumbling onto a slope."""
    ends = []
    for fewest in (3, 99):
        monkeypatch.setattr(shared_body, "MIN_CONTACTS", fewest)
        forget_programs(monkeypatch)
        robot = Robot.of(getattr(bodies, body)())
        simulation = Simulation(robot, law, terrain=Slope(0.2), dt=0.001)
        start = np.array(simulation.u)
        start[:6] = [0.3, -0.2, -0.5, 0.4, 0.7, -0.3]
        simulation.set(u=start)
        simulation.advance(0.2)
        ends.append(np.concatenate([simulation.q, simulation.u]))
    np.testing.assert_allclose(*ends, atol=1e-8)


def cross(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def posed(seed: int, load: Array) -> tuple[Array, Array, Array]:
    """Arms (8, 3, 6) of two soles, their mobility (12, 12), and velocities (24,) of rigid motions
    that wrenches (12,) on the soles bring to rest.
    """
    half = np.random.default_rng(seed).normal(size=(12, 12))
    mobility = half @ half.T / 12 + 0.5 * np.eye(12)
    arms = np.array([np.hstack([LEVEL, -LEVEL @ cross(r)]) for r in [*SOLE, *SOLE]])
    motion = (-mobility @ load).reshape(2, 6)
    return arms, mobility, np.concatenate([A @ motion[i // 4] for i, A in enumerate(arms)])


def no_velocity_form() -> VelocityForm:
    raise AssertionError("it is not asked for")


def on_soles(arms: Array, mobility: Array, c: Array, mu: float, tolerance: float = 1e-6):
    """Problem of two soles, and their bodies."""
    active = [ca.SX(1.0)] * 8
    contacts = [Contact(ca.SX(0), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX(LEVEL))] * 8
    W = np.zeros((12, 24))
    for i, A in enumerate(arms):
        W[6 * (i // 4) : 6 * (i // 4) + 6, 3 * i : 3 * i + 3] = A.T
    G = (W.T @ mobility @ W).reshape(8, 3, 8, 3).transpose(0, 2, 1, 3)
    blocks = {(i, j): ca.SX(G[i, j]) for i in range(8) for j in range(8)}
    problem = ContactProblem(contacts, active, [], ca.SX(1e-3), lambda: blocks, no_velocity_form)
    p = SimpleNamespace(T_rel=ca.SX(tolerance), T_abs=ca.SX(tolerance))
    hard = HardProblem(
        problem, [ca.SX(c[3 * i : 3 * i + 3]) for i in range(8)], [ca.SX(mu)] * 8, p, Builder("b")
    )
    M = [[ca.SX(value) for value in row] for row in mobility]
    return hard, SharedBodies([0] * 4 + [1] * 4, [ca.SX(A) for A in arms], M)


def stood(arms: Array, mobility: Array, c: Array, pressing: Array, mu: float):
    """Impulses (8, 3), and whether they are accepted as a solution."""
    hard, shared = on_soles(arms, mobility, c, mu)
    found = solve_sticking(
        hard, shared, inverse_diagonals(shared), [ca.SX(float(value)) for value in pressing]
    )
    impulses = np.array(ca.DM(ca.horzcat(*found.impulses))).T
    return impulses, float(found.converged) > 0


@pytest.mark.parametrize("feet", [(1, 1), (1, 0), (0, 1)])
@pytest.mark.parametrize("seed", range(5))
def test_standing_soles_share_their_load_by_least_norm(seed, feet):
    """Against the weighted pseudo-inverse of the Delassus matrix; a foot in the air rises."""
    arms, mobility, c = posed(seed, LOAD * np.repeat(feet, 6))
    pressing, used = np.repeat(feet, 4), np.repeat(feet, 12) > 0
    c[0::3] += np.where(pressing, 0, 100)
    impulses, good = stood(arms, mobility, c, pressing, 0.8)
    W = np.zeros((12, 24))
    for i, A in enumerate(arms):
        W[6 * (i // 4) : 6 * (i // 4) + 6, 3 * i : 3 * i + 3] = A.T
    G = (W.T @ mobility @ W)[np.ix_(used, used)]
    scale = 1 / np.sqrt(np.diag(G))
    inverse = np.linalg.pinv(scale[:, None] * G * scale, rcond=1e-10)
    np.testing.assert_allclose(
        impulses.ravel()[used], -scale * (inverse @ (scale * c[used])), atol=1e-8
    )
    assert good and not impulses.ravel()[~used].any()


@pytest.mark.parametrize(
    ("load", "mu", "pressing"),
    [
        (LOAD * np.repeat([1, -1], 6), 0.8, np.ones(8)),  # a foot would be held down
        (LOAD + 4 * np.eye(12)[0], 0.1, np.ones(8)),  # it slides
        (LOAD, 0.8, np.array([1, 1, 0, 0, 1, 1, 1, 1])),  # two contacts: no sole
        (LOAD, 0.8, np.array([0, 0, 0, 0, 1, 1, 1, 1])),  # the other foot would sink
    ],
)
def test_unsupported_poses_use_another_solver(load, mu, pressing):
    assert not stood(*posed(5, load), pressing, mu)[1]


# along the ground, and up where a sole tilts: it slides, or lifts some of its corners
PUSHED = [(4.0, 0.0, 0.0), (3.0, 2.0, 0.1), (0.0, -4.0, 0.3), (1.0, 0.0, 0.4)]


def slid(problem: tuple[HardProblem, SharedBodies], by_bodies: bool) -> tuple[Array, Array, bool]:
    """Impulses and velocities (8, 3) by Newton steps on the edges, and whether they converged."""
    hard, shared = problem
    steps = BodySteps.of(hard, shared, inverse_diagonals(shared)) if by_bodies else BlockSteps(hard)
    begin = hard.builder.parameter("begin", 24)
    found = solve_on_edges(hard, steps, triples(begin), 40)
    xi = BlockSteps(hard).velocities(found.impulses)
    program = hard.builder.program(
        L=ca.vertcat(*found.impulses), xi=ca.vertcat(*xi), good=found.converged
    )
    ends = reference.run(program, {"begin": np.zeros((1, 24))})
    L, xi = (np.ravel(ends[name]).reshape(8, 3) for name in ("L", "xi"))
    return L, xi, float(np.ravel(ends["good"])[0]) > 0


@pytest.mark.diagonal
@pytest.mark.parametrize("push", PUSHED)
@pytest.mark.parametrize("seed", range(6))
def test_steps_on_the_edges_through_bodies_solve_what_steps_by_the_delassus_matrix_do(seed, push):
    """The inclusions of Gehring 2014, checked in NumPy; how the bodies move is the same."""
    forward, aside, roll = push
    load = LOAD + np.array([forward, aside, 0, roll, 0, 0.05 * forward] * 2)
    arms, mobility, c = posed(seed, load)
    mu = 0.3
    L, xi, good = slid(on_soles(arms, mobility, c, mu, 1e-9), by_bodies=True)
    assert good
    size = np.linalg.norm(L[:, 1:], axis=1)
    assert (L[:, 0] >= 0).all() and (xi[:, 0] > -1e-7).all()
    np.testing.assert_allclose(L[:, 0] * xi[:, 0], 0, atol=1e-7)
    assert (size <= mu * L[:, 0] + 1e-7).all()
    speed = np.linalg.norm(xi[:, 1:], axis=1)
    fast = (speed > 1e-5) & (L[:, 0] > 1e-5)
    np.testing.assert_allclose(
        L[fast, 1:], -mu * L[fast, :1] * xi[fast, 1:] / speed[fast, None], atol=1e-6
    )
    # both ways end with the same motion of the bodies, whichever corners carry them
    _, other, too = slid(on_soles(arms, mobility, c, mu, 1e-9), by_bodies=False)
    assert too and (fast.any() or (L[:, 0] == 0).any())
    np.testing.assert_allclose(xi, other, atol=1e-6)
