"""Sampling-based planning: splines, rollouts against the simulation, methods against closed
forms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.refused import refused
from scipy.interpolate import CubicHermiteSpline

import tarsus
from tarsus import cli, registry
from tarsus.control.pd import actuated_indices
from tarsus.errors import InvalidValue, TarsusError, UnknownName
from tarsus.morphology.mirror import mirrored_motors
from tarsus.parameters import declared_fields
from tarsus.planning import spline
from tarsus.planning.closed_loop import BasePush, run
from tarsus.planning.goals.base import Goal
from tarsus.planning.goals.go import Go
from tarsus.planning.leg_symmetries import leg_symmetries
from tarsus.planning.methods.base import Proposal, SamplingMethod
from tarsus.planning.methods.cem import CEM
from tarsus.planning.methods.mppi import MPPI
from tarsus.planning.planner import GOALS, METHODS
from tarsus.planning.rollout_program import RolloutPlan, create_goal_view
from tarsus.planning.strides import strides
from tarsus.planning.timing import PlanTiming

DT, HORIZON, FEW = 0.005, 0.1, 2  # so few that a world has a lane of its own
TIMING = PlanTiming(horizon=HORIZON, spacing=0.05, rate=50.0)


def made(threads: int = 1, timing: PlanTiming = TIMING, **changed: Any) -> tarsus.Planner:
    """A small planner, to be quick, in the scene that a Simulation has by default."""
    whole: Any = {"limits": True, "stiction": True, "precision": "float64"}
    return tarsus.Planner(
        Go(alternating_share=0.0),
        method=MPPI(samples=FEW, temperature=10.0),
        dt=DT,
        timing=timing,
        threads=threads,
        **(whole | changed),
    )


@pytest.fixture(scope="module")
def planner() -> tarsus.Planner:
    return made()


# ---------------------------------------------------------------- splines


@pytest.mark.parametrize("kind", spline.EXTRA_KNOTS)
def test_splines_interpolate_their_knots_and_hold_the_last(kind: str) -> None:
    knots = np.random.default_rng(0).normal(size=(6, 3))
    for k in range(6):
        assert spline.evaluate(kind, knots, k) == pytest.approx(knots[k], abs=1e-12)
    assert spline.evaluate(kind, knots, 9.3) == pytest.approx(knots[-1], abs=1e-12)
    assert spline.evaluate(kind, knots, -2.0) == pytest.approx(knots[0], abs=1e-12)


def test_cubic_splines_are_hermite_splines() -> None:
    knots = np.random.default_rng(1).normal(size=7)
    padded = np.array([knots[0], *knots, knots[-1]])
    slopes = (padded[2:] - padded[:-2]) / 2
    exact = CubicHermiteSpline(np.arange(7), knots, slopes)
    for s in np.linspace(0, 6, 41):
        assert spline.evaluate("cubic", knots[:, None], s)[0] == pytest.approx(exact(s), abs=1e-12)
    middle = spline.evaluate("linear", knots[:, None], 2.25)[0]
    assert middle == pytest.approx(0.75 * knots[2] + 0.25 * knots[3], abs=1e-12)


# ---------------------------------------------------------------- strides


def test_alternating_sides_are_half_a_stride_apart() -> None:
    """In the share of samples that alternate; the others, and the first, are unchanged."""
    image = leg_symmetries(tarsus.load("mini_cheetah"))[0]
    found = strides((0.5, 0.4), (image,), 0.1)
    assert found is not None and found.half == 2
    drawn = np.random.default_rng(4).standard_normal((9, 7, 12), np.float32)
    before = drawn.copy()
    found.alternate(drawn)
    assert np.array_equal(drawn[1:5, 2:], image(drawn[1:5, :-2]))
    assert not np.array_equal(drawn[1:5, 1:], image(drawn[1:5, :-1]))
    assert np.array_equal(drawn[[0, 5, 6, 7, 8]], before[[0, 5, 6, 7, 8]])
    assert np.array_equal(drawn[:, :2], before[:, :2])


def test_plans_continue_the_alternation_of_legs() -> None:
    robot = tarsus.load("mini_cheetah")
    rest = np.asarray(robot.keyframes["stand"])[actuated_indices(robot)[0]]
    image = leg_symmetries(robot)[0]
    found = strides((0.5, 0.4), (image,), 0.1)
    assert found is not None
    plan: np.ndarray = rest + np.random.default_rng(5).normal(size=(7, 12))
    ahead = plan.copy()
    found.extend(ahead, 3, rest)
    assert np.array_equal(ahead[:4], plan[:4]) and not np.allclose(ahead[4:], plan[4:])
    # twice half a stride later the same side is there again
    there = (plan[2:4] - rest).astype(np.float32)
    assert ahead[4:6] - rest == pytest.approx(image(there), abs=1e-6)
    assert ahead[6] == pytest.approx(plan[2])
    # robots without four legs, and goals that do not ask, have none
    assert strides((0.5, 0.4), (), 0.1) is None and strides((0.0, 0.4), (image,), 0.1) is None
    with refused(InvalidValue, "stride"):
        strides((0.5, 0.3), (image,), 0.1)


# ---------------------------------------------------------------- rollouts


def test_a_rollout_is_the_simulation_under_the_same_servos(planner: tarsus.Planner) -> None:
    """Final state, costs, and the prediction under an active plan, by a Simulation step by step."""
    robot, weights = planner.robot, planner.goal.weights()
    random = np.random.default_rng(2)
    knots = np.tile(planner.targets(0.0), (FEW, TIMING.knots, 1))
    knots += 0.3 * random.normal(size=knots.shape)
    state = np.array(robot.keyframes["stand"]), 0.3 * random.normal(size=robot.nu)
    now = {"position": np.array([1.3]), "steps": np.array([20.0])}
    now |= {"command": np.array([0.4, 0.1, -0.2])}
    tried = planner.rollouts.roll_out(state, knots, now)
    half = now | {"steps": np.array([7.0])}
    early = planner.rollouts.predict(state, knots[1], half)
    # the same in a simulation, with the planner's contacts
    sim, at = tarsus.Simulation(robot, dt=DT, contacts="feet"), actuated_indices(robot)
    sim.set(q=state[0], u=state[1])
    kp, kd = np.array(planner.gains.kp), np.array(planner.gains.kd)
    look, spent = _costs(planner), np.zeros(len(weights))
    for k in range(20):
        target = spline.evaluate("cubic", knots[1], 1.3 + k * DT / TIMING.spacing)
        tau = kp * (target - sim.q[at[0]]) - kd * sim.u[at[1]]
        sim.step(tau)
        limits = [(motor.lower, motor.upper) for motor in robot.actuators]
        tau = np.clip(tau, *np.transpose(limits))
        found = look(sim.q, sim.u, tau, now["command"], sim.backend.first("impulse"))
        spent += (DT + (planner.goal.end if k == 19 else 0)) * np.array(found).ravel()
        if k == 6:
            assert early[0] == pytest.approx(sim.q, abs=1e-9)
            assert early[1] == pytest.approx(sim.u, abs=1e-7)
    assert tried.costs[1] == pytest.approx(spent, rel=1e-6, abs=1e-9)
    assert np.ptp(tried.costs @ list(weights.values())) > 0.01
    assert not tried.unconverged.any()


def _costs(planner: tarsus.Planner) -> ca.Function:
    """The goal's costs at a state, outside of the program."""
    work = planner.rollouts.work
    m, n = work.scene.mechanism, work.motors
    q, u, tau = ca.SX.sym("q", m.nq), ca.SX.sym("u", m.nu), ca.SX.sym("tau", n)
    command, still = ca.SX.sym("command", len(work.goal.commands())), ca.SX.zeros(n)
    now = {"q": q, "u": u, "tau": tau, "clock": ca.SX(0)}
    now["impulse"] = ca.SX.sym("impulse", 3 * work.scene.geometry.report_count)
    seen = create_goal_view(work, now, (still, still), command, None)
    costs = work.goal.all_costs(seen)
    given = [q, u, tau, command, now["impulse"]]
    return ca.Function("costs", given, [ca.vertcat(*(costs[k] for k in work.goal.weights()))])


