"""Closest points of two segments, and the frame of their contact."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import DM, SX
from scipy.optimize import lsq_linear

from tarsus.collision.closest_point.segments import Segment, closest_offset, contact_frame
from tarsus.morphology.distances import segment_distances

KINDS = [(True, True), (True, False), (False, True), (False, False)]


def apart(m1: np.ndarray, d1: np.ndarray, m2: np.ndarray, d2: np.ndarray) -> float:
    """The distance of two segments as a bounded least-squares problem, m."""
    found = lsq_linear(np.stack([d1, -d2], 1), m2 - m1, (-1, 1), tol=1e-14)
    return float(np.sqrt(2 * found.cost))


@pytest.mark.parametrize("balls", KINDS)
def test_closest_points_minimize_the_distance(balls: tuple[bool, bool]) -> None:
    random = np.random.default_rng(2)
    ends = [SX.sym(name, 3) for name in ("m1", "d1", "m2", "d2")]
    segments = [
        Segment(m, None) if ball else Segment(m, d, ca.dot(d, d))
        for (m, d), ball in zip((ends[:2], ends[2:]), balls, strict=True)
    ]
    vector, along = closest_offset(*segments)
    found = ca.Function("between", ends, [vector, along])
    for _ in range(200):
        m1, d1, m2, d2 = random.normal(size=(4, 3)) * [[1.0], [0.7], [1.0], [0.7]]
        d1, d2 = d1 * (not balls[0]), d2 * (not balls[1])
        vector, along = (np.array(part).ravel() for part in found(m1, d1, m2, d2))
        expected = apart(m1, d1, m2, d2)
        assert np.linalg.norm(vector) == pytest.approx(expected, abs=1e-5)
        assert segment_distances(*(x[None] for x in (m1, d1, m2, d2)))[0] == pytest.approx(expected)
        assert abs(along[0]) <= 1


def test_parallel_segments_touch_in_the_middle_of_their_overlap() -> None:
    d = SX([0.0, 0.0, 1.0])
    one, other = Segment(SX([0.0, 0.0, 0.0]), d, 1.0), Segment(SX([1.0, 0.0, 1.0]), d, 1.0)
    vector, along = closest_offset(one, other)
    np.testing.assert_allclose(np.array(DM(vector)).ravel(), [-1.0, 0.0, 0.0], atol=1e-5)
    assert float(DM(along)) == pytest.approx(0.5, abs=1e-3)


def test_frames_are_right_handed_and_finite() -> None:
    random = np.random.default_rng(3)
    for normal in (*random.normal(size=(50, 3)), np.zeros(3), -np.array([2.0, 3.0, 6.0])):
        frame = np.array(DM(contact_frame(SX(normal))))
        assert np.isfinite(frame).all()
        if normal.any() and normal[0] != -2.0:
            np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
            np.testing.assert_allclose(frame[0], normal / np.linalg.norm(normal), atol=1e-9)
            assert np.linalg.det(frame) > 0
