"""Rigid floor and membrane of Sugihara 2006 against SciPy, closed forms and each other; g =
9.81 m/s^2.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers.bench import Bench, bench, contacts
from helpers.contact_algebra import problems, solved
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from tarsus.contact.base import Law
from tarsus.contact.laws.macro import Macro
from tarsus.contact.laws.micro import Micro
from tarsus.contact.laws.micro_macro import MicroMacro
from tarsus.errors import TarsusError
from tarsus.parameters import declared_fields
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import BOX, G, point_mass, pose, rod
from tarsus.validation.table import validate

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
Array = NDArray[np.float64]
K = 5512.0  # N/m, the paper's membrane


def subsets(n: int) -> list[tuple[int, ...]]:
    """All subsets of n items."""
    return [chosen for size in range(n + 1) for chosen in combinations(range(n), size)]


def minimum(A: Array, c: Array, damping: float, counted: NDArray[np.int64]) -> Array:
    """Solution of Eqn. (33) by SciPy: |A f + c|^2 + damping |f|^2 with f >= 0 for the contacts
    `counted`; the others are zero.
    """
    stacked = np.vstack([A[np.ix_(counted, counted)], np.sqrt(damping) * np.eye(len(counted))])
    right, found = np.concatenate([-c[counted], np.zeros(len(counted))]), np.zeros(len(c))
    if len(counted):
        found[counted] = lsq_linear(stacked, right, (0, np.inf), tol=1e-14).x
    return found


# ---------------------------------------------------------------- macro


@pytest.mark.parametrize("damping", [1e-3, 0.3])
@pytest.mark.parametrize("rank", [3, 14])
def test_the_quadratic_program_is_solved_exactly(damping: float, rank: int) -> None:
    """Eqn. (33) without friction against SciPy, for contacts that press and some of the others,
    with K singular for rank 3.

    Contacts that do not press separate, or would only add to the error.
    """
    n, count = 4, 40
    delassus, free = problems(rank, count, n, rank)
    L, good = solved(Macro(mu=0.0, damping=damping), delassus, free, 0 * free)
    assert good.all() and (L[..., 1:] == 0).all() and (L[..., 0] > 0).any(1).mean() > 0.5
    for A, c, x in zip(delassus[:, ::3, ::3], free[:, ::3], L[..., 0], strict=True):
        pressing, idle = np.flatnonzero(x > 0), np.flatnonzero(x == 0)
        sets = [np.union1d(pressing, idle[list(kept)]) for kept in subsets(len(idle))]
        found = [minimum(A, c, damping, counted) for counted in sets]
        assert min(np.abs(x - each).max() / max(1, np.abs(each).max()) for each in found) < 1e-6
        residual = A @ x + c
        leaves = residual > -11 * damping * x.max() / np.diag(A) - 1e-9
        adds = A @ np.where(leaves & (x == 0), 0, residual) >= -1e-9
        assert (leaves | adds)[idle].all()


@pytest.mark.parametrize("rank", [9, 14])
def test_sticking_contacts_have_the_impulse_of_least_error_and_norm(rank: int) -> None:
    """f = -(G^2 + lambda)^-1 G c if all contacts press and none slips."""
    n, damping = 3, 1e-3
    delassus, free = problems(rank, 200, n, rank)
    delassus, free = delassus + np.eye(3 * n), free - 5 * (np.arange(3 * n) % 3 == 0)
    L, good = solved(Macro(mu=100.0, damping=damping), delassus, free, 0 * free)
    expected = -np.linalg.solve(
        delassus @ delassus + damping * np.eye(3 * n),
        np.einsum("wij,wj->wi", delassus, free)[..., None],
    ).reshape(L.shape)
    pushes = expected[..., 0] > 0.02 * np.linalg.norm(expected[..., 1:], axis=-1)
    assert pushes.all(1).mean() > 0.2 and good[pushes.all(1)].all()
    np.testing.assert_allclose(L[pushes.all(1)], expected[pushes.all(1)], rtol=0, atol=1e-8)


@pytest.mark.parametrize("ratio", [0.4, 1.0])
@pytest.mark.parametrize("e_N", [0.0, 0.8])
def test_no_impulse_does_work_on_the_robot_however_high_friction_is(
    ratio: float, e_N: float
) -> None:
    """L . free + L . G L / 2 <= 0 in problems that jam as in those that do not, and all of them
    stay in their cone.
    """
    mu, speed = 2.5, 3.0
    delassus, free = problems(7, 400, 3, 7)
    L, good = solved(Macro(mu=mu, mu_K=ratio * mu, e_N=e_N), delassus, speed * free, speed * free)
    flat = L.reshape(len(L), -1)
    square = np.einsum("wi,wij,wj->w", flat, delassus, flat)
    work = np.einsum("wi,wi->w", flat, speed * free) + 0.5 * square
    assert 0.5 < good.mean() < 1, "the test wants problems of both kinds"
    assert (work <= 1e-9 * square + 1e-15).all()
    assert (L[..., 0] >= 0).all()
    assert (np.linalg.norm(L[..., 1:], axis=-1) <= mu * L[..., 0] * (1 + 1e-12) + 1e-15).all()


@pytest.mark.parametrize("mu", [0.8, 2.0])
def test_a_fast_spinning_box_comes_to_rest(mu: float) -> None:
    """With the paper's single modification of friction it gained energy, and once diverged."""
    rng, count = np.random.default_rng(0), 48
    turned = rng.normal(size=(count, 4))
    q = np.hstack(
        [np.tile([0, 0, 0.15], (count, 1)), turned / np.linalg.norm(turned, axis=1, keepdims=True)]
    )
    u = rng.normal(size=(count, 6)) * np.repeat([2.0, 10.0], 3)
    log = bench("box", Macro()).run(1500, 0.002, q=q, u=u, law_mu=[mu])
    assert (log["q"][-1, :, 2] < 0.11).all() and (log["q"][..., 2] > 0.03).all()
    assert np.abs(log["u"][-1]).max() < 0.5
    assert log["converged"].mean() > 0.999


