"""`tarsus validate`: closed forms, rows, JSON and messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from helpers.refused import refused
from scipy.integrate import solve_ivp

from tarsus import cli, registry
from tarsus.contact.base import Law
from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.engines.base import Engine, Motion, NotModeled, Session, Start
from tarsus.engines.mujoco import NOT_MODELED, MujocoEngine
from tarsus.engines.tarsus import TarsusEngine
from tarsus.mujoco_runs.settings import NAMED
from tarsus.validation.bodies import cube, pose
from tarsus.validation.scenes.base import EFFECTS, Case, ValidationScene, falls_below, worst
from tarsus.validation.scenes.bouncing_ball import restitution
from tarsus.validation.table import LAWS, SCENES, ValidationRow, validate

KEYS = {"scene", "law", "stepper", "expected", "measured", "error", "status", "reason"}
SOFT = {"spring_rest", "spring_contact_time", "hoap1_drop"}
OWN = {"bouncing_ball"}  # scenes of one law's parameters
# that compile for longer than the others together
HEAVY = {"dragged_cube", "gripped_capsule", "heavy_on_light", "hyq_drop", "pushed_box"}
HEAVY |= {"stacked_boxes"}


@pytest.fixture(scope="module")
def moreau() -> list[ValidationRow]:
    light = [name for name in registry.names(SCENES) if name not in HEAVY]
    return [row for name in light for row in validate("moreau", name, "midpoint")]


def test_moreau_passes_every_scene_of_rigid_contact(moreau: list[ValidationRow]) -> None:
    assert {row.scene for row in moreau} | HEAVY == set(registry.names(SCENES))
    wrong = [row for row in moreau if row.scene not in SOFT | OWN and row.status != "pass"]
    assert not wrong, wrong
    assert all(
        row.error is not None and row.error <= (row.tolerance or 0.0)
        for row in moreau
        if row.status == "pass"
    )


@pytest.mark.slow
@pytest.mark.parametrize("scene", sorted(HEAVY))
def test_moreau_passes_the_heavy_scenes(scene: str) -> None:
    rows = validate("moreau", scene, "midpoint")
    assert rows and all(row.status == "pass" for row in rows), rows


def test_effects_that_a_law_does_not_model_have_a_reason(moreau: list[ValidationRow]) -> None:
    lacking = [row for row in moreau if row.status == "not modeled"]
    assert {row.scene for row in lacking} == SOFT | OWN
    assert all(row.measured is None for row in lacking)
    assert all("hard contact" in row.reason for row in lacking if row.scene in SOFT)
    assert all("no parameter k_p" in row.reason for row in lacking if row.scene in OWN)
    (refused,) = validate("moreau", "creep", "rk4")
    assert refused.status == "not modeled" and "impulses" in refused.reason


@pytest.mark.parametrize(
    ("law", "scene", "cases"),
    [
        ("linearized", "bouncing_ball", 3),
        ("micro", "hoap1_drop", 2),
        ("compliant", "vertical_hopper", 1),
    ],
)
def test_laws_pass_the_scenes_of_their_own_papers(law: str, scene: str, cases: int) -> None:
    rows = validate(law, scene, "midpoint")
    assert len(rows) == cases and all(row.status == "pass" for row in rows), rows


def test_restitution_of_the_bouncing_ball_runs_from_one_to_zero() -> None:
    """Against the oscillator of Rengifo 2009, Eqn. (3), integrated; at critical damping it is
    exp(-1).
    """
    k_p, k_v = np.array([100.0, 100.0, 100.0, 100.0]), np.array([1e-6, 5.0, 20.0 - 1e-6, 1e4])
    found = restitution(k_p, k_v)
    for k in range(3):

        def moves(t: float, y: np.ndarray, k: int = k) -> list[float]:
            return [y[1], -k_p[k] * y[0] - k_v[k] * y[1]]

        sinking = solve_ivp(
            moves, (0, 1), [0, -1.0], rtol=1e-10, atol=1e-12, events=lambda t, y: y[1]
        )
        assert found[k] == pytest.approx(-10 * sinking.y_events[0][0][0], rel=1e-6)
    np.testing.assert_allclose(found, [1.0, found[1], np.exp(-1), 0.0], atol=2e-3)


def test_mujoco_is_measured_on_the_same_scenes_at_each_of_its_settings() -> None:
    dragged = validate("mujoco", "dragged_cube", unclaimed=True, settings=["tuned"])
    assert [row.case for row in dragged] == ["time", "distance", "force at slip"]
    assert all(row.error is not None and row.error < 0.01 for row in dragged[:2])
    held = validate("mujoco", "creep", unclaimed=True)
    assert [row.stepper for row in held] == list(NAMED)
    default, tuned, discrete = (row.measured or 0.0 for row in held)
    assert default > 1e-3 > 5e-5 > tuned > discrete > 1e-9
    pyramid, cone = validate("mujoco", "isotropic_friction", settings=["default", "tuned"])
    assert (pyramid.status, cone.status) == ("fail", "pass")


def test_mujoco_and_soft_convex_share_tolerances() -> None:
    """Both have the same exceptions, except for joints, which only MuJoCo softens."""
    assert dict(NOT_MODELED) | dict(SoftConvex.not_modeled) == dict(NOT_MODELED)
    assert set(NOT_MODELED) - set(SoftConvex.not_modeled) == {"hard joints"}
    for scene in ("creep", "launched_cube", "dead_ball", "spring_rest"):
        theirs = validate("mujoco", scene, settings=["tuned"])
        ours = validate("soft_convex", scene, "midpoint")
        assert [r.status for r in theirs] == [r.status for r in ours] == ["not modeled"], scene


def test_scenes_that_mujoco_fails_at_any_setting() -> None:
    """A lifted sliding cube and a ball that rebounds; the exact value of both is zero."""
    for scene, least in (("launched_cube", 0.01), ("dead_ball", 0.1)):
        rows = validate("mujoco", scene, unclaimed=True)
        assert len(rows) == len(NAMED)
        assert all(row.measured is not None and row.measured > least for row in rows), rows


def test_mujoco_joint_friction_creeps_under_load() -> None:
    """MuJoCo's dry friction is soft; its joint limits have no restitution."""
    found = validate("mujoco", "joint_stiction", unclaimed=True, settings=["default"])
    rows = {row.case: row for row in found}
    creep = rows["creep of resting arms"]
    assert creep.status == "not modeled" and (creep.measured or 0.0) > 1e-3
    (refused,) = validate("mujoco", "joint_stop", settings=["default"])
    assert refused.status == "not modeled"
    (refused,) = validate("compliant", "joint_stop", "rk4")
    assert refused.status == "not modeled" and "springs" in refused.reason