def test_plans_are_bitwise_equal_for_any_number_of_threads(planner: tarsus.Planner) -> None:
    q = np.array(planner.robot.keyframes["stand"])
    u = np.full(planner.robot.nu, 0.1)
    other = made(threads=2)
    answers = []
    for one in (planner, other, planner, made(seed=1)):
        one.reset()
        answers.append([one(t, q, u) for t in (0.0, 0.01, 0.02, 0.065)])
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])
    assert not np.array_equal(answers[0], answers[3])
    assert [plan.t for plan in other.plans] == [0.0, 0.02, 0.065]


def test_an_earlier_time_resets_the_planner(planner: tarsus.Planner) -> None:
    q, u = np.array(planner.robot.keyframes["stand"]), np.zeros(planner.robot.nu)
    planner.reset()
    first = planner(0.0, q, u)
    planner(0.04, q, u)
    assert np.array_equal(planner(0.0, q, u), first) and len(planner.plans) == 1


def test_knots_stay_at_fixed_times(planner: tarsus.Planner) -> None:
    """A plan that no sample changes goes on as it was, and stays where it ended."""
    held = planner._active[-1]
    knots = np.random.default_rng(3).normal(size=held.proposal.mean.shape)
    planner._active = [type(held)(0.0, 0, Proposal(knots, np.zeros_like(knots)))]
    before = [planner.targets(t) for t in np.arange(0.1, 0.2, 0.01)]
    for first in (1, 1, 2):
        moved = planner._shift(planner._active[-1], first)
        planner._active = [type(held)(0.0, first, moved)]
    late = TIMING.spacing * (TIMING.knots - 1)
    after = [planner.targets(t) for t in np.arange(0.1, 0.2, 0.01)]
    same = [t < late - TIMING.spacing for t in np.arange(0.1, 0.2, 0.01)]
    assert any(same)
    for k in np.flatnonzero(same):
        assert after[k] == pytest.approx(before[k], abs=1e-12)
    assert planner.targets(5.0) == pytest.approx(knots[-1], abs=1e-12)
    planner.reset()


