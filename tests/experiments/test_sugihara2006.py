"""Parts of `tarsus reproduce sugihara2006` that the reduced version skips, and their measures."""

from __future__ import annotations

import numpy as np
import pytest

import tarsus_papers
from tarsus_papers.sugihara2006.configurations import DT
from tarsus_papers.sugihara2006.walk_log import high_pass, outside, rms


@pytest.mark.slow
def test_hoap1_walks_on_the_paper_s_floor_with_and_without_static_friction() -> None:
    found = tarsus_papers.findings(tarsus_papers.load("sugihara2006"), ["walk", "friction"])
    wrong = [check for finding in found.values() for check in finding.checks if not check.holds]
    assert not wrong
    assert found["friction"].data["apart_m"] < 0.02


def test_distance_of_a_point_from_a_sole() -> None:
    sole = np.array([[0, 0], [2, 0], [2, 1], [0, 1.0]])
    assert outside(np.array([1.0, 0.5]), sole) == 0
    assert outside(np.array([1.0, -0.3]), sole) == pytest.approx(0.3)
    assert outside(np.array([2.3, 1.4]), sole) == pytest.approx(0.5, rel=2e-3)


def test_slow_parts_are_skipped() -> None:
    time = DT * np.arange(2000)
    slow, fast = np.sin(2 * np.pi * 5 * time), 0.5 * np.sin(2 * np.pi * 50 * time)
    found = high_pass((slow + fast)[:, None], 20.0)
    np.testing.assert_allclose(found[:, 0], fast, atol=1e-9)
    assert rms(found) == pytest.approx(0.5 / np.sqrt(2))
