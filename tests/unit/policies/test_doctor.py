"""The doctor's comparison of trials: first the score, then the calmness of the base."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from tarsus.policies.doctor import (
    CALM_GAIN,
    MAX_CALM_GAIN,
    MIN_GAIN,
    ContractTrial,
    joint_names,
    root_mean_sway,
)
from tarsus.policies.rollout import Rollout
from tarsus.simulation import resolve

if TYPE_CHECKING:
    from tarsus.policies.binding import BoundPolicy


def trial(score: float, swaying: float) -> ContractTrial:
    return ContractTrial("", "", score, 1.0, swaying)


@pytest.mark.parametrize(
    ("after", "before", "gain"),
    [
        ((0.8, 0.02), (0.5, 0.02), 0.3),  # does better
        ((0.8, 0.02), (0.8, 0.04), CALM_GAIN),  # as well, twice as calm
        ((0.8, 1e-9), (0.8, 1.0), MAX_CALM_GAIN),
        ((0.8, 0.08), (0.5, 0.02), 0.3),  # less calm, which costs nothing where it does better
        ((0.6, 0.001), (0.8, 0.02), -0.2),  # calm since it does less
        ((0.1, np.inf), (0.1, np.inf), 0.0),  # both fall at once
    ],
)
def test_gain_counts_score_and_calmness(
    after: tuple[float, float], before: tuple[float, float], gain: float
) -> None:
    assert trial(*after).gain(trial(*before)) == pytest.approx(gain)


def test_equal_trials_have_no_gain() -> None:
    assert trial(0.8, 0.02).gain(trial(0.8, 0.02)) < MIN_GAIN


def test_sway_counts_only_time_before_the_fall() -> None:
    """A base that turns at 2 rad/s about each axis, and wildly after its fall."""
    u = np.full((10, 1, 6), 2.0)
    u[6:] = 1e6
    empty = np.zeros((10, 1, 3))
    done = Rollout(0.02, empty, empty, empty[0], np.array([0.13]), 0.0, empty, u, empty)
    assert root_mean_sway(done) == pytest.approx(2.0)


def test_breadth_first_joints_match_isaac_lab() -> None:
    """For Mini Cheetah: abduction joints, then hips, then knees, with legs in the order of the
    file.
    """
    robot = resolve.resolve_robot("mini_cheetah")
    joints = tuple(motor.joint for motor in robot.actuators)
    policy = SimpleNamespace(robot=robot, actuators=np.array([3, 0, 1, 2, *range(4, 12)]))
    names = joint_names(cast("BoundPolicy", policy))
    assert names.robot == joints
    assert names.policy[:2] == (joints[3], joints[0])
    assert names.breadth_first == tuple(joints[k] for k in (0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11))
