"""Legs that take turns: which feet are on the ground when, and how their joints lift them.

Four legs of three hinges trot, two with soles walk; what differs between them is said here, so that
who follows a clock need not know how many there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.feet import soles
from tarsus.morphology.legs import (
    Leg,
    diagonals,
    find_legs,
    foot_in_hip_frame,
    foot_jacobian,
    why_no_diagonal_legs,
)
from tarsus.morphology.sole_inverse_kinematics import sole_angles
from tarsus.morphology.sole_leg import SoleLeg, find_sole_legs, sole_pose, why_no_sole_legs

Array = NDArray[np.float64]
KEPT = 16  # robots whose strides are remembered
STAGES, LOOKS = 10, 5  # of bending a leg of three hinges, and Newton's steps in each


@dataclass(frozen=True, eq=False)
class Stride(ABC):
    """A leg whose turn comes once in a round of the clock.

    feet: names of the contact candidates that it stands on
    half: the half of the round, 0 or 1, in which they shall be on the ground
    joints: names of its hinges, from the base on
    posture: (n,) their angles standing, rad
    length: m, of the straight leg
    sole: the body that it ends in, by number, and the direction (3,) there that is upwards while
        the sole is level; None for a foot that is a point
    """

    feet: tuple[str, ...]
    half: int
    joints: tuple[str, ...]
    posture: Array
    length: float
    sole: tuple[int, Array] | None

    @abstractmethod
    def lifted(self, height: float) -> Array:
        """Angles (n,) off the posture, rad, that lift the foot by a height, m."""

    @abstractmethod
    def bent(self, share: float) -> Array:
        """Angles (n,), rad, with the foot straight above where it is in the posture, so that the
        hip is no higher than a share of the straight leg; the posture if it is not.
        """


@dataclass(frozen=True, eq=False)
class HingedStride(Stride):
    """One of four legs of three hinges; feet are lifted along their Jacobian."""

    leg: Leg

    def lifted(self, height: float) -> Array:
        up = np.array([0.0, 0.0, height])
        return np.array(np.linalg.solve(foot_jacobian(self.leg, self.posture), up), float)

    def bent(self, share: float) -> Array:
        angles, foot = np.array(self.posture, float), self.leg.standing_foot
        high = -share * self.length
        if foot[2] >= high:
            return angles
        for part in np.linspace(0, 1, STAGES + 1)[1:]:
            aim = foot + part * np.array([0.0, 0.0, high - foot[2]])
            for _ in range(LOOKS):
                off = aim - foot_in_hip_frame(self.leg, angles)
                angles = angles + np.linalg.solve(foot_jacobian(self.leg, angles), off)
        return angles


@dataclass(frozen=True, eq=False)
class SoleStride(Stride):
    """One of two legs with a flat sole, which stays level as it is lifted.

    place: (3,) of the sole standing, in the base, m
    """

    leg: SoleLeg
    place: Array

    def lifted(self, height: float) -> Array:
        return self._raised(height) - self.posture

    def bent(self, share: float) -> Array:
        depth = self.leg.positions[0][2] - self.place[2]
        return self._raised(max(depth - share * self.length, 0.0))

    def _raised(self, height: float) -> Array:
        if height == 0:
            return np.array(self.posture, float)
        return sole_angles(self.leg, np.eye(3), self.place + np.array([0.0, 0.0, height]))


def why_no_strides(mechanism: Mechanism) -> str | None:
    """In one sentence why `strides` fails; None if it does not."""
    if len(soles(mechanism)) == 2:
        return why_no_sole_legs(mechanism)
    return why_no_diagonal_legs(mechanism)


@lru_cache(maxsize=KEPT)
def strides(mechanism: Mechanism) -> tuple[Stride, ...]:
    """The legs of a trot on four, or of a walk on two; TarsusError for others."""
    if len(soles(mechanism)) == 2:
        return tuple(_of_sole(mechanism, leg) for leg in find_sole_legs(mechanism))
    legs = find_legs(mechanism)
    return tuple(
        HingedStride((leg.name,), half, leg.joints, leg.posture, sum(leg.lengths), None, leg)
        for leg, half in zip(legs, diagonals(legs), strict=True)
    )


def crouch(robot: Robot, share: float) -> Robot:
    """The robot standing with hips no higher than a share of its straight legs; the same if they
    are not.
    """
    q = np.array(robot.keyframes["stand"], dtype=float)
    for leg in strides(robot):
        for joint, angle in zip(leg.joints, leg.bent(share), strict=True):
            q[robot.q_slices[robot.joint_index(joint)].start] = angle
    if (q == robot.keyframes["stand"]).all():
        return robot
    return replace(robot, keyframes={**robot.keyframes, "stand": q})


def _of_sole(mechanism: Mechanism, leg: SoleLeg) -> Stride:
    """The left one's turn is first."""
    place = np.array(ca.evalf(sole_pose(leg, SX(leg.posture))[1])).ravel()
    feet = tuple(corner.name for corner in soles(mechanism)[leg.bodies[-1]])
    return SoleStride(
        *(feet, int(place[1] < 0), leg.joints, leg.posture, leg.length),
        sole=(leg.bodies[-1], leg.level[2]),
        leg=leg,
        place=place,
    )
