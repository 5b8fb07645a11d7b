"""Steppers against independent solutions: orders of convergence, sums over inner steps, refusals,
and the trot.

The orders that docs/stepper_accuracy.md quotes are printed by
`pytest tests/physics/steppers/test_steppers.py -k order -s`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from helpers.bench import sole
from helpers.numpy_mechanics import quaternion
from helpers.refused import refused
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import tarsus
from tarsus import cli
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.hertz import Hertz
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import InvalidValue, Unsupported
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import resolve
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.step_program import Plan, initial_values, step_program
from tarsus.stepping.base import Scene, Stepper
from tarsus.stepping.methods.dormand_prince import DormandPrince
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.stepping.methods.heun import Heun
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.methods.rk4 import RK4
from tarsus.stepping.methods.symplectic_euler import SymplecticEuler
from tarsus.stepping.substeps import Substeps
from tarsus.terrain.plane import Plane
from tarsus.validation.bodies import GRAVITY, G, box, point_mass, pose

Array = NDArray[np.float64]
Log = dict[str, Array]

ORDERS = {  # expected: fixed-step convergence of the state at the end
    "symplectic_euler": {
        "spin": 1,
        "pendulum": 1,
        "damped pendulum": 1,
        "spring": 1,
        "damped spring": 1,
    },
    "midpoint": {"spin": 2, "pendulum": 2, "damped pendulum": 1, "spring": 2, "damped spring": 1},
    "heun": {"spin": 2, "pendulum": 2, "damped pendulum": 2, "spring": 2, "damped spring": 2},
    "rk4": {"spin": 4, "pendulum": 4, "damped pendulum": 4, "spring": 4, "damped spring": 4},
    "dormand_prince": {
        "spin": 5,
        "pendulum": 5,
        "damped pendulum": 5,
        "spring": 5,
        "damped spring": 5,
    },
    "event_driven": {
        "spin": 2,
        "pendulum": 2,
        "damped pendulum": 1,
        "spring": 2,
        "damped spring": 1,
    },
}
ROUND_OFF = 1e-12  # errors of conserved quantities below which they have no order
FIXED = DormandPrince(rtol=1e9, atol=1e9)  # every sub-step stands: one a step


def worlds(
    mechanism: Mechanism, stepper: Stepper, law: Law, lanes: int = 1, **start: Array | float
) -> Worlds:
    """Worlds with a mechanism on the plane.

    `start` has registers by name ("law_mu" for "law.mu"), each () or (worlds, size).
    """
    plan = Plan(Scene(mechanism, law, Plane(), mechanism.candidates), stepper, None)
    values = initial_values(plan) | {
        k.replace("law_", "law."): np.atleast_1d(v) for k, v in start.items()
    }
    count = max(np.atleast_2d(v).shape[0] for v in values.values())
    return write_registers(Worlds(step_program(plan), count, lanes=lanes), values)


def exact(rate: Callable[[float, Array], Array], y: Array, seconds: float) -> Array:
    """Solution of an ordinary differential equation by SciPy, to round-off."""
    return solve_ivp(rate, (0, seconds), y, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]


@dataclass(frozen=True, eq=False)
class Problem:
    """Smooth motion with a known end.

    `state` computes from q, u the quantities that `end` (k,) contains; `conserved` computes
    invariants.
    """

    mechanism: Mechanism
    start: dict[str, Array | float]
    seconds: float
    steps: int
    end: Array
    state: Callable[[Array, Array], Array] = lambda q, u: np.concatenate([q, u])
    conserved: dict[str, Callable[[Array, Array], Array]] = field(default_factory=dict)


TOP = Inertia(
    2.0,
    np.array([0.05, -0.02, 0.03]),
    np.array([[3, 0.4, -0.2], [0.4, 5, 0.3], [-0.2, 0.3, 7]]) / 100,
)


def spin() -> Problem:
    """An asymmetric body, whose frame is not at its center of mass, tumbles far above the
    ground without gravity.
    """
    m, c, A = TOP.mass, TOP.com, TOP.about_com
    q, u, seconds = pose([0, 0, 100.0]), np.array([0.5, 0, 0.2, 3, -4, 5]), 1.0
    glide = u[:3] + np.cross(u[3:], c)  # of the center of mass

    def euler(t: float, y: Array) -> Array:
        p, w = y[:4], y[4:]
        turning = 0.5 * np.array([-p[1:] @ w, *(p[0] * w + np.cross(p[1:], w))])
        return np.concatenate([turning, np.linalg.solve(A, -np.cross(w, A @ w))])

    y = exact(euler, np.concatenate([q[3:], u[3:]]), seconds)
    R = quaternion(y[:4])
    end = np.concatenate(
        [q[:3] + c + glide * seconds - R @ c, y[:4], glide - R @ np.cross(y[4:], c), y[4:]]
    )

    def speed(q: Array, u: Array) -> Array:
        return u[:3] + quaternion(q[3:]) @ np.cross(u[3:], c)

    conserved = {
        "energy": lambda q, u: 0.5 * m * speed(q, u) @ speed(q, u) + 0.5 * u[3:] @ A @ u[3:],
        "angular momentum": lambda q, u: quaternion(q[3:]) @ A @ u[3:],
        "momentum": lambda q, u: m * speed(q, u),
    }
    body = Body("top", -1, Joint("free", "free"), TOP)
    mechanism = Mechanism(
        "top", (body,), (Candidate("c", 0, np.zeros(3)),), gravity_acceleration=(0.0, 0.0, 0.0)
    )
    return Problem(mechanism, {"q": q, "u": u}, seconds, 100, end, conserved=conserved)


def pendulum(damping: float = 0.0) -> Problem:
    """A pendulum with a large amplitude, 10 m above the ground."""
    mass, length, about_com = 1.5, 0.4, 0.02
    pull, inert, seconds = mass * length * G, mass * length**2 + about_com, 1.5
    joint = Joint("hinge", "hinge", np.array([0.0, 1, 0]), damping=damping)
    inertia = Inertia(mass, np.array([0, 0, -length]), about_com * np.eye(3))
    body = Body("rod", -1, joint, inertia, position=np.array([0, 0, 10.0]))
    mechanism = Mechanism("pendulum", (body,), (Candidate("tip", 0, np.array([0, 0, -0.8])),))
    end = exact(
        lambda t, y: np.array([y[1], -(pull * np.sin(y[0]) + damping * y[1]) / inert]),
        np.array([1.0, 0.5]),
        seconds,
    )
    kept = {} if damping else {"energy": lambda q, u: 0.5 * inert * u[0] ** 2 - pull * np.cos(q[0])}
    return Problem(
        mechanism, {"q": np.array([1.0]), "u": np.array([0.5])}, seconds, 150, end, conserved=kept
    )


def spring(d: float = 0.0) -> Problem:
    """A point that neither separates nor slips: an oscillation about its anchor, normal and
    tangential.
    """
    c, seconds, sink = 3000.0, 0.1, G / 3000.0
    x, z = (
        exact(lambda t, y: np.array([y[1], -c * y[0] - d * y[1]]), np.array(y), seconds)
        for y in ([5e-4, 0.02], [-1e-3, 0.03])
    )
    start = {
        "q": pose([5e-4, 0, -1e-3 - sink]),
        "u": np.array([0.02, 0, 0.03, 0, 0, 0]),
        "memory": np.array(
            [0, 0, 0, 0, 1.0, *np.eye(3).ravel()]
        ),  # touched at the origin, unturned
        **{"law_c_N": c, "law_c_T": c, "law_d_N": d, "law_d_T": d, "law_mu": 1.0},
    }
    end = np.array([x[0], z[0] - sink, x[1], z[1]])
    return Problem(
        point_mass(), start, seconds, 40, end, lambda q, u: np.concatenate([q[[0, 2]], u[[0, 2]]])
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "spin": spin,
    "pendulum": pendulum,
    "damped pendulum": lambda: pendulum(0.3),
    "spring": spring,
    "damped spring": lambda: spring(10.0),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("stepper", ORDERS)
def test_order_of_convergence(stepper: str, problem: str) -> None:
    """From errors at dt, dt / 2 and dt / 4; invariants converge at least as fast as the state."""
    case, errors = PROBLEMS[problem](), []
    chosen = FIXED if stepper == "dormand_prince" else resolve.resolve_stepper(stepper)
    made = worlds(case.mechanism, chosen, Compliant(), **case.start)
    start = {name: made.get(name) for name in ("q", "u", "memory")}
    for halving in range(3):
        steps = case.steps // (4 if chosen is FIXED else 1) * 2**halving
        for name, value in (start | {"dt": np.array([case.seconds / steps])}).items():
            made.set(name, value)
        log = made.record(steps)
        q, u = log["q"][-1, 0], log["u"][-1, 0]
        lost = (
            np.abs(kept(q, u) - kept(start["q"][0], start["u"][0])).max()
            for kept in case.conserved.values()
        )
        errors.append([np.abs(case.state(q, u) - case.end).max(), *lost])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    told = zip(("state", *case.conserved), orders[-1], strict=True)
    print(f"{stepper:16} {problem:16}", ", ".join(f"{name} {order:.2f}" for name, order in told))
    if chosen is FIXED:  # its higher terms are still felt, mostly to its good
        assert orders[-1, 0] > ORDERS[stepper][problem] - 0.2
    else:
        np.testing.assert_allclose(orders[:, 0], ORDERS[stepper][problem], atol=0.2)
    has_order = np.array(errors)[-1, 1:] > ROUND_OFF
    assert (orders[-1, 1:][has_order] > ORDERS[stepper][problem] - 0.2).all()


# ---------------------------------------------------------------- error control


@pytest.mark.parametrize(
    "problem", [pytest.param("spin", marks=pytest.mark.slow), "pendulum", "spring"]
)
def test_dormand_prince_error_falls_with_its_tolerance(problem: str) -> None:
    """One step covers the whole motion. The error is proportional to rtol, evaluations to
    rtol^(-1/5).
    """
    case, tolerances, errors, evaluations = (
        PROBLEMS[problem](),
        10.0 ** np.arange(-6, -12, -1),
        [],
        [],
    )
    for rtol in tolerances:
        made = worlds(
            case.mechanism,
            DormandPrince(rtol, rtol / 100),
            Compliant(),
            dt=case.seconds,
            **case.start,
        )
        log = made.record(1)
        assert log["converged"].all()
        errors.append(np.abs(case.state(log["q"][-1, 0], log["u"][-1, 0]) - case.end).max())
        evaluations.append(log["iterations"][-1, 0, 0])
    slopes = [
        np.polyfit(np.log10(tolerances), np.log10(measured), 1)[0]
        for measured in (errors, evaluations)
    ]
    print(
        f"{problem}: error ~ rtol^{slopes[0]:.2f}, {errors[-1]:.1e} at {tolerances[-1]:.0e};",
        end=" ",
    )
    print(f"evaluations ~ rtol^{slopes[1]:.2f}, {evaluations[0]:.0f} to {evaluations[-1]:.0f}")
    np.testing.assert_allclose(slopes[0], 1, atol=0.1)
    np.testing.assert_allclose(slopes[1], -1 / 5, atol=0.03)
    assert max(np.array(errors) / tolerances) < 10


def test_mini_cheetah_in_the_air_matches_dop853() -> None:
    """It turns and kicks under constant torques and joint friction: 0.2 s in four steps, to
    1e-7.
    """
    robot, seconds, rng = tarsus.load("mini_cheetah"), 0.2, np.random.default_rng(3)
    joints = [body.joint for body in robot.bodies[1:]]
    viscous, dry = (
        np.array([0.0] * 6 + [getattr(j, name) for j in joints])
        for name in ("damping", "dry_friction")
    )
    torque, u = rng.uniform(-1, 1, 12), rng.normal(size=robot.nu)
    q = robot.keyframes["stand"] + np.array([0, 0, 5.0] + [0.0] * (robot.nq - 3))

    def rate(t: float, y: Array) -> Array:
        q, u = y[: robot.nq], y[robot.nq :]
        braking = (viscous + dry / np.maximum(np.abs(u), 1e-2)) * u
        return np.concatenate(
            [
                robot.coordinate_rate(q, u),
                robot.forward_dynamics(q, u, np.r_[np.zeros(6), torque] - braking),
            ]
        )

    theirs = solve_ivp(
        rate, (0, seconds), np.concatenate([q, u]), method="DOP853", rtol=1e-10, atol=1e-11
    ).y[:, -1]
    stepper = DormandPrince(rtol=1e-9, atol=1e-10)
    sim = tarsus.Simulation(
        robot,
        "compliant",
        stepper,
        dt=seconds / 4,
        controller=lambda t, q, u: torque,
        limits=False,
    )
    sim.set(q=q, u=u)
    sim.run(seconds)
    np.testing.assert_allclose(np.concatenate([sim.q, sim.u]), theirs, rtol=0, atol=1e-7)


def test_a_ball_on_hertz_springs_matches_dop853() -> None:
    """Fall, contact and rebound to 1e-8, with a step as long as the contact."""
    law, mass, seconds, height = Hertz(), 1.0, 0.3, 0.2
    p = {name: float(value) for name, value in law.parameters().items()}

    def rate(t: float, y: Array) -> Array:
        depth = max(-y[0], 0.0)
        ramp = min(depth / p["w"], 1.0)
        push = max(p["K"] * depth ** p["e"] - p["c_max"] * ramp * ramp * (3 - 2 * ramp) * y[1], 0.0)
        return np.array([y[1], push / mass - G])

    theirs = solve_ivp(
        rate, (0, seconds), [height, 0], method="DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3
    ).y[:, -1]
    start = {"q": pose([0, 0, height]), "u": np.zeros(6), "dt": 0.05}
    log = worlds(point_mass(mass), DormandPrince(rtol=1e-11, atol=1e-12), law, **start).record(6)
    assert (log["impulse"][:, 0, 0] > 0).any() and theirs[1] > 0 and log["converged"].all()
    np.testing.assert_allclose([log["q"][-1, 0, 2], log["u"][-1, 0, 2]], theirs, rtol=0, atol=1e-8)


def test_dormand_prince_does_not_pull_at_a_point_that_grazes_the_ground() -> None:
    """A point that is accelerated upward approaches the ground and touches it briefly late in dt,
    where a weight is negative.

    The error control must detect the impulse; an undetected one is below 1e-6 N s.
    """
    pull, dt, turns, depth = 1000.0, 1e-3, 8 / 9 * 1e-3, np.logspace(-9, -5, 60)
    q = np.array([pose([0, 0, 0.5 * pull * turns**2 - d]) for d in depth])
    u = np.tile([1.0, 0, -pull * turns, 0, 0, 0], (len(depth), 1))
    made = worlds(
        point_mass(gravity=(0.0, 0.0, pull)), DormandPrince(), Compliant(), dt=dt, q=q, u=u
    )
    log = made.record(1)
    normal, *tangent = log["impulse"][0].T
    assert normal.max() > 1e-4 and log["converged"].all()
    assert normal.min() > -1e-6 and (np.hypot(*tangent) - 0.8 * normal).max() < 1e-6


def test_an_unmet_tolerance_is_reported_and_the_step_completes() -> None:
    """Too few substeps for rtol: converged is 0, but the fall, which every substep integrates
    exactly, is complete.
    """
    start = {"q": pose([0, 0, 50.0]), "u": np.array([0.5, 0, 0, 6, -8, 10]), "dt": 1.0}
    log = worlds(
        box(), DormandPrince(rtol=1e-13, atol=1e-13, maximum=10), Compliant(), **start
    ).record(1)
    assert not log["converged"].any() and log["iterations"][0, 0, 0] <= 61
    np.testing.assert_allclose(log["q"][0, 0, :3], [0.5, 0, 50 - G / 2], rtol=0, atol=1e-13)


# ---------------------------------------------------------------- impulses


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("stepper", "law"),
    [
        (Midpoint(), Moreau()),
        (SymplecticEuler(), Moreau(solver="exact")),
        (SymplecticEuler(), Compliant()),
        (Heun(), Compliant()),
        (RK4(), Compliant()),
        (DormandPrince(rtol=1e-3, atol=1e-4), Compliant()),
        (EventDriven(), Moreau(e_N=0.5)),
        (EventDriven("heun"), Compliant()),
        (Substeps(Heun(), 3), Compliant()),
        (Substeps(SymplecticEuler(), 2), Moreau(e_N=0.5)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_reported_impulses_explain_the_motion(stepper: Stepper, law: Law) -> None:
    """m (v^E - v^S) = m g dt + the sum of the impulses, through flight, impact and slip; all
    steps converge.
    """
    dt, mass = 1e-3, 2.0
    start = {"q": pose([0, 0, 0.09], 0.5), "u": np.array([1.0, 0.3, -1, 2, 1, 0])}
    log = worlds(sole(mass), stepper, law, dt=dt, **start).record(300)
    v = np.concatenate([start["u"][None, :3], log["u"][:, 0, :3]])
    total = (
        log["impulse"][:, 0].reshape(300, -1, 3).sum(1)[:, [1, 2, 0]]
    )  # tangents are x and y, the normal z
    gained = mass * np.diff(v, axis=0)
    np.testing.assert_allclose(gained, total + mass * dt * np.array(GRAVITY), rtol=0, atol=1e-12)
    assert total[:, 2].max() > 0.1 and log["converged"].all()
    assert np.abs(np.linalg.norm(log["q"][:, 0, 3:], axis=-1) - 1).max() < 1e-15


@pytest.mark.parametrize(
    ("stepper", "law"),
    [
        pytest.param(RK4(), Compliant(), id="rk4"),
        pytest.param(Substeps(Midpoint(), 3), Moreau(), id="substeps", marks=pytest.mark.slow),
        pytest.param(DormandPrince(), Hertz(), id="dormand_prince"),
    ],
)
def test_results_do_not_depend_on_lanes(stepper: Stepper, law: Law) -> None:
    speeds = np.linspace(-2, 2, 5)
    u = np.array([[s, 0.3, -1, 2, s, 0] for s in speeds])
    logs = [
        worlds(box(), stepper, law, lanes, dt=1e-3, q=pose([0, 0, 0.09], 0.5), u=u).record(200)
        for lanes in (1, 4)
    ]
    assert (logs[0]["impulse"] != 0).any()
    for name in ("q", "u", "memory", "impulse", "iterations"):
        np.testing.assert_array_equal(logs[0][name], logs[1][name])


def test_substeps_equal_short_steps_with_constant_torque() -> None:
    """The state after four steps of dt / 4 is bit-identical. Impulses and iterations are
    summed; converged is the smallest.
    """
    dt, n, rng = 0.004, 4, np.random.default_rng(1)
    whole = tarsus.Simulation("mini_cheetah", stepper=tarsus.Substeps(Midpoint(), n), dt=dt)
    parts = tarsus.Simulation("mini_cheetah", dt=dt / n)
    stand = whole.robot.keyframes["stand"][7:]
    for _ in range(50):
        torque = 40 * (stand - whole.q[7:]) - whole.u[6:] + rng.normal(size=12)
        impulse, iterations, converged = np.zeros((4, 3)), 0.0, True
        whole.step(torque)
        for _ in range(n):
            parts.step(torque)
            impulse += parts.contact_force * parts.dt
            iterations += parts.iterations
            converged &= bool(parts.converged)
        np.testing.assert_array_equal(whole.q, parts.q)
        np.testing.assert_array_equal(whole.u, parts.u)
        np.testing.assert_allclose(whole.contact_force * dt, impulse, rtol=1e-14, atol=1e-15)
        assert (whole.iterations, whole.converged) == (iterations, converged)
    numbers = tarsus.summary(whole, whole.run(0.1))
    assert numbers["residuals"]["equation_N"] is None and numbers["creep_max"] is None
    assert numbers["residuals"]["cone_Ns"] < 2e-6


# ---------------------------------------------------------------- robots


def test_mini_cheetah_trots_with_symplectic_euler_and_hard_contact() -> None:
    sim = tarsus.Simulation("mini_cheetah", stepper="symplectic_euler", controller="trot")
    numbers = tarsus.summary(sim, sim.run(2.0))
    assert not numbers["fell"] and numbers["unconverged_steps"] == 0
    assert 0.3 < numbers["distance"] < 1.0
    assert numbers["residuals"]["equation_N"] < 1e-9  # at the start's coordinates
    assert numbers["residuals"]["signorini_J"] < 1e-6 and numbers["residuals"]["cone_Ns"] < 2e-6


@pytest.mark.parametrize("stepper", [pytest.param("heun", marks=pytest.mark.slow), "rk4"])
def test_mini_cheetah_trots_on_springs(stepper: str, capsys: pytest.CaptureFixture) -> None:
    arguments = f"run mini_cheetah --law compliant --stepper {stepper} --dt 0.0005 --duration 2"
    assert cli.main([*arguments.split(), "--contacts", "feet", "--no-stiction", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert not numbers["fell"] and 0.3 < numbers["distance"] < 1.0 and numbers["warnings"] == []
    assert numbers["residuals"]["equation_N"] is None


def test_mini_cheetah_trots_on_hertz_contacts_with_dormand_prince(
    capsys: pytest.CaptureFixture,
) -> None:
    arguments = (
        "run mini_cheetah --law hertz --stepper dormand_prince --contacts feet --duration 1"
        " --no-stiction --json"
    )
    assert cli.main(arguments.split()) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert (
        not numbers["fell"]
        and numbers["unconverged_steps"] == 0
        and numbers["iterations_mean"] >= 7
    )
    assert numbers["warnings"] == []


def test_the_summary_states_that_a_residual_does_not_apply(capsys: pytest.CaptureFixture) -> None:
    arguments = "run mini_cheetah --law compliant --stepper heun --dt 0.0005 --duration 0.1"
    assert cli.main(arguments.split()) == 0
    assert "motion not applicable" in " ".join(capsys.readouterr().out.split())


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("stepper", ["heun", "rk4", "dormand_prince", Substeps(Heun(), 2)])
def test_impulsive_laws_are_rejected_with_alternatives(stepper: str | Stepper) -> None:
    with refused(Unsupported, "moreau") as refusal:
        tarsus.Simulation("mini_cheetah", law="moreau", stepper=stepper)
    assert "event_driven, midpoint, symplectic_euler" in str(refusal.value)


def test_rejections_are_one_sentence_on_the_command_line(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["run", "mini_cheetah", "--stepper", "rk4"]) == 2
    assert "'moreau'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [((Midpoint(), 0), "n"), ((Midpoint(), 2.5), "n"), (("midpoint", 2), "stepper")],
)
def test_substeps_report_their_requirements(arguments: tuple, subject: str) -> None:
    with refused(InvalidValue, subject):
        tarsus.Substeps(*arguments)


def test_the_stability_warning_uses_the_inner_step() -> None:
    springs: dict[str, Any] = {"robot": "mini_cheetah", "law": "compliant", "dt": 0.01}
    once = Midpoint(forces="once")
    notices = tarsus.Simulation(**springs, stepper=once).warnings
    assert "dt-above-stable-limit" in {notice.code for notice in notices}
    assert tarsus.Simulation(**springs, stepper=Substeps(once, 20)).warnings == []
    assert tarsus.Simulation(**springs).warnings == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rtol": -1e-6}, "rtol must not be negative"),
        ({"rtol": 0.0, "atol": 0.0}, "must not both be zero"),
        ({"maximum": 1.5}, "maximum must be a whole number"),
    ],
)
def test_dormand_prince_reports_its_requirements(given: dict, message: str) -> None:
    with pytest.raises(tarsus.TarsusError, match=message):
        DormandPrince(**given)
