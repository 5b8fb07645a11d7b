"""Legs with rounded axes in their file: a trot accepts them up to a stated tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import tarsus
from tarsus.control.gaits.trot import Trot
from tarsus.morphology import legs


def turned(angle: float) -> tarsus.Robot:
    """Mini Cheetah, a hip's axis turned by an angle, rad."""
    robot = tarsus.load("mini_cheetah")
    body = robot.bodies[2]
    axis = np.array([np.sin(angle), np.cos(angle), 0.0]) * np.sign(body.joint.axis[1])
    off = replace(body, joint=replace(body.joint, axis=axis))
    return replace(robot, bodies=(*robot.bodies[:2], off, *robot.bodies[3:]))


def test_rounding_does_not_stop_a_trot() -> None:
    """7e-6 rad, as in the file of Barkour v0, and up to the tolerance."""
    straight = legs.find_legs(tarsus.load("mini_cheetah"))
    for angle in (7e-6, 0.99 * legs.ALIGNED):
        assert Trot().why_unsuitable(turned(angle)) is None
        found = legs.find_legs(turned(angle))[0]
        assert np.array_equal(found.signs, straight[0].signs)
        feet = [legs.foot_in_hip_frame(leg, leg.posture) for leg in (found, straight[0])]
        assert np.abs(feet[0] - feet[1]).max() < angle


def test_unsuitable_legs_are_reported_with_the_tolerance() -> None:
    reason = Trot().why_unsuitable(turned(2 * legs.ALIGNED))
    assert reason is not None and "to within 0.001 rad" in reason
