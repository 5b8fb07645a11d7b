"""The same robot in minimal, extended and maximal coordinates (Gehring 2014)."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench
from helpers.random_mechanisms import Numbers, mechanism_of
from helpers.refused import refused
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics import coordinates, crba, loop_constraints
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.rnea import body_inertias
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, TarsusError, UnknownName, Unsupported
from tarsus.model.cut import change_coordinates, cut
from tarsus.model.mechanism import Mechanism
from tarsus.robots import mini_cheetah, starleth

Array = NDArray[np.float64]


def gaps(mechanism: Mechanism, q: Array) -> Array:
    symbol = SX.sym("q", mechanism.nq)
    found = ca.Function("gaps", [symbol], [loop_constraints.gaps(kinematics(mechanism, symbol))])
    return np.array([found(row) for row in np.atleast_2d(q)])[..., 0]


def whole(mechanism: Mechanism, q: Array, u: Array) -> tuple[Array, Array]:
    parts = coordinates.uncut_state(mechanism, SX(np.asarray(q, float)), SX(np.asarray(u, float)))
    q_uncut, u_uncut = (np.array(ca.evalf(part)).ravel() for part in parts)
    return q_uncut, u_uncut


def without_rotors_on_slides(mechanism: Mechanism) -> Mechanism:
    """A slide with armature cannot be cut."""
    bodies = [
        replace(b, joint=replace(b.joint, armature=0.0)) if b.joint.kind == "slide" else b
        for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def random_state(mechanism: Mechanism, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    q = mechanism.neutral() + random.normal(scale=0.4, size=mechanism.nq)
    for body, at in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        if body.joint.kind in ("free", "ball"):
            q[at.stop - 4 : at.stop] /= np.linalg.norm(q[at.stop - 4 : at.stop])
    return q, random.normal(size=mechanism.nu)


def test_the_paper_s_numbers_of_velocities_and_constraints() -> None:
    sizes = {"minimal": (18, 0), "extended": (38, 20), "maximal": (78, 60)}
    for which, expected in sizes.items():
        mechanism = change_coordinates(starleth.describe(), which)
        assert (mechanism.nu, loop_constraints.count_constraints(mechanism)) == expected


def test_mass_matrices_are_constant_in_maximal_coordinates() -> None:
    mechanism = change_coordinates(starleth.describe(), "maximal")
    kin = kinematics(mechanism, SX.sym("q", mechanism.nq))
    assert crba.mass_matrix(kin, body_inertias(mechanism)).is_constant()


trees = st.lists(st.sampled_from(["hinge", "slide", "ball"]), min_size=2, max_size=5)


@settings(deadline=None, max_examples=6, derandomize=True, phases=(Phase.explicit, Phase.generate))
@given(trees, st.integers(0, 10**6), st.booleans(), st.data())
def test_a_cut_mechanism_accelerates_like_the_uncut_one(
    kinds: list[str], seed: int, plain: bool, data: st.DataObject
) -> None:
    root = data.draw(st.sampled_from(["free", "hinge"]))
    parents = [-1, *(data.draw(st.integers(0, k)) for k in range(len(kinds)))]
    uncut = without_rotors_on_slides(
        mechanism_of(list(zip(parents, [root, *kinds], strict=True)), Numbers(seed, plain))
    )
    chosen = data.draw(
        st.sets(st.sampled_from([b.joint.name for b in uncut.bodies[1:]]), min_size=1)
    )
    parts = cut(uncut, sorted(chosen))
    q, u = random_state(uncut, seed)
    q_cut, u_cut = coordinates.to_cut(parts, q, u)
    back = whole(parts, q_cut, u_cut)
    assert np.abs(np.abs(gaps(parts, q_cut))).max() < 1e-12
    np.testing.assert_allclose(back[1], u, atol=1e-10)
    expected = Robot.of(uncut).forward_dynamics(q, u, np.zeros(uncut.nu))

    # constraints hold where a step evaluates them, half a step apart: the second step is the first
    # whole one
    dt = 1e-6
    last = Bench(parts, Moreau()).run(2, dt, q=q_cut, u=u_cut)
    first, second = (whole(parts, last["q"][k, 0], last["u"][k, 0])[1] for k in (0, 1))
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose((second - first) / dt / scale, expected / scale, atol=1e-4)
    assert np.abs(gaps(parts, last["q"][-1, 0])).max() < 1e-9


@pytest.mark.parametrize(
    ("robot", "which"),
    [
        pytest.param(starleth, "extended", id="starleth-extended", marks=pytest.mark.slow),
        pytest.param(starleth, "maximal", id="starleth-maximal", marks=pytest.mark.slow),
        pytest.param(mini_cheetah, "extended", id="mini_cheetah-extended", marks=pytest.mark.slow),
        # armature and damping couple the bodies: half a minute to compile
        pytest.param(mini_cheetah, "maximal", id="mini_cheetah-maximal", marks=pytest.mark.slow),
    ],
)
def test_a_standing_robot_stands_the_same(robot: object, which: str) -> None:
    """Without dry joint friction, with which the forces between feet depend on the landing."""
    runs, whole = [], Robot.of(robot.describe())  # type: ignore[attr-defined]
    for chosen in ("minimal", which):
        simulation = Simulation(whole, controller="stand", coordinates=chosen, stiction=False)
        log = simulation.run(1.0)
        assert float(log.equation_residual.max()) < 1e-9
        assert bool(log.converged.all())
        runs.append(log.force_contact.values[-1])
    np.testing.assert_allclose(runs[0], runs[1], atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["extended", "maximal"])
def test_the_difference_vanishes_with_the_step(which: str) -> None:
    """In free flight, joints turning; the midpoint scheme is of first order in coordinates with
    constraints.
    """
    uncut = starleth.describe()
    q = np.array(uncut.keyframes["stand"]) + 5 * np.eye(19)[2]
    u = np.random.default_rng(0).normal(scale=0.5, size=18)

    def thrown(chosen: str, dt: float) -> Array:
        simulation = Simulation("starleth", coordinates=chosen, dt=dt)
        mechanism = simulation.plan.scene.mechanism
        start = coordinates.to_cut(mechanism, q, u)
        simulation.set(q=start[0], u=start[1])
        simulation.advance(0.1)
        return whole(mechanism, simulation.q, simulation.u)[0]

    apart = [np.abs(thrown(which, dt) - thrown("minimal", dt)).max() for dt in (0.002, 0.0005)]
    assert 3.4 < apart[0] / apart[1] < 4.6
    assert apart[0] < 1e-3  # rad: the loose shanks have turned by radians


CONFIGURATIONS = [
    ("extended", "jor", "direct", 0.6),
    ("extended", "jor", "prox", 0.5),
    ("extended", "sor", "direct", 0.6),
    ("extended", "sor", "prox", 0.6),
    ("maximal", "jor", "direct", 1.0),
    ("maximal", "jor", "prox", 0.4),
    ("maximal", "sor", "direct", 1.0),
    ("maximal", "sor", "prox", 0.6),
]
QUICK = CONFIGURATIONS[1:2]


@pytest.mark.parametrize(
    ("which", "solver", "bilateral", "alpha"),
    [row if row in QUICK else pytest.param(*row, marks=pytest.mark.slow) for row in CONFIGURATIONS],
)
def test_every_configuration_of_table_1_gives_the_same_forces(
    which: str, solver: str, bilateral: str, alpha: float
) -> None:
    def stand(law: Moreau) -> tuple[Array, Array]:
        simulation = Simulation(
            "starleth", law=law, controller="stand", coordinates=which, worlds=3
        )
        simulation.advance(0.25)
        assert simulation.converged.all()
        q = simulation.q
        assert (q == q[0]).all(), "worlds agree to the bit"
        return simulation.contact_force[0], gaps(simulation.plan.scene.mechanism, q[0])

    reference, drift = stand(Moreau())
    tight = Moreau(solver=solver, bilateral=bilateral, alpha=alpha, T_rel=1e-9, T_abs=1e-9)  # type: ignore[arg-type]
    forces, iterated = stand(tight)
    np.testing.assert_allclose(forces, reference, atol=0.02)
    np.testing.assert_allclose(iterated, drift, atol=1e-7)


def test_overflowing_constraints_are_not_converged() -> None:
    """Far beyond the limit of alpha, standing."""
    law = Moreau(solver="jor", bilateral="prox", alpha=50.0, T_rel=1e-9, T_abs=1e-9)
    simulation = Simulation(
        "starleth", law=law, controller="stand", coordinates="extended", worlds=3
    )
    simulation.advance(4 * simulation.dt)
    assert not np.isfinite(simulation.u).any() and not simulation.converged.any()


@pytest.mark.slow
def test_compliant_feet_in_maximal_coordinates() -> None:
    law = Compliant()
    heights = []
    for which in ("minimal", "maximal"):
        simulation = Simulation(
            "starleth", law=law, controller="stand", coordinates=which, dt=0.00125
        )
        simulation.advance(1.0)
        heights.append(simulation.q[2])
    assert abs(heights[0] - heights[1]) < 3e-5  # the drift of the joints while it settled


@pytest.mark.slow
def test_cut_joints_stay_closed() -> None:
    """Impacts of a trot open no gaps; those of swinging legs are of third order per second."""

    def drift(dt: float) -> float:
        simulation = Simulation("starleth", controller="trot", dt=dt, coordinates="maximal")
        simulation.advance(1.0)
        return float(np.abs(gaps(simulation.plan.scene.mechanism, simulation.q)).max())

    coarse, fine = drift(0.002), drift(0.001)
    assert coarse < 1e-6
    assert coarse > 2.5 * fine


@pytest.mark.slow
@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler"])
def test_a_chain_that_whirls_keeps_its_joints(stepper: str) -> None:
    """Thrown at 20 rad/s: the remaining gap is the change of dt^2/2 d^2/dt^2 g_B, of second
    order.
    """
    apart = []
    for dt in (1e-3, 5e-4):
        simulation = Simulation("starleth", dt=dt, coordinates="maximal", stepper=stepper)
        q, u = simulation.uncut_state
        q[2] = 100.0
        u[3:6], u[6:] = (2.0, -1.0, 3.0), 20.0
        simulation.set(q=q, u=u)
        simulation.advance(0.25)
        apart.append(np.abs(gaps(simulation.plan.scene.mechanism, simulation.q)).max())
    assert apart[0] < 2e-3
    assert 3.5 < apart[0] / apart[1] < 4.6


@pytest.mark.slow
def test_only_stabilization_closes_an_initial_gap() -> None:
    left = {}
    for stabilization in (0.0, 0.1):
        simulation = Simulation(
            "starleth", dt=0.002, coordinates="maximal", stabilization=stabilization
        )
        q = simulation.q.copy()
        q[simulation.plan.scene.mechanism.q_slices[5].start] += 1e-4
        simulation.set(q=q)
        simulation.advance(0.1)
        left[stabilization] = np.abs(gaps(simulation.plan.scene.mechanism, simulation.q)).max()
    assert left[0.0] > 0.9e-4
    assert left[0.1] == pytest.approx(1e-4 * 0.9**50, rel=0.2)


def test_invalid_combinations_are_rejected_in_one_sentence() -> None:
    with pytest.raises(TarsusError, match="midpoint"):
        Simulation("mini_cheetah", law="compliant", stepper="rk4", coordinates="extended")
    with refused(UnknownName, "extendet"):
        Simulation("mini_cheetah", coordinates="extendet")
    with pytest.raises(TarsusError, match="jor"):
        Moreau(bilateral="prox")
    with refused(Unsupported, "mini_cheetah"):
        cut(cut(mini_cheetah.describe(), ["FR_knee_joint"]), ["FL_knee_joint"])
    with refused(InvalidValue, "FR_knee_joint"):
        cut(mini_cheetah.describe(), ["FR_knee_joint", "FR_knee_joint"])
    with refused(UnknownName, "FR_knee"):
        cut(mini_cheetah.describe(), ["FR_knee"])
    with refused(Unsupported, "floating_base"):
        cut(mini_cheetah.describe(), ["floating_base"])


@pytest.mark.slow
def test_any_set_of_joints_may_be_cut() -> None:
    """Dry friction acts as a damper in joints that close loops."""
    same = {"controller": "stand", "stiction": False}
    simulation = Simulation("mini_cheetah", coordinates=["FR_knee_joint", "HL_hip_joint"], **same)
    assert simulation.plan.scene.mechanism.nu == 18 + 2 * 5
    reference = Simulation("mini_cheetah", **same)
    for each in (simulation, reference):
        each.advance(1.0)
    np.testing.assert_allclose(simulation.contact_force, reference.contact_force, atol=0.05)
