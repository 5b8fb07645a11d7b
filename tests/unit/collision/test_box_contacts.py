"""Contacts of capsules and boxes against numbers: distances, face to face, edge to edge."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import DM, SX
from scipy.spatial.transform import Rotation

from tarsus.collision.closest_point.box_box import find_face_pair
from tarsus.collision.closest_point.capsule_box import Block, capsule_on_box
from tarsus.collision.closest_point.segments import Segment
from tarsus.collision.distance_bounds import separations
from tarsus.model.solids import Capsule, Cuboid, Pair
from tarsus.morphology.distances import solid_distance

ABSENT = 1.0
PLACE = [SX.sym(name, *size) for name, size in {"p": (3,), "R": (3, 3), "h": (3,)}.items()]
OTHER = [SX.sym(name, *size) for name, size in {"p2": (3,), "R2": (3, 3), "h2": (3,)}.items()]


def capsule_at() -> ca.Function:
    """Gaps, normals and places of a segment (middle, half) at a box."""
    m, d = SX.sym("m", 3), SX.sym("d", 3)
    found = capsule_on_box(m, d, 0.0, Block(*PLACE))
    columns = [ca.vertcat(at.gap, at.normal, at.along) for at in found]
    return ca.Function("at", [m, d, *PLACE], [ca.horzcat(*columns)])


def boxes_at() -> ca.Function:
    """Gap and point of all twelve contacts of two boxes, by number as in a slot; their normal."""
    row, how = SX.sym("row"), find_face_pair(Block(*PLACE), Block(*OTHER))
    one = ca.Function("one", [row, *PLACE, *OTHER], [ca.vertcat(*how.contact(row), how.normal)])
    known = [ca.vertcat(*how.contact(k), how.normal) for k in range(12)]
    rows = [one(k, *PLACE, *OTHER) for k in range(12)]
    found = ca.horzcat(*known)
    return ca.Function("all", [*PLACE, *OTHER], [found, found - ca.horzcat(*rows)])


def test_closest_points_of_segment_and_box() -> None:
    at, random = capsule_at(), np.random.default_rng(3)
    box = Cuboid("box", 0, np.zeros(3), np.array([0.3, 0.2, 0.1]))
    for _ in range(200):
        R = Rotation.from_quat(random.normal(size=4)).as_matrix()
        m, d = 0.6 * random.normal(size=3), 0.4 * random.normal(size=3)
        gaps = np.array(at(m, d, np.zeros(3), R, box.half))
        poses = np.zeros((1, 2, 3)), np.array([[R, np.eye(3)]])
        expected = solid_distance(Pair(Capsule("c", 1, m, d, 1e-9), box), poses)[0]
        if 1e-6 < expected < ABSENT:
            assert gaps[0].min() == pytest.approx(expected, abs=1e-6)
            nearest = gaps[:, np.argmin(gaps[0])]
            assert np.linalg.norm(nearest[1:4]) == pytest.approx(1)


def test_separated_boxes_do_not_touch() -> None:
    """The step uses this to detect distant boxes."""
    at, boxes, random = capsule_at(), boxes_at(), np.random.default_rng(5)
    far = 0
    for _ in range(60):
        R, R2 = Rotation.from_quat(random.normal(size=(2, 4))).as_matrix()
        p, q, half, other = random.uniform(0.05, 0.2, size=(4, 3))
        box, second = Cuboid("box", 0, p, half, R), Cuboid("second", 1, -q, other, R2)
        capsule = Capsule("capsule", 1, -q, other, 1e-9)
        shapes = {
            "box": Block(SX(p), SX(R), SX(half)),
            "second": Block(SX(-q), SX(R2), SX(other)),
            "capsule": Segment(SX(-q), SX(other), float(other @ other)),
        }
        for first, gaps in (
            (capsule, at(-q, other, p, R, half)),
            (second, boxes(-q, R2, other, p, R, half)[0]),
        ):
            parted = [float(DM(way)) for way in separations(Pair(first, box), shapes)]
            if max(parted) > 0:
                assert np.array(gaps)[0].min() > 0
                far += 1
    assert 20 < far < 100


def test_a_capsule_lies_on_a_face_with_both_ends() -> None:
    """One that is longer than the box with the ends of what is above it."""
    at = capsule_at()
    half, R = np.array([0.3, 0.2, 0.1]), np.eye(3)
    short = np.array(at([0, 0, 0.15], [0.1, 0, 0], np.zeros(3), R, half))
    np.testing.assert_allclose(short[0], [ABSENT, 0.05, 0.05], atol=1e-9)
    np.testing.assert_allclose(short[4, 1:], [-1, 1])
    long = np.array(at([0.1, 0, 0.15], [0.5, 0, 0], np.zeros(3), R, half))
    np.testing.assert_allclose(0.1 + 0.5 * long[4, 1:], [-0.3, 0.3])
    upright = np.array(at([0, 0, 0.3], [0, 0, 0.15], np.zeros(3), R, half))
    assert upright[0].min() == pytest.approx(0.05) and upright[4, np.argmin(upright[0])] == -1


def test_face_contacts_are_corners_of_the_shared_area() -> None:
    at = boxes_at()
    half, R = np.array([0.1, 0.1, 0.05]), np.eye(3)

    def corners(p: np.ndarray, turned: np.ndarray, h: np.ndarray) -> np.ndarray:
        found, difference = at(np.zeros(3), R, half, p, turned, h)
        assert np.abs(np.array(difference)).max() < 1e-12
        found = np.array(found)
        there = found[:, found[0] < 0.5 * ABSENT]
        np.testing.assert_allclose(there[0], p[2] - half[2] - h[2], atol=1e-9)
        np.testing.assert_allclose(there[4:].T, [[0, 0, -1]] * there.shape[1], atol=1e-9)
        return np.unique(np.round(there[1:3].T, 5), axis=0)

    up = np.array([0, 0, 0.1 - 1e-6])
    square = np.array([[-0.1, -0.1], [-0.1, 0.1], [0.1, -0.1], [0.1, 0.1]])
    np.testing.assert_allclose(corners(up, R, half), square, atol=2e-6)
    aside = corners(np.array([0.12, 0.03, up[2]]), R, half)
    expected = [[0.02, -0.07], [0.02, 0.1], [0.1, -0.07], [0.1, 0.1]]
    np.testing.assert_allclose(aside, expected, atol=3e-6)
    crossed = corners(up, Rotation.from_euler("z", 45, degrees=True).as_matrix(), half)
    assert len(crossed) == 8, "an octagon"
    small = corners(np.array([0, 0, up[2] - 0.03]), R, np.array([0.02, 0.03, 0.02]))
    assert len(small) == 4 and np.abs(small).max() == pytest.approx(0.03)
    large = corners(up, R, np.array([0.3, 0.04, 0.05]))
    assert len(large) == 4 and np.abs(large).max() == pytest.approx(0.1)


def shares_at() -> ca.Function:
    """Gaps of all twelve contacts, and what each has of the stiffness."""
    how = find_face_pair(Block(*PLACE), Block(*OTHER))
    gaps = ca.horzcat(*(how.contact(k)[0] for k in range(12)))
    shares = ca.horzcat(*(how.share(k) for k in range(12)))
    row = SX.sym("row")
    one = ca.Function("one", [row, *PLACE, *OTHER], [how.share(row)])
    again = ca.horzcat(*(one(k, *PLACE, *OTHER) for k in range(12)))
    return ca.Function("shares", [*PLACE, *OTHER], [gaps, shares, shares - again])


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 3e-5])
def test_a_box_on_an_equal_box_has_four_contacts(off: float) -> None:
    """Round-off and micrometers make no eight of them: its edges lie side by side."""
    at, random = boxes_at(), np.random.default_rng(7)
    half = np.array([0.1, 0.08, 0.05])
    for _ in range(50):
        p = np.array([0, 0, 0.1 - 1e-5]) + off * random.uniform(-1, 1, 3)
        turn = Rotation.from_rotvec(off * random.uniform(-3, 3, 3)).as_matrix()
        found = np.array(at(np.zeros(3), np.eye(3), half, p, turn, half)[0])
        there = found[:, found[0] < 0.5 * ABSENT]
        assert there.shape[1] == 4
        np.testing.assert_allclose(np.abs(there[1:3].T), [[0.1, 0.08]] * 4, atol=2 * off + 1e-9)


@pytest.mark.parametrize("aside", [0.0, 3e-5])
def test_contact_stiffness_of_a_turned_box_is_continuous(aside: float) -> None:
    """From four contacts to eight within milliradians: a new contact shares the load of its
    neighbor.
    """
    at, half, before = shares_at(), np.array([0.1, 0.08, 0.05]), 4.0
    for turn in np.linspace(0, 2e-3, 4001):
        R = Rotation.from_euler("z", turn).as_matrix()
        place = [aside, 0, 0.1 - 1e-5]
        gaps, shares, difference = at(np.zeros(3), np.eye(3), half, place, R, half)
        assert np.abs(np.array(difference)).max() < 1e-12
        total = float((np.array(shares) * (np.array(gaps) < 0)).sum())
        assert abs(total - before) < 0.2
        before = total
    assert before == pytest.approx(8)


def test_edges_cross() -> None:
    at = boxes_at()
    half = np.array([0.1, 0.1, 0.1])
    one = Rotation.from_euler("x", 45, degrees=True).as_matrix()
    other = Rotation.from_euler("y", 45, degrees=True).as_matrix()
    height = 2 * 0.1 * np.sqrt(2) - 1e-4
    found = np.array(at(np.zeros(3), one, half, [0.02, 0.03, height], other, half)[0])
    assert (found[0] < 0.5 * ABSENT).sum() == 1
    np.testing.assert_allclose(found[:, 0], [-1e-4, 0.02, 0, height / 2, 0, 0, -1], atol=1e-6)


def test_overlap_matches_separating_axes() -> None:
    at, random = boxes_at(), np.random.default_rng(4)
    for _ in range(100):
        half, other = random.uniform(0.05, 0.3, (2, 3))
        R, turned = Rotation.from_quat(random.normal(size=(2, 4))).as_matrix()
        p = 0.3 * random.normal(size=3)
        one, two = (Cuboid(str(k), k, np.zeros(3), h) for k, h in enumerate((half, other)))
        poses = np.array([[np.zeros(3), p]]), np.array([[R, turned]])
        expected = solid_distance(Pair(one, two), poses)[0]
        found = np.array(at(np.zeros(3), R, half, p, turned, other)[0])
        if expected < 0:
            assert found[0].min() >= 1.06 * expected - 1e-4 and found[0].min() < 0
        toward = found[4:, 0] @ p
        assert toward < 0, "the normal points away from the second"