def test_a_delayed_plan_starts_at_the_predicted_state() -> None:
    """Until then the plan before is in force."""
    late = made(timing=PlanTiming(horizon=HORIZON, spacing=0.05, rate=50.0, delay=0.02))
    q, u = np.array(late.robot.keyframes["stand"]), np.zeros(late.robot.nu)
    rest = late.targets(0.0)
    late(0.0, q, u)
    assert late.targets(0.015) == pytest.approx(rest, abs=1e-12)
    assert np.abs(late.targets(0.02) - rest).max() > 1e-3
    assert late.latency().deadline == 0.02 and late.latency().plans == 1


# ---------------------------------------------------------------- methods


def test_mppi_is_the_mean_under_weighted_samples() -> None:
    """For Gaussian samples and a quadratic cost the exact mean is known: exp(-c (x - a)^2 /
    lambda) times the Gaussian is another Gaussian (Williams 2017).
    """
    spread, goal = 0.5, np.array([[0.4]])
    method = MPPI(samples=200_000, temperature=1.0)
    seen: list[float] = []

    def costs(x: np.ndarray) -> np.ndarray:
        cost = ((x - goal) ** 2).sum((1, 2))
        seen.append(float(np.median(cost) - cost.min()))
        return cost

    begin = Proposal(np.zeros((1, 1)), np.full((1, 1), spread))
    found = method.improve(begin, costs, np.random.default_rng(0))
    narrow = 2 * spread**2 / (2 * spread**2 + seen[0])
    assert found.mean[0, 0] == pytest.approx(narrow * goal[0, 0], abs=3e-3)
    assert 1 < found.effective < method.samples