def test_laws_and_scenes_use_the_same_effects() -> None:
    for name in registry.names(LAWS):
        law = registry.member_class(LAWS, "law", name, Law)
        assert set(law.not_modeled) <= set(EFFECTS), name  # type: ignore[attr-defined]
    for name in registry.names(SCENES):
        scene = registry.member_class(SCENES, "scene", name, ValidationScene)()
        assert scene.needs <= set(EFFECTS) and len(scene.tolerance) > 40, name


# ---------------------------------------------------------------- as a person types it


def test_json_is_a_list_of_rows(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["validate", "--law", "moreau", "--scene", "restitution", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["stepper"] for row in rows} >= {"midpoint"} and all(
        set(row) >= KEYS for row in rows
    )
    measured = next(row for row in rows if row["stepper"] == "midpoint")
    assert measured["status"] == "pass" and measured["error"] == abs(
        measured["measured"] - measured["expected"]
    )


@pytest.mark.slow
def test_results_print_as_a_table(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["validate", "--law", "moreau", "--scene", "sliding_cube"]) == 0
    out = capsys.readouterr().out
    assert "1.223" in out and "3.67" in out and " 0 fail" in out
    assert "not modeled" in out and "rk4" in out


def test_a_failure_is_exit_code_1(capsys: pytest.CaptureFixture) -> None:
    line = ["validate", "--law", "mujoco", "--scene", "isotropic_friction"]
    assert cli.main(line) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "fail: more than 1e-09" in out
    assert all(settings.description() in out for settings in NAMED.values())
    assert cli.main([*line, "--mujoco", "tuned"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--law", "morea"], "no law named 'morea'; did you mean moreau"),
        (
            ["--scene", "block_on_slop"],
            "no scene named 'block_on_slop'; did you mean block_on_slope",
        ),
        (["--stepper", "rk5"], "no stepper named 'rk5'; did you mean rk4"),
        (["--mujoco", "tund"], "tuned"),
        (["--workers", "0"], "--workers"),
        (["--real", "cube_tosses", "--workers", "2"], "--workers"),
        (["--out", "nowhere"], "--out"),
    ],
)
def test_unknown_names_are_rejected_in_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(["validate", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


# ---------------------------------------------------------------- the judge


def test_nan_results_fail() -> None:
    case = worst(("speed", "m/s"), 0.0, [0.5, np.nan, 0.0], 1.0, ["a", "b", "c"])
    assert case.name == "speed, b" and not case.passed
    assert (
        worst(("speed", "m/s"), 0.0, [0.5, 2.0, 0.0], [1.0, 1.0, 0.1], ["a", "b", "c"]).name
        == "speed, b"
    )


def test_higher_than_required_order_passes() -> None:
    assert Case("order", "1", 2.0, 3.1, 0.2, at_least=True).passed
    assert not Case("order", "1", 2.0, 1.7, 0.2, at_least=True).passed
    assert not Case("order", "1", 2.0, np.inf, 0.2, at_least=True).passed


def test_a_crossing_lies_between_two_steps() -> None:
    time = np.array([1.0, 2.0, 3.0])
    assert falls_below(1.5, np.array([3.0, 2.0, 1.0]), time) == 2.5
    assert np.isnan(falls_below(0.5, np.array([3.0, 2.0, 1.0]), time))


class Ice(Engine):
    """Engine in which every body slides forever at its initial speed."""

    law, stepper = "ice", "none"
    not_modeled: Mapping[str, str] = {}
    impulsive = True
    parameters = frozenset({"mu"})

    def step(self, dt: float) -> float:
        return dt

    def begin(self, start: Start, dt: float) -> Session:
        return Sliding(start, dt)


class Sliding(Session):
    """Bodies that move forever without contact."""

    def __init__(self, start: Start, dt: float) -> None:
        self.dt, self.worlds, self._contacts = dt, start.worlds, len(start.body.candidates)
        self._q = np.array(np.broadcast_to(np.asarray(start.q, float), (start.worlds, 7)))
        self._u = np.array(np.broadcast_to(np.asarray(start.u, float), (start.worlds, 6)))

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self._q.copy(), self._u.copy()

    def advance(self, steps: int) -> None:
        self._q[:, :3] += steps * self.dt * self._u[:, :3]

    def record(self, steps: int) -> Motion:
        return replace(
            super().record(steps), impulse=np.zeros((steps, self.worlds, self._contacts, 3))
        )


@pytest.mark.parametrize(
    "name", ["block_on_slope", "stopping_distance", "sliding_cube", "slide_to_roll", "flat_box"]
)
def test_a_wrong_law_fails(name: str) -> None:
    cases = registry.member_class(SCENES, "scene", name, ValidationScene)().measure(Ice())
    assert not all(case.passed for case in cases)


def test_a_parameter_that_a_law_does_not_have_is_not_modeled() -> None:
    with refused(NotModeled, "e_N"):
        registry.member_class(SCENES, "scene", "restitution", ValidationScene)().measure(Ice())


@pytest.mark.parametrize(
    "engine", [TarsusEngine("moreau", "midpoint"), MujocoEngine()], ids=["ours", "mujoco"]
)
def test_a_growing_push_does_the_work_of_its_integral(engine: Engine) -> None:
    """In free fall m x' = p t + r t^2 / 2, with different values per world, whatever is logged."""
    rates = np.array([[1.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    start = Start(cube(), pose([0, 0, 10.0]), push=[0.5, 0.5, 0.0], push_rate=rates)
    for skip in (0.0, 0.1):
        motion = engine.run(start, 0.001, 0.2, skip=skip)
        expected = 0.5 * 0.2 * np.array([1, 1]) + rates[:, :2] * 0.2**2 / 2
        np.testing.assert_allclose(motion.u[-1, :, :2], expected, rtol=1e-9, atol=1e-12)


def test_a_body_without_contacts_is_integrated_with_substeps() -> None:
    """The stepper used to query the contacts of a step under an impulse law although there were
    none.
    """
    rows = validate("lcp_impulse", "free_flight", "dormand_prince")
    assert rows
    assert {row.status for row in rows} == {"pass"}, rows