def test_a_macro_point_stops_by_kinetic_friction_and_holds_by_static() -> None:
    mu, ratio, dt, speed = 0.5, 0.4, 1e-3, 1.0
    law = Macro(mu=mu, mu_K=ratio * mu)
    log = bench("point", law).run(700, dt, q=pose([0, 0, -1e-9]), u=[speed, 0, 0, 0, 0, 0])
    assert log["q"][-1, 0, 0] == pytest.approx(
        speed**2 / (2 * mu * ratio * G), abs=0.03 * dt + 3e-4
    )
    assert np.abs(log["u"][-1]).max() < 1e-9
    angle = np.arctan([0.4, 0.55])
    q = np.array([pose([1e-9 * np.sin(a), 0, -1e-9 * np.cos(a)]) for a in angle])
    log = Bench(point_mass(), Macro(mu=mu, mu_K=ratio * mu), Slope(angle)).run(200, 1e-3, q=q)
    down = -(log["u"][-1, :, 0] * np.cos(angle) + log["u"][-1, :, 2] * np.sin(angle))
    assert abs(down[0]) < 1e-9
    assert down[1] == pytest.approx(
        0.2 * G * (np.sin(angle[1]) - mu * ratio * np.cos(angle[1])), rel=2e-2
    )


def test_friction_does_not_reverse_slip() -> None:
    """A point at 5 mm/s above v_0, where friction could change the velocity by 8 mm/s in a
    step, stops with the impulse that takes.
    """
    dt, slip = 1e-3, 0.005
    u = [slip, 0, 0, 0, 0, 0]
    log = bench("point", Macro()).run(
        2, dt, q=pose([0, 0, -1e-9]), u=u, law_mu=[0.8], law_v_0=[1e-3]
    )
    assert np.abs(log["u"][..., :2]).max() < 1e-9
    assert np.linalg.norm(contacts(log)[0, 0, 0, 1:]) == pytest.approx(slip, rel=1e-6)


@pytest.mark.parametrize("mu", [2.0, 4.0])
def test_a_rod_that_jams_does_not_fall_through_the_floor(mu: float) -> None:
    """Painleve: with mu beyond 4/3, friction of a steep sliding rod presses its end down by
    more than the floor lifts it. The end is caught, as for a rod that slides the other way; it
    used to fall through the floor in steps that counted as solved.
    """
    angle, half, dt = np.deg2rad([40.0, 55.0, 65.0, 75.0, 85.0] * 2), 0.5, 0.002
    q = np.array([pose([0, 0, half * np.sin(a) - 1e-6], a) for a in angle])
    u = np.zeros((10, 6))
    u[:, 0] = [3.0] * 5 + [-3.0] * 5
    log = Bench(rod(half=half), Macro()).run(300, dt, q=q, u=u, law_mu=[mu])
    w, x, y, z = np.moveaxis(log["q"][..., 3:7], -1, 0)
    lowest = log["q"][..., 2] - half * np.abs(2 * (x * z - w * y))
    fastest = np.abs(log["u"][..., 2]).max() + half * np.abs(log["u"][..., 3:]).max()
    assert lowest.min() > -dt * fastest  # the way of a step, in which a fall is seen
    assert lowest[:10].min() > -dt * 0.01 and log["converged"].all()


def test_penetrating_results_are_not_converged() -> None:
    """A single contact always has a solution, however strong the coupling; some sets of three
    that jam do not, and are reported.
    """
    for count in (1, 3):
        delassus, free = problems(7, 400, count, 7)
        L, good = solved(Macro(mu=2.5), delassus, 3 * free, 3 * free)
        after = 3 * free + np.einsum("wij,wj->wi", delassus, L.reshape(400, -1))
        scale = np.einsum("wii->wi", delassus) * np.abs(L).max((1, 2))[:, None]
        sinks = (after < -1.001e-3 * scale - 1e-9)[:, ::3].any(1)
        assert good.all() if count == 1 else 0 < sinks.mean() < 0.15
        assert not (good & sinks).any()


