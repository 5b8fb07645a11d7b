"""Legs that alternate between stance and swing: their phase, and how their joints lift the foot.

Four legs of three hinges trot; two legs with soles walk. This module hides the difference from
code that follows a gait's clock.
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
from tarsus.morphology.feet import find_soles
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
CACHE_SIZE = 16  # robots
STAGES, ITERATIONS = 10, 5  # of bending a leg of three hinges, and Newton iterations in each


@dataclass(frozen=True, eq=False)
class Stride(ABC):
    """Leg that swings once in a period of the gait.

    Attributes
    ----------
    feet
        Names of the contact candidates of its foot.
    half
        Half of the period, 0 or 1, in which the leg is in stance.
    joints
        Names of its hinges, from the base on.
    posture
        Standing joint angles (n,), in rad.
    length
        Length of the straight leg, in m.
    sole
        Index of the last body, and the direction (3,) in it that is up while the sole is level;
        None for a point foot.
    """

    feet: tuple[str, ...]
    half: int
    joints: tuple[str, ...]
    posture: Array
    length: float
    sole: tuple[int, Array] | None

    @abstractmethod
    def lift_offsets(self, height: float) -> Array:
        """Compute offsets (n,) of joint angles, in rad, that lift the foot by a height in m."""

    @abstractmethod
    def bent_angles(self, share: float) -> Array:
        """Compute joint angles (n,), in rad, with the hip at a fraction of the leg's length.

        The foot moves straight up from its place in the posture. If the hip is lower already, the
        posture is returned.
        """


@dataclass(frozen=True, eq=False)
class HingedStride(Stride):
    """One of four legs of three hinges; the foot is lifted along its Jacobian."""

    leg: Leg

    def lift_offsets(self, height: float) -> Array:
        up = np.array([0.0, 0.0, height])
        return np.array(np.linalg.solve(foot_jacobian(self.leg, self.posture), up), float)

    def bent_angles(self, share: float) -> Array:
        angles, foot = np.array(self.posture, float), self.leg.standing_foot
        top = -share * self.length
        if foot[2] >= top:
            return angles
        for part in np.linspace(0, 1, STAGES + 1)[1:]:
            target = foot + part * np.array([0.0, 0.0, top - foot[2]])
            for _ in range(ITERATIONS):
                error = target - foot_in_hip_frame(self.leg, angles)
                angles = angles + np.linalg.solve(foot_jacobian(self.leg, angles), error)
        return angles


@dataclass(frozen=True, eq=False)
class SoleStride(Stride):
    """One of two legs with a flat sole, which stays level when lifted.

    Attributes
    ----------
    position
        Standing position (3,) of the sole in the base, in m.
    """

    leg: SoleLeg
    position: Array

    def lift_offsets(self, height: float) -> Array:
        return self._raise_sole(height) - self.posture

    def bent_angles(self, share: float) -> Array:
        depth = self.leg.positions[0][2] - self.position[2]
        return self._raise_sole(max(depth - share * self.length, 0.0))

    def _raise_sole(self, height: float) -> Array:
        if height == 0:
            return np.array(self.posture, float)
        return sole_angles(self.leg, np.eye(3), self.position + np.array([0.0, 0.0, height]))


def why_no_strides(mechanism: Mechanism) -> str | None:
    """Return the reason why `find_strides` fails; None if it does not."""
    if len(find_soles(mechanism)) == 2:
        return why_no_sole_legs(mechanism)
    return why_no_diagonal_legs(mechanism)


@lru_cache(maxsize=CACHE_SIZE)
def find_strides(mechanism: Mechanism) -> tuple[Stride, ...]:
    """Find the legs of a quadruped that trots, or of a biped that walks.

    Raises
    ------
    Unsupported
        For other robots.
    """
    if len(find_soles(mechanism)) == 2:
        return tuple(_build_sole_stride(mechanism, leg) for leg in find_sole_legs(mechanism))
    legs = find_legs(mechanism)
    return tuple(
        HingedStride((leg.name,), half, leg.joints, leg.posture, sum(leg.lengths), None, leg)
        for leg, half in zip(legs, diagonals(legs), strict=True)
    )


def crouch(robot: Robot, share: float) -> Robot:
    """Add a keyframe "stand" in which the hips are not higher than a fraction of the legs.

    Parameters
    ----------
    robot
        Robot with a keyframe "stand".
    share
        Largest height of the hips, relative to the length of straight legs.

    Returns
    -------
    Robot
        Robot with bent legs; the same object if they are bent enough.
    """
    q = np.array(robot.keyframes["stand"], dtype=float)
    for leg in find_strides(robot):
        for joint, angle in zip(leg.joints, leg.bent_angles(share), strict=True):
            q[robot.q_slices[robot.joint_index(joint)].start] = angle
    if (q == robot.keyframes["stand"]).all():
        return robot
    return replace(robot, keyframes={**robot.keyframes, "stand": q})


def _build_sole_stride(mechanism: Mechanism, leg: SoleLeg) -> Stride:
    """Build the stride of a leg with a sole; the left leg is in stance first."""
    position = np.array(ca.evalf(sole_pose(leg, SX(leg.posture))[1])).ravel()
    feet = tuple(corner.name for corner in find_soles(mechanism)[leg.bodies[-1]])
    return SoleStride(
        *(feet, int(position[1] < 0), leg.joints, leg.posture, leg.length),
        sole=(leg.bodies[-1], leg.level[2]),
        leg=leg,
        position=position,
    )
