"""The law `linearized` (Rengifo 2009) against closed forms. g = 9.81 m/s^2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench, bench, contacts, sole
from helpers.contact_algebra import solved
from numpy.typing import NDArray

import tarsus
from tarsus.algebra.minimum_norm import minimum_norm
from tarsus.contact.base import symbols
from tarsus.contact.laws.linearized import Linearized
from tarsus.dynamics.kinematics import displace, kinematics
from tarsus.errors import TarsusError
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.robots import mini_cheetah
from tarsus.stepping.assemble import contact_kinematics
from tarsus.stepping.base import Scene
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import BOX, G, pose

Array = NDArray[np.float64]


def computed(function: Callable[..., SX], *inputs: Array) -> Array:
    """Evaluate a function of CasADi symbols with compiled code, one row of each input per world."""
    b = Builder("computed")
    symbols = [b.parameter(f"input_{k}", value.shape[1]) for k, value in enumerate(inputs)]
    worlds = Worlds(b.program(result=function(*symbols)), len(inputs[0]))
    for k, value in enumerate(inputs):
        worlds.set(f"input_{k}", value)
    worlds.advance()
    return worlds.get("result").copy()


@pytest.mark.parametrize("rank", [3, 6, 12])
def test_the_force_is_that_of_the_pseudo_inverse(rank: int) -> None:
    """Also for right sides outside the range of G, because the corners of a body have rank 6 at
    most.
    """
    rng, size, count = np.random.default_rng(rank), 12, 40
    basis = np.linalg.qr(rng.normal(size=(count, size, size)))[0][..., :rank]
    values = 10 ** (rng.uniform(-1.5, 0, (count, rank)) + rng.uniform(-2, 2, (count, 1)))
    matrices = np.einsum("wik,wk,wjk->wij", basis, values, basis)
    b = rng.normal(size=(count, size))

    def solve(g: SX, b: SX) -> SX:
        rows = [[g[size * i + j] for j in range(size)] for i in range(size)]
        return ca.vertcat(*minimum_norm(rows, entries(b), SX(1e-4), [SX(1)] * size))

    found = computed(solve, matrices.reshape(count, -1), b)
    expected = np.einsum("wij,wj->wi", np.linalg.pinv(matrices, rcond=1e-9, hermitian=True), b)
    error = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert error.max() < 5e-7
    within = np.einsum(
        "wij,wj->wi", matrices, b
    )  # in the range, as a consistent problem is: no amplified round-off
    found = computed(solve, matrices.reshape(count, -1), within)
    expected = np.einsum("wij,wj->wi", basis @ basis.transpose(0, 2, 1), b)
    assert (
        np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    ).max() < 1e-8


def test_a_point_lands_as_the_paper_s_ball() -> None:
    """While it comes in: x'' = -k_p x - k_v x'; while it goes out: x'' = -k_p x. Independent of the
    mass.
    """
    gain, damping, speed, dt = 500.0, 250.0, 1.0, 2e-5
    start = {
        "u": [0, 0, -speed, 0, 0, 0],
        "law_epsilon": [0.0],
        "law_k_p": [gain],
        "law_k_v": [damping],
    }
    log = bench("point", Linearized()).run(round(0.15 / dt), dt, q=pose([0, 0, 0]), **start)
    z, v = log["q"][:, 0, 2], log["u"][:, 0, 2]
    fast, slow = (0.5 * (-damping + sign * np.sqrt(damping**2 - 4 * gain)) for sign in (-1, 1))
    turn = np.log(fast / slow) / (slow - fast)
    depth = speed / (fast - slow) * (np.exp(slow * turn) - np.exp(fast * turn))
    deepest = z.argmin()
    assert deepest * dt == pytest.approx(turn, rel=5e-3)
    assert z[deepest] == pytest.approx(depth, rel=5e-3)
    leaves = np.argmax(contacts(log)[deepest:, 0, 0, 0] == 0) + deepest
    assert v[leaves] == pytest.approx(
        -np.sqrt(gain) * depth, rel=5e-3
    )  # restitution sqrt(k_p) depth / v
    assert (leaves - deepest) * dt == pytest.approx(np.pi / 2 / np.sqrt(gain), rel=5e-3)


def test_the_first_force_is_m_g_plus_m_k_v_v() -> None:
    """Rengifo 2009, section II A: f_n = m g - m k_v v at the instant of impact."""
    dt, speed = 1e-7, 0.7
    start = {"q": pose([0, 0, 0]), "u": [0, 0, -speed, 0, 0, 0], "law_epsilon": [0.0]}
    log = bench("point", Linearized()).run(1, dt, **start)
    assert contacts(log)[0, 0, 0, 0] / dt == pytest.approx(G + 250.0 * speed, rel=1e-6)


def test_without_k_p_penetration_stays_and_shrinks_with_k_v() -> None:
    """Figure 4, dashed: k_p = 0 leaves the ball v / k_v deep."""
    damping, speed = np.array([1000.0, 5000.0]), 2.0
    start = {
        "u": [0, 0, -speed, 0, 0, 0],
        "law_k_p": [0.0],
        "law_k_v": damping,
        "law_epsilon": [0.0],
    }
    log = bench("point", Linearized()).run(4000, 1e-5, q=pose([0, 0, 0]), **start)
    np.testing.assert_allclose(log["q"][-1, :, 2], -speed / damping, atol=0.6 * speed * 1e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 5e-4, 2e-3])
def test_a_block_rests_at_depth_epsilon(epsilon: float) -> None:
    start = {
        "q": pose([0, 0, BOX[2] - 1.5 * epsilon]),
        "law_epsilon": [epsilon],
        "law_k_v": [50.0],
    }
    log = bench("sole", Linearized()).run(4000, 0.002, **start)
    assert log["q"][-1, 0, 2] == pytest.approx(BOX[2] - epsilon, rel=1e-6, abs=1e-3 * epsilon)
    L = contacts(log)[-1, 0]
    assert L[:, 0].sum() / 0.002 == pytest.approx(2.0 * G, rel=1e-7)
    np.testing.assert_allclose(
        L[L[:, 0] > 0, 0] / 0.002, 2.0 * G / 4, rtol=1e-6
    )  # least norm: shared evenly
    assert np.abs(log["u"][-1]).max() < 1e-6


def test_a_sole_that_slides_and_turns_is_solved() -> None:
    """The corners request velocities that one rigid body cannot have at the same time."""
    random = np.random.default_rng(0)
    u = random.normal(0, [0.5, 0.5, 0.05, 0.3, 0.3, 2.0], (256, 6))
    log = bench("sole", Linearized()).run(300, 0.001, q=pose([0, 0, BOX[2]]), u=u)
    assert ((contacts(log)[..., 0] > 0).sum(-1) > 1).mean() > 0.3
    assert log["converged"].all()


def test_masses_do_not_change_the_motion() -> None:
    q = pose([0, 0, 0.06], 0.3, [0.6, 0.8, 0.0])
    start = {"q": q, "u": [0.5, -0.2, -0.5, 1.0, 2.0, -1.0], "law_mu": [0.3]}
    # impulses of the heavy box are 100 times larger: so is the tolerance it is solved to
    light = bench("sole", Linearized()).run(400, 0.001, **start, law_T_abs=[1e-9], law_T_rel=[1e-9])
    heavy = bench("heavy", Linearized()).run(
        400, 0.001, **start, law_T_abs=[1e-7], law_T_rel=[1e-9]
    )
    assert (contacts(light)[..., 0] > 0).any()
    np.testing.assert_allclose(heavy["q"], light["q"], rtol=0, atol=1e-7)
    np.testing.assert_allclose(heavy["impulse"], 100 * light["impulse"], rtol=0, atol=1e-4)


def test_a_brick_slides_and_stops_as_the_paper_s() -> None:
    """Eqns. (8)-(9): mu m g while |v| > v_s, then x'' = -k_v x', to an exact stop: nothing
    creeps.
    """
    angle, mu, speed, dt, gain = 0.2, 0.5, 1.0, 1e-3, 250.0
    q = pose([0, 0, 0], -angle)
    q[:3] = (BOX[2] - 5e-4) * np.array([-np.sin(angle), 0, np.cos(angle)])
    down = -np.array([np.cos(angle), 0, np.sin(angle)])
    log = Bench(sole(), Linearized(mu=mu, k_v=gain), Slope(angle)).run(
        600, dt, q=q, u=[*(speed * down), 0, 0, 0]
    )
    v = log["u"][:, 0, :3] @ down
    braking = G * (mu * np.cos(angle) - np.sin(angle))
    slow = braking / gain
    sliding = v > 1.5 * slow
    np.testing.assert_allclose(
        v[sliding], (speed - braking * dt * np.arange(1, 601))[sliding], atol=1e-4
    )
    ending = v[np.argmax(v < 0.9 * slow) :][:5]
    np.testing.assert_allclose(ending[1:] / ending[:-1], 1 - gain * dt, rtol=1e-3)
    assert np.abs(v[-1]) < 1e-9
    assert np.abs(log["u"][..., 3:]).max() < 1e-6
    assert log["converged"].all()


def test_saturated_once_a_sliding_box_sinks_and_turns() -> None:
    """The reason for the default `repeated`: the paper's procedure fails if friction saturates
    and the box has height.
    """
    start = {"q": pose([0, 0, BOX[2] - 5e-4]), "u": [1.0, 0, 0, 0, 0, 0], "law_mu": [0.15]}
    once = bench("sole", Linearized(saturation="once")).run(100, 0.001, **start)
    assert np.abs(once["u"][..., 3:]).max() > 0.5
    repeated = bench("sole", Linearized()).run(100, 0.001, **start)
    assert np.abs(repeated["u"][..., 3:]).max() < 1e-6


def test_the_velocity_product_is_how_the_contact_velocity_changes_at_constant_u() -> None:
    """B_c of Eqn. (16) against differences of W^T u along q' = F u: round feet, a turning trunk, a
    slope.
    """
    robot, rng, h = mini_cheetah.describe(), np.random.default_rng(2), 1e-5
    scene = Scene(robot, Linearized(), Slope(0.3, 0.7), robot.candidates)
    q, u, dt = SX.sym("q", robot.nq), SX.sym("u", robot.nu), SX.sym("dt")
    slope = symbols({name: SX(ca.DM(value)) for name, value in scene.terrain.parameters().items()})
    moved = kinematics(robot, displace(robot, q, u, dt), u)
    found = [touch.contact for touch in contact_kinematics(scene, moved, slope)]
    parts = [
        [contact.velocity for contact in found],
        [contact.velocity_product for contact in found],
    ]
    at = ca.Function("at", [q, u, dt], [ca.vertcat(*part) for part in parts])
    for _ in range(5):
        start = np.concatenate(
            [pose([0, 0, 0.3], 0.6, [0.6, 0.8, 0.0]), rng.uniform(-1, 1, robot.nq - 7)]
        )
        speed = rng.uniform(-5, 5, robot.nu)
        change = (at(start, speed, h)[0] - at(start, speed, -h)[0]).full() / (2 * h)
        np.testing.assert_allclose(at(start, speed, 0)[1].full(), change, rtol=0, atol=1e-5)
        assert np.abs(change).max() > 1


def test_a_standing_foot_keeps_its_force_from_step_to_step() -> None:
    """Eqn. (16) without B_c let it drift out of the ground under the turning leg, up to eight times
    a stance.
    """
    simulation = tarsus.Simulation("mini_cheetah", law="linearized", controller="trot", dt=1e-4)
    simulation.advance(1.0)
    log = simulation.run(0.3)
    force = log["force_contact"].values[:, :, 0]
    assert not ((force[1:-1] == 0) & (force[:-2] > 5) & (force[2:] > 5)).any()
    # between two steps a pressed foot gains what Eqn. (17) asks for, to the order of dt
    v, gap = log["velocity_before"].values[:, :, 0], log["gap"].values
    gained, wanted = np.diff(v, axis=0) / 1e-4, 500 * (-5e-4 - gap) - 250 * np.minimum(v, 0)
    rising = (force[:-1] > 5) & (v[:-1] > 0)
    assert rising.sum() > 200
    assert np.abs(gained - wanted[:-1])[rising].max() < 0.01


def test_feet_that_land_while_others_slide_are_solved() -> None:
    """At the first touchdown, one foot used to alternate between sticking and sliding, because
    its friction was judged before convergence.
    """
    log = tarsus.Simulation("mini_cheetah", law="linearized", controller="trot", dt=1e-3).run(0.25)
    assert log["converged"].values.all()


LEANING = {  # G in 1/kg and velocities to add in m/s: two feet of Mini Cheetah as it walks
    "let go and closed forever": (
        [
            [0.96, -0.00, -1.82, 0.04, -0.11, -0.32],
            [-0.00, 3.36, -0.55, -0.14, 0.28, 0.27],
            [-1.82, -0.55, 8.35, 0.38, -0.29, -0.64],
            [0.04, -0.14, 0.38, 1.59, 0.92, 1.07],
            [-0.11, 0.28, -0.29, 0.92, 3.82, 0.52],
            [-0.32, 0.27, -0.64, 1.07, 0.52, 8.18],
        ],
        [0.17, 0.08, -0.46, 0.41, 0.50, -0.04],
        0.95,
    ),
    "nearer too slowly": (
        [
            [1.59, -2.02, -0.39, 0.00, 0.04, -0.33],
            [-2.02, 10.49, -0.95, 0.04, 0.13, -0.49],
            [-0.39, -0.95, 3.96, 0.20, 0.21, -0.31],
            [0.00, 0.04, 0.20, 2.84, -1.12, 1.59],
            [0.04, 0.13, 0.21, -1.12, 13.35, 0.63],
            [-0.33, -0.49, -0.31, 1.59, 0.63, 10.49],
        ],
        [0.21, -0.87, 0.09, -0.06, -4.08, -0.99],
        0.93,
    ),
}


@pytest.mark.parametrize("which", LEANING)
def test_strongly_coupled_normal_and_friction_forces_are_solved(which: str) -> None:
    """Passes alone do not settle: the first foot slides, and its friction lifts it by 1.65 and 1.01
    times what its normal force does.
    """
    rows, sought, mu = LEANING[which]
    G, wanted = np.array(rows), np.array(sought)
    law = Linearized(mu=mu)
    own = 1e-3 * law.k_p * (1e-3 - law.epsilon) * np.tile([1.0, 0, 0], 2)  # what depth asks for
    impulses, settled = solved(law, G[None], (own - wanted)[None], np.zeros((1, 6)))
    assert settled.all()
    first, second = impulses[0]
    lacking = wanted - G @ impulses[0].ravel()
    # the first presses and slides, and lacks friction in the direction of what it has
    assert first[0] > 0.01 and abs(lacking[0]) < 1e-6
    assert np.linalg.norm(first[1:]) == pytest.approx(mu * first[0], rel=1e-6)
    assert first[1:] @ lacking[1:3] > 0
    # the second sticks, or is not needed
    if second[0] > 0:
        assert np.abs(lacking[3:]).max() < 1e-6 and np.linalg.norm(second[1:]) < mu * second[0]
    else:
        assert not second.any() and lacking[3] < 0


@pytest.mark.parametrize("name", ["k_p", "k_v", "epsilon", "rho"])
def test_negative_gains_are_rejected(name: str) -> None:
    with pytest.raises(TarsusError, match=name):
        replace(Linearized(), **{name: -1.0})
    with pytest.raises(TarsusError, match="rho"):
        Linearized(rho=0.0)
