"""The doctor's comparison of trials: score first, then smoothness."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus.policies.doctor import (
    MAX_SMOOTHNESS_GAIN,
    MIN_GAIN,
    SMOOTHNESS_GAIN,
    ContractTrial,
    roughness,
)
from tarsus.policies.rollout import Rollout


def trial(score: float, rough: float) -> ContractTrial:
    return ContractTrial("", "", score, 1.0, rough)


@pytest.mark.parametrize(
    ("after", "before", "gain"),
    [
        ((0.8, 0.02), (0.5, 0.02), 0.3),  # does better
        ((0.8, 0.02), (0.8, 0.04), SMOOTHNESS_GAIN),  # as well, twice as smooth
        ((0.8, 1e-9), (0.8, 1.0), MAX_SMOOTHNESS_GAIN),
        ((0.8, 0.08), (0.5, 0.02), 0.3),  # rougher, which costs nothing where it does better
        ((0.6, 0.001), (0.8, 0.02), -0.2),  # smooth since it does less
        ((0.1, np.inf), (0.1, np.inf), 0.0),  # both fall at once
    ],
)
def test_a_gain_is_one_of_the_score_or_of_smoothness(
    after: tuple[float, float], before: tuple[float, float], gain: float
) -> None:
    assert trial(*after).gain(trial(*before)) == pytest.approx(gain)


def test_the_same_trial_gains_nothing() -> None:
    assert trial(0.8, 0.02).gain(trial(0.8, 0.02)) < MIN_GAIN


def test_roughness_is_that_before_the_fall() -> None:
    """Signals k^2 of one motor have second differences of 2; after the fall they jump."""
    signals = (np.arange(10.0) ** 2).reshape(10, 1, 1)
    signals[6:] = 1e6
    empty = np.zeros((10, 1, 3))
    done = Rollout(
        0.02,
        empty,
        empty,
        empty[0],
        np.array([0.12]),
        0.0,
        empty,
        empty,
        np.tile(signals, (1, 1, 1)),
    )
    assert roughness(done) == pytest.approx(2.0)