def test_a_macro_box_is_carried_and_sinks_as_slowly_as_damping_says() -> None:
    mass, dt, damping = 2.0, 0.005, np.array([1e-6, 1e-4])
    log = bench("sole", Macro()).run(200, dt, q=pose([0, 0, BOX[2] - 1e-9]), law_damping=damping)
    L = contacts(log)[-1]
    np.testing.assert_allclose(L[..., 0].sum(1) / dt, mass * G, rtol=1e-6)
    np.testing.assert_allclose(L[..., 0] / dt, mass * G / 4, rtol=1e-3)  # least norm: shared evenly
    # the equal share f = m g dt / 4 of four is an eigenvector of A with s = 4 / m: (s^2 + damping)
    # f = -s v
    s = 4 / mass
    np.testing.assert_allclose(log["u"][-1, :, 2], -damping / s * mass * G * dt / 4, rtol=1e-2)


@pytest.mark.parametrize("scene", ["creep", "rocking_block", "sliding_cube"])
def test_macro_solves_the_case_where_one_modification_fails(scene: str) -> None:
    assert {row.status for row in validate("macro", scene, "midpoint")} == {"pass"}


# ---------------------------------------------------------------- micro_macro


def thrown(law: Law, **values: Any) -> dict[str, Array]:
    """A box that lands at an angle and slides."""
    q = pose([0, 0, 0.06], 0.3, [0.6, 0.8, 0.0])
    return bench("sole", law).run(200, 2.5e-4, q=q, u=[1.0, 0.3, -0.5, 1.0, 2.0, -1.0], **values)


def test_a_thick_membrane_hides_the_floor() -> None:
    log, alone = thrown(MicroMacro(thickness=1.0, mu_K=0.4)), thrown(Micro(mu=0.4))
    assert (contacts(alone)[..., 0] > 0).any()
    np.testing.assert_array_equal(log["q"], alone["q"])


@pytest.mark.slow
def test_without_a_membrane_the_floor_matches_macro() -> None:
    law = MicroMacro(thickness=0.0, k=1e-12, c=0.0, damping=1e-9)
    log, alone = thrown(law), thrown(Macro())
    assert (contacts(alone)[..., 0] > 0).any()
    np.testing.assert_allclose(log["q"], alone["q"], rtol=0, atol=1e-9)


def test_floor_and_membrane_share_the_weight_as_lambda_says() -> None:
    """With a small lambda the floor carries the rest of the compressed membrane's load; with a
    large one the membrane carries all of it.
    """
    mass, dt, thickness, damping = 2.0, 2.5e-4, 5e-4, np.array([1e-8, 4.0])
    start = {"q": pose([0, 0, BOX[2] - thickness - 1e-9]), "law_damping": damping}
    log = bench("sole", MicroMacro(thickness=thickness)).run(12000, dt, **start)
    total, floor = contacts(log)[-1, ..., 0].sum(1) / dt, log["memory"][-1].sum(1) / dt
    np.testing.assert_allclose(total, mass * G, rtol=1e-6)
    depth = BOX[2] - log["q"][-1, :, 2]
    np.testing.assert_allclose(depth, [thickness, mass * G / (4 * K)], rtol=1e-3)
    np.testing.assert_allclose(floor, mass * G - 4 * K * depth, atol=1e-3 * mass * G)
    assert floor[0] > 5.0


def test_a_foot_that_leaves_the_floor_is_still_in_the_membrane() -> None:
    """Only the membrane accelerates it: m v^2 = k h^2, less the loss in the time-step damper."""
    thickness, dt = 5e-4, 1e-5
    start = {"q": pose([0, 0, -thickness]), "law_k": [1e6], "law_c": [0.0]}
    log = bench("point", MicroMacro(thickness=thickness)).run(400, dt, **start)
    fastest, out = log["u"][:, 0, 2].max(), np.argmax(log["q"][:, 0, 2] > 0)
    assert (log["memory"][1:out] == 0).all()
    damped = np.exp(
        -0.5 * np.sqrt(1e6) * dt * np.pi / 2
    )  # damping ratio omega dt / 2 over a quarter of a period
    assert fastest == pytest.approx(np.sqrt(1e6) * thickness * damped, rel=2e-2)


# ---------------------------------------------------------------- both


@pytest.mark.parametrize("name", ["mu_K", "v_0", "damping", "thickness", "c", "k", "eps"])
def test_negative_parameters_are_rejected(name: str) -> None:
    for law in (Macro(), MicroMacro()):
        if name in declared_fields(type(law)):
            with pytest.raises(TarsusError, match=name):
                replace(law, **{name: -1.0})


def test_unknown_parameters_are_rejected() -> None:
    for law in (Macro, MicroMacro):
        with pytest.raises(TarsusError, match="passes"):
            law(passes="twice")  # type: ignore[call-arg]
    for name in ("damper", "phase", "spring"):
        with pytest.raises(TarsusError, match=name):
            MicroMacro(**{name: "strong"})  # type: ignore[arg-type]