def test_cem_finds_a_minimum_and_keeps_exploring() -> None:
    goal = np.random.default_rng(4).normal(size=(3, 2))
    method = CEM(samples=300, rounds=40, noise=1.0, min_spread=0.01)
    begin = Proposal(np.zeros((3, 2)), np.ones((3, 2)))

    def costs(x: np.ndarray) -> np.ndarray:
        return ((x - goal) ** 2).sum((1, 2))

    found = method.improve(begin, costs, np.random.default_rng(5))
    assert found.mean == pytest.approx(goal, abs=0.02)
    assert (found.spread >= 0.01).all() and (found.spread < 0.05).all()
    assert (method.initial_spread(found.spread) > found.spread).all()


@pytest.mark.parametrize("name", registry.names(METHODS))
def test_diverged_samples_are_ignored(name: str) -> None:
    method = registry.member_class(METHODS, "method", name, SamplingMethod)(samples=64, rounds=1)  # pyright: ignore[reportCallIssue]
    begin = Proposal(np.full((4, 3), 0.2), np.full((4, 3), 0.1))
    random = np.random.default_rng(6)

    def half(x: np.ndarray) -> np.ndarray:
        cost = (x**2).sum((1, 2))
        cost[::2] = np.inf
        return cost

    found = method.improve(begin, half, random)
    assert np.isfinite(found.mean).all() and np.abs(found.mean).max() < 0.5
    lost = method.improve(begin, lambda x: np.full(len(x), np.inf), random)
    assert np.array_equal(lost.mean, begin.mean) and lost.effective == 0


def test_paired_legs_move_equally() -> None:
    """Left and right legs mirror each other; front and hind legs, and diagonals, move equally."""
    robot = tarsus.load("mini_cheetah")
    found = leg_symmetries(robot)
    mirror = mirrored_motors(robot, robot.keyframes["stand"])
    assert mirror is not None
    assert found[0].order.tolist() == list(mirror[0]) and found[0].sign.tolist() == list(mirror[1])
    drawn = np.random.default_rng(8).normal(size=12).astype(np.float32)
    for pairing, kept in zip(found, ((1, -1), (-1, 1), (-1, -1)), strict=True):
        q = np.array(robot.keyframes["stand"])
        q[7:] += 0.3 * pairing.symmetrize(drawn)
        feet = {
            name: robot.position(q, f"{name}_foot") - q[:3] for name in ("FR", "FL", "HR", "HL")
        }
        hips = {"FR": (1, -1), "FL": (1, 1), "HR": (-1, -1), "HL": (-1, 1)}
        for name, (x, y) in hips.items():
            other = next(k for k, at in hips.items() if at == (x * kept[0], y * kept[1]))
            here, there = (feet[k] - [0.19 * hips[k][0], 0, 0] for k in (name, other))
            assert here == pytest.approx(there * [1, kept[1], 1], abs=1e-6)
    assert leg_symmetries(tarsus.load("hoap1")) == ()


# ---------------------------------------------------------------- goals


