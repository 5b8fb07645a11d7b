"""Checks of policies in cases with known margins, first events and differences between engines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.policies import DT, contract
from numpy.typing import NDArray

from tarsus import cli, load
from tarsus.policies import events, margins, separation
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.check import check_policy
from tarsus.policies.events import EventMeasures
from tarsus.policies.foot_contact import foot_gaps, foot_slip
from tarsus.policies.survival import EngineResult, Survival, engines_by_name
from tarsus.policies.trials import TrialPlan, draw_trials, run
from tarsus.policies.worlds import Conditions, PolicyEngine, dry_friction

Array = NDArray[np.float64]
GROUND = "ground stiffness"
STILL = TrialPlan(np.zeros(3), DT, 1.5, 6)


def flat(points: Array) -> Array:
    return np.zeros(points.shape[:-1])


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> BoundPolicy:
    """A network of zeros: the servos hold the robot up, so that all margins follow from statics."""
    folder = tmp_path_factory.mktemp("policy")
    return BoundPolicy.of(contract(folder, scale=0.0), load("mini_cheetah"))


def test_a_shorter_plan_has_the_first_trials(standing: BoundPolicy) -> None:
    long, short = draw_trials(standing, STILL), draw_trials(standing, STILL.shorten(2))
    np.testing.assert_array_equal(long.conditions.q[:2], short.conditions.q)
    np.testing.assert_array_equal(long.pushes[0.0][:2], short.pushes[0.0])


@pytest.mark.parametrize("height", [None, 0.1, 0.5])
def test_feet_start_on_or_above_the_ground(standing: BoundPolicy, height: float | None) -> None:
    """Stiff ground would throw a robot whose feet start below it."""
    policy = BoundPolicy.of(standing.contract.with_values("test", height=height), standing.robot)
    worlds = PolicyEngine().create_worlds(policy, draw_trials(policy, STILL).conditions, DT)
    lowest = foot_gaps(policy.robot, worlds.q, flat).min(axis=1)
    assert (lowest > -1e-9).all()
    if height is not None:
        np.testing.assert_array_less(height - 1e-9, worlds.q[:, 2])


def test_legs_without_gains_let_the_robot_fall(standing: BoundPolicy) -> None:
    """Servos with a fraction of their stiffness bend by m g / k and more, until they give in."""
    margin = margins.find_margin(standing, PolicyEngine(), "weaker gains", STILL)
    assert margin.fails
    assert 0 <= margin.high < margin.low < 1
    assert margin.low - margin.high == pytest.approx(2.0**-margins.BISECTIONS)
    for value, stands in ((margin.low, True), (margin.high, False)):
        changed = margins.FACTORS["weaker gains"].change(
            standing, draw_trials(standing, STILL), value
        )
        done = run(standing, PolicyEngine(), changed, STILL)
        assert (2 * done.succeeded.sum() > STILL.count) == stands


def test_a_standing_robot_stands_on_soft_ground(standing: BoundPolicy) -> None:
    """Ground stiffness is varied under a law that has one."""
    margin = margins.find_margin(standing, PolicyEngine(), GROUND, STILL.shorten(2))
    assert margin.law == margins.SOFT_LAW
    assert margins.FACTORS[GROUND].position(margin.value) > 0.5


def test_joint_friction_scales_with_the_torque_limit(standing: BoundPolicy) -> None:
    conditions = Conditions.uniform(standing, 2)
    rubbing = replace(conditions, joint_friction=np.array([0.0, 0.5]))
    for joint, values in dry_friction(standing, rubbing).items():
        own = standing.robot.bodies[standing.robot.joint_index(joint)].joint.dry_friction
        motor = next(m for m in standing.robot.actuators if m.joint == joint)
        np.testing.assert_allclose(values, [own, own + 0.5 * motor.upper])


def test_trials_add_friction_to_joints_without_one(standing: BoundPolicy) -> None:
    """They lock like joints that have friction of their own."""
    bodies = [replace(b, joint=replace(b.joint, dry_friction=0.0)) for b in standing.robot.bodies]
    smooth = replace(standing.robot, bodies=tuple(bodies))
    bare, plan = BoundPolicy.of(standing.contract, smooth), replace(STILL, seconds=0.2)
    trials = draw_trials(bare, plan)
    rubbing = replace(trials.conditions, joint_friction=np.ones(plan.count))
    moved = []
    for one in (trials, replace(trials, conditions=rubbing)):
        done = run(bare, PolicyEngine("moreau"), one, plan, record=True)
        moved.append(np.abs(done.q[-1] - done.q[0])[:, 7:].max())
    assert moved[1] < 0.25 * moved[0]


@pytest.mark.parametrize(("law", "share"), [("moreau", 0.25), ("", 0.9)])
def test_friction_locks_joints(standing: BoundPolicy, law: str, share: float) -> None:
    """With the torque limit as dry friction, joints hardly move, though the robot is dropped.
    In MuJoCo dry friction is a soft constraint, so they creep.
    """
    plan = replace(STILL, seconds=0.2)
    trials = draw_trials(standing, plan)
    rubbing = replace(trials.conditions, joint_friction=np.ones(plan.count))
    locked = run(
        standing, PolicyEngine(law), replace(trials, conditions=rubbing), plan, record=True
    )
    free = run(standing, PolicyEngine(law), trials, plan, record=True)
    moved = [np.abs(done.q[-1] - done.q[0])[:, 7:].max() for done in (locked, free)]
    assert moved[0] < share * moved[1]


def test_gaps_and_slip_of_feet() -> None:
    """A robot lifted by 0.1 m and moved sideways at 0.3 m/s, whose feet are in the air, or not."""
    robot = load("mini_cheetah")
    q = np.tile(robot.keyframes["stand"], (2, 1))
    q[:, 2] -= foot_gaps(robot, q, flat).min()
    q[1, 2] += 0.1
    u = np.zeros((2, robot.nu))
    u[:, 1] = 0.3
    gaps = foot_gaps(robot, q, flat)
    assert gaps.shape == (2, 4)
    np.testing.assert_allclose(gaps[1] - gaps[0], 0.1, atol=1e-9)
    slip = foot_slip(robot, q, u, flat)
    np.testing.assert_allclose(slip[0], 0.3, atol=1e-9)
    np.testing.assert_array_equal(slip[1], 0)


def test_swings_are_counted_between_lift_off_and_touchdown() -> None:
    """One foot: down, up for three periods, down, up for one, down."""
    touching = np.array([1, 0, 0, 0, 1, 0, 1], bool)[:, None, None]
    swings = events.swing_times(touching)[:, 0]
    assert swings[4] == 3
    assert swings[6] == 1
    assert np.isinf(np.delete(swings, [4, 6])).all()


def test_the_first_event_is_the_first_measure_out_of_its_normal_range() -> None:
    """Joint limit at period 3, slip at period 5, a fall at period 8."""
    quiet = np.zeros((10, 1))
    slip, limit = quiet.copy(), quiet.copy()
    slip[5], limit[3] = 1.0, 0.1
    usual = EventMeasures({}, {"foot slip": quiet, "joint limit": quiet}, np.zeros(0), 0.02)
    fallen = EventMeasures({"foot slip": slip, "joint limit": limit}, {}, np.array([0.16]), 0.02)
    first = events.first_events("moreau", fallen, usual)
    assert first.counts == {"joint limit": 1}
    assert first.lead_time["joint limit"] == pytest.approx(0.16 - 4 * 0.02)
    late = EventMeasures({"foot slip": slip, "joint limit": quiet}, {}, np.array([0.08]), 0.02)
    assert events.first_events("moreau", late, usual).counts == {events.NO_EVENT: 1}


def test_engines_are_compared_only_if_their_intervals_are_disjoint() -> None:
    rows = [EngineResult("a", DT, Survival(20, 20)), EngineResult("b", DT, Survival(18, 20))]
    assert separation.best_and_worst(rows) is None
    rows.append(EngineResult("c", DT, Survival(2, 20)))
    pair = separation.best_and_worst(rows)
    assert pair is not None
    assert [row.engine for row in pair] == ["a", "c"]
    assert separation.best_and_worst([EngineResult("d", DT, failure="refused")]) is None


def test_ground_too_soft_to_stand_on_is_reported(standing: BoundPolicy) -> None:
    """Under a spring of 20 N/m the robot sinks by more than its height; stiffer ones carry it."""
    soft = PolicyEngine("compliant", parameters=("c_N=20", "c_T=20"))
    chosen = {**engines_by_name(["moreau"]), "soft ground": soft}
    trials, plan = draw_trials(standing, STILL), STILL
    rows = [
        EngineResult.of(name, DT, run(standing, engine, trials, plan))
        for name, engine in chosen.items()
    ]
    pair = separation.best_and_worst(rows)
    assert pair is not None
    variants = separation.variants(chosen[pair[1].engine], plan)
    apart = separation.combine_results(
        pair, [separation.run_variant(standing, *v) for v in variants]
    )
    assert apart.falling == "soft ground"
    changes = {variant.change.split()[0] for variant in apart.variants}
    assert {"c_N", "c_T", "d_N", "dt"} <= changes
    assert all(v.survival.trials == plan.count for v in apart.variants)


def test_a_check_writes_a_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same seed gives the same files; both name every engine."""
    from tarsus.policies import policy_toml

    made = contract(tmp_path, scale=0.0)
    (tmp_path / "policy.toml").write_text(policy_toml.to_toml(made, tmp_path))
    command = ["policy", "check", str(tmp_path / "policy.toml"), "--robot", "mini_cheetah"]
    command += ["--command", "0", "0", "0", "--dt", "0.005", "--duration", "0.5", "--trials", "4"]
    command += ["--laws", "moreau,mujoco", "--survival-only"]
    texts = []
    for name in ("a", "b"):
        assert cli.main([*command, "--out", str(tmp_path / name)]) == 0
        files = [tmp_path / name / f"policy_check.{kind}" for kind in ("html", "json")]
        texts.append([file.read_text() for file in files])
    assert texts[0] == texts[1]
    report = json.loads(texts[0][1])
    names = [row["engine"] for row in report["survival"]]
    assert names == ["moreau", "mujoco default", "mujoco tuned"]
    assert all(row["survival"]["stood"] == 4 for row in report["survival"])
    assert all(name in texts[0][0] for name in names)
    capsys.readouterr()


def test_a_check_does_not_depend_on_the_number_of_workers(standing: BoundPolicy) -> None:
    plan, names = replace(STILL, seconds=0.1), ["moreau", "mujoco"]
    one, two = (
        check_policy(standing, names, plan, "moreau", survival_only=True, workers=workers)
        for workers in (1, 2)
    )
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
