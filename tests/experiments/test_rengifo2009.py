"""Closed forms and counts of `tarsus reproduce rengifo2009`, and the parts that its reduced
version skips.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tarsus_papers
from tarsus import robots
from tarsus.viewer import strip
from tarsus_papers.rengifo2009.biped_runs import SAMPLE, BipedRun, biped, weight
from tarsus_papers.rengifo2009.bodies import ball, brick
from tarsus_papers.rengifo2009.landing import Landing
from tarsus_papers.rengifo2009.scaled import scale_robot

DT = 1e-4


@pytest.mark.parametrize(
    ("k_p", "k_v"), [(1.0, 5000.0), (500.0, 250.0), (1e4, 10.0), (400.0, 39.0)]
)
def test_a_landing_is_the_solution_of_eqn_3(k_p: float, k_v: float) -> None:
    """Depth, times, heights and accelerations against an integrator, over- and underdamped."""
    form = Landing(k_p, k_v, 0.7)

    def rate(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -k_p * y[0] - k_v * min(y[1], 0.0)]

    def surfaces(t: float, y: np.ndarray) -> float:
        return y[0] if t > form.turn else -1.0

    surfaces.terminal = True  # type: ignore[attr-defined]
    end = 1.1 * form.return_time
    found = solve_ivp(
        rate, (0, end), [0, -0.7], "LSODA", rtol=1e-10, atol=1e-13, events=surfaces,
        dense_output=True, max_step=end / 400,
    )  # fmt: skip
    assert found.t_events[0] == pytest.approx(form.return_time, rel=1e-4)
    time = np.linspace(0, 0.99 * form.return_time, 300)
    height, speed = found.sol(time)
    assert height.min() == pytest.approx(-form.depth, rel=1e-4)
    np.testing.assert_allclose(form.height(time), height, atol=1e-5 * form.depth)
    np.testing.assert_allclose(
        form.acceleration(time),
        -k_p * height - k_v * np.minimum(speed, 0),
        atol=2e-5 * max(k_v, np.sqrt(k_p)) * 0.7,
    )
    assert -found.y[1, -1] / -0.7 == pytest.approx(form.restitution, rel=1e-3)


def test_restitution_is_a_function_of_k_p_over_k_v_squared() -> None:
    found = [Landing(k_p, np.sqrt(k_p / 0.3), 2.0).restitution for k_p in (1.0, 1e2, 1e6)]
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)
    assert Landing(1e-8, 1.0, 1.0).restitution < 2e-4 < 0.999 < Landing(1e8, 1.0, 1.0).restitution


def test_without_k_p_a_landing_ends_v_over_k_v_deep() -> None:
    form = Landing(0.0, 250.0, 0.5)
    assert form.depth == 0.002 and form.return_time == np.inf and form.restitution == 0
    assert form.height(np.array([10.0]))[0] == pytest.approx(-0.002)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_scaling_a_robot_scales_all_inertias(factor: float) -> None:
    """The mass matrix is a multiple of the original one."""
    for robot in (ball(), brick(), biped()):
        q = np.array(robot.keyframes.get("stand", robot.neutral()))
        heavy = scale_robot(robot, factor)
        np.testing.assert_allclose(heavy.mass_matrix(q), factor * robot.mass_matrix(q), rtol=1e-12)
        assert heavy.mass == pytest.approx(factor * robot.mass)
    own = robots.load("mini_cheetah")
    heavy = scale_robot(own, factor)
    for name in ("damping", "dry_friction", "armature"):
        old, new = (getattr(r.bodies[1].joint, name) for r in (own, heavy))
        assert old > 0 and new == pytest.approx(factor * old)
    assert heavy.actuators[0].upper == pytest.approx(factor * own.actuators[0].upper)


@pytest.fixture
def steady() -> BipedRun:
    """One second on both feet with equal loads; the right foot is in the air, 20 mm high, from
    0.3 to 0.4 s.
    """
    steps, samples = round(1 / DT), round(1 / SAMPLE)
    force, height = np.full((steps, 1, 8), weight() / 8), np.full((samples, 1, 8), -1e-6)
    force[3000:4000, 0, :4] = 0
    height[1500:2000, 0, :4] = 0.02
    nothing = np.zeros((samples, 1, 24))
    time = SAMPLE * np.arange(1, samples + 1)
    return BipedRun(DT, force, time, nothing, nothing, height, np.zeros(1, int), 0.0)


def test_steps_and_losses_of_contact_are_counted(steady: BipedRun) -> None:
    assert [foot for _, foot in steady.landings(0)] == [0]
    assert steady.landings(0)[0][0] == pytest.approx(0.4, abs=2 * SAMPLE)
    assert steady.lift_offs(0, 0) == pytest.approx([0.3], abs=2 * SAMPLE)
    assert [len(found) for found in steady.losses(0)] == [0, 0], "a step is no false impact"
    force = steady.force.copy()
    force[6000:6010, 0, 1] = 0  # a bounce: 0.2 s after its foot has landed
    force[6500:6510, 0, 6] = 0  # of the other foot, which has not: false
    force[9000:9002, 0, 0] = 0  # 0.5 s after: false
    force[9000:9500, 0, 5] = 0  # too long
    force[3500:3520, 0, 2] = 1.0  # a touch in the air that carries nothing
    bounces, later = replace(steady, force=force).losses(0)
    assert bounces == pytest.approx([0.6]) and later == pytest.approx([0.65, 0.9])


def test_a_strip_shows_the_walk(steady: BipedRun) -> None:
    """The log of the walk has the labels that pictures need."""
    stand = np.asarray(biped().keyframes["stand"])
    run = replace(steady, q=np.tile(stand, (len(steady.time), 1, 1)))
    frames = strip.poses(run.log(0), [0.2, 0.8], biped())["frames"]
    assert [frame["time"] for frame in frames] == pytest.approx([0.2, 0.8])


def test_the_second_half_of_a_stance_lies_between_landing_and_lift_off(steady: BipedRun) -> None:
    ((foot, inside),) = steady.stances(0)
    assert foot == 0 and steady.time[inside[0]] == pytest.approx(0.8, abs=2e-3)
    assert inside[-1] == len(steady.time) - 1


@pytest.mark.slow
def test_all_checks_hold_in_the_full_walk_on_all_robots() -> None:
    found = tarsus_papers.findings(tarsus_papers.load("rengifo2009"), ["walk", "parameters"])
    assert not [c for finding in found.values() for c in finding.checks if not c.holds]
    assert set(found["parameters"].data["differences"]) >= {"biped", "hoap1", "mini_cheetah"}