@pytest.mark.parametrize("name", registry.names(GOALS))
def test_costs_have_weights_and_are_not_negative(name: str) -> None:
    goal: Goal = registry.member_class(GOALS, "goal", name, Goal)()
    work = made().rollouts.work
    ground = goal.ground() or work.scene.terrain
    scene = replace(work.scene, terrain=ground)
    plan = RolloutPlan(goal, scene, work.stepper, work.stand, "cubic", 4)
    assert set(goal.commands()) <= set(declared_fields(type(goal)))
    m, random = scene.mechanism, np.random.default_rng(7)
    q, u = ca.SX.sym("q", m.nq), ca.SX.sym("u", m.nu)
    n = plan.motors
    now = {"q": q, "u": u, "tau": ca.SX(random.normal(size=n)), "clock": ca.SX(0)}
    now["impulse"] = ca.SX.zeros(3 * scene.geometry.report_count)
    command = ca.SX(ca.DM(list(goal.commands().values())))
    p = type("Known", (), {k: ca.SX(ca.DM(v)) for k, v in ground.parameters().items()})
    seen = create_goal_view(plan, now, (ca.SX.zeros(n), ca.SX.zeros(n)), command, p)
    costs = goal.all_costs(seen)
    assert set(costs) == set(goal.weights())
    look = ca.Function("look", [q, u], [ca.vertcat(*costs.values())])
    stand = np.array(work.stand)
    for _ in range(20):
        at = stand + 0.3 * random.normal(size=m.nq)
        at[3:7] /= np.linalg.norm(at[3:7])
        assert (np.array(look(at, random.normal(size=m.nu))) >= 0).all()
    over = stand.copy()
    over[3:7] = [0, 1, 0, 0]
    fallen = dict(zip(costs, np.array(look(over, np.zeros(m.nu))).ravel(), strict=True))
    assert fallen["fall"] == 1 and fallen["tilt"] > 1


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "kind", "subject"),
    [
        ({"goal": "stnd"}, UnknownName, "stnd"),
        ({"method": "cma"}, UnknownName, "cma"),
        ({"dt": 0.003}, InvalidValue, "horizon"),
        ({"law": "morau"}, UnknownName, "morau"),
        ({"worlds": 7}, UnknownName, "worlds"),
    ],
)
def test_planning_mistakes_are_reported_by_name(
    options: Any, kind: type[TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        tarsus.Planner(**options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--push", "nan"], "--push"),
        (["--push", "9", "--push-at", "2"], "the push from 2 to 2.1 s"),
        (["--push", "9", "--push-at", "-0.5"], "the push from -0.5 to -0.4 s"),
        (["--push", "9", "--push-duration", "-1"], "the push's duration"),
    ],
)
def test_an_invalid_push_is_rejected_before_anything_is_compiled(
    given: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tarsus.Planner, "__init__", lambda *_: pytest.fail("compiled"))
    assert cli.main(["plan", "stand", "--duration", "2", *given]) == 2
    assert message in capsys.readouterr().err
    with refused(InvalidValue, "force"):
        BasePush(np.nan).check(2.0)


@pytest.mark.parametrize("start", [0.0, 0.02])
def test_a_push_may_span_the_whole_run(planner: tarsus.Planner, start: float) -> None:
    base = planner.robot.bodies[0].name
    world = tarsus.Simulation(planner.robot, controller=planner, dt=0.001, pushes=base)
    log, result = run(planner, world, 0.04, BasePush(200.0, start=start, duration=0.02))
    assert result.seconds == pytest.approx(0.04) and not result.diverged
    sideways, before = log["u"].values[:, 1], log["time"].values < start + 5e-4
    assert np.abs(sideways[before]).max(initial=0) < 0.1 < sideways[~before].max()


def test_a_push_must_lie_within_the_run() -> None:
    BasePush(9.0, start=0.0, duration=2.0).check(2.0)
    for push, subject in (
        (BasePush(9.0, start=-0.1), "start"),
        (BasePush(9.0, start=1.95), "start"),
        (BasePush(9.0, duration=0.0), "duration"),
    ):
        with refused(InvalidValue, subject):
            push.check(2.0)


def test_invalid_timing_and_commands_are_rejected(planner: tarsus.Planner) -> None:
    with refused(InvalidValue, "delay"):
        PlanTiming(rate=100.0, delay=0.02)
    with refused(UnknownName, "sped"):
        planner.set_commands(sped=1.0)
    with refused(InvalidValue, "speed"):
        planner.set_commands(speed=np.nan)
