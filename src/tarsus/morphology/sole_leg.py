"""Find legs of six or seven hinges with a flat sole, and compute their forward kinematics.

Vectors are in the frame of the base. The origin of the *sole frame* is in the middle of the sole's
corners. Its axes are those of the base in the standing posture, so that a sole with the identity as
rotation is level and points ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.support_points import contact_point
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.morphology.feet import find_soles
from tarsus.morphology.legs import list_hinges
from tarsus.spatial.rotation import about_axis, constant

Array = NDArray[np.float64]
MIN_HINGES, MAX_HINGES = 6, 7  # from the base to the sole
MIN_WIDTH = 0.005  # m, of a sole
CACHE_SIZE = 64  # robots


@dataclass(frozen=True, eq=False)
class SoleLeg:
    """Leg of n hinges that ends in a flat sole.

    Attributes
    ----------
    name
        Name of the body with the sole.
    joints
        Names of its hinges, from the base on.
    bodies
        Indices of the bodies that they move.
    rotations, positions
        Poses of each body in the previous one, the first in the base, at zero joint angles, shapes
        (n, 3, 3) and (n, 3), in m.
    axes
        Axes (n, 3) of the hinges, each in its body's frame.
    sole
        Middle (3,) of the sole in the last body, in m.
    level
        Rotation (3, 3) from the last body to the sole frame.
    half
        Half of the sole's length and width (2,), in m.
    posture
        Standing joint angles (n,), in rad.
    limits
        Lower and upper joint limits (n, 2), in rad.
    """

    name: str
    joints: tuple[str, ...]
    bodies: tuple[int, ...]
    rotations: Array
    positions: Array
    axes: Array
    sole: Array
    level: Array
    half: Array
    posture: Array
    limits: Array

    @property
    def size(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def length(self) -> float:
        """Length of the leg from the first joint to the sole, m."""
        steps = [*np.linalg.norm(self.positions[1:], axis=1), np.linalg.norm(self.sole)]
        return float(np.sum(steps))


def find_sole_legs(mechanism: Mechanism) -> tuple[SoleLeg, ...]:
    """Find the legs that end in a sole, in the order of bodies.

    Raises
    ------
    Unsupported
        If the robot has no two such legs.
    """
    reason = why_no_sole_legs(mechanism)
    if reason:
        raise Unsupported(reason, mechanism.name)
    return _legs(mechanism)


def why_no_sole_legs(mechanism: Mechanism) -> str | None:
    """Return the reason why `find_sole_legs` fails; None if it does not."""
    name = repr(mechanism.name)
    if not mechanism.floating:
        return f"{name} has no base on a free joint, which gaits that walk need."
    if mechanism.loops or not mechanism.candidates:
        return f"{name} needs legs without closed loops and with contact candidates."
    by_body = find_soles(mechanism)
    if len(by_body) != 2:
        return f"a gait for bipeds needs two feet, but {name} has {len(by_body)}."
    for body, corners in by_body.items():
        chain, foot = list_hinges(mechanism, body), mechanism.bodies[body].name
        if not MIN_HINGES <= len(chain) <= MAX_HINGES or not _starts_at_base(mechanism, chain):
            return (
                f"the leg to {foot!r} of {name} must consist of {MIN_HINGES} or {MAX_HINGES} hinges"
                f" from the base to a flat foot, but it has {len(chain)}."
            )
        extent = np.ptp(_corners(mechanism, body, corners)[0], axis=0)
        if len(corners) < 3 or np.sort(extent)[1] < MIN_WIDTH:
            return f"the foot {foot!r} of {name} has no flat sole of at least three corners."
    return None


def sole_pose(leg: SoleLeg, angles: SX) -> tuple[SX, SX]:
    """Compute the rotation (3, 3) and position (3,), in m, of the sole frame at angles (n,)."""
    R, p = SX.eye(3), SX.zeros(3)
    for home, position, axis, angle in _hinges(leg, angles):
        p = p + ca.mtimes(R, constant(position))
        R = ca.mtimes([R, constant(home), about_axis(axis, angle)])
    return ca.mtimes(R, constant(leg.level.T)), p + ca.mtimes(R, constant(leg.sole))


def sole_jacobian(leg: SoleLeg, angles: SX) -> SX:
    """Compute J (6, n): J times joint rates is the sole's velocity and angular velocity."""
    R, p, points, axes = SX.eye(3), SX.zeros(3), [], []
    for home, position, axis, angle in _hinges(leg, angles):
        p = p + ca.mtimes(R, constant(position))
        R = ca.mtimes(R, constant(home))
        points.append(p)
        axes.append(ca.mtimes(R, constant(axis)))
        R = ca.mtimes(R, about_axis(axis, angle))
    end = p + ca.mtimes(R, constant(leg.sole))
    columns = [ca.cross(a, end - point) for a, point in zip(axes, points, strict=True)]
    return ca.vertcat(ca.horzcat(*columns), ca.horzcat(*axes))


def _hinges(leg: SoleLeg, angles: SX) -> list[tuple[Array, Array, Array, SX]]:
    """Compute rotation, position, axis and angle of every hinge."""
    angle = ca.vertsplit(angles)
    return list(zip(leg.rotations, leg.positions, leg.axes, angle, strict=True))


@lru_cache(maxsize=CACHE_SIZE)
def _legs(mechanism: Mechanism) -> tuple[SoleLeg, ...]:
    by_body = find_soles(mechanism).items()
    return tuple(_build_leg(mechanism, body, corners) for body, corners in by_body)


def _standing(mechanism: Mechanism) -> Array:
    return mechanism.keyframes.get("stand", mechanism.neutral())


def _corners(mechanism: Mechanism, body: int, corners: list[Candidate]) -> tuple[Array, Array]:
    """Compute the corners (n, 3) of a sole in level axes, and the body's rotation to them.

    Corners are relative to the last body's origin. For an outline it is the contact point.
    """
    kin = kinematics(mechanism, SX(DM(np.asarray(_standing(mechanism)))))
    base, last = (np.array(DM(kin.world_rotation[i])) for i in (0, body))
    level = base.T @ last
    points = [
        corner.position if corner.outline is None else contact_point(corner, -level[2])
        for corner in corners
    ]
    return np.array(points) @ level.T, level


def _build_leg(mechanism: Mechanism, body: int, corners: list[Candidate]) -> SoleLeg:
    """Build the leg to a body, given the corners of its sole."""
    # the middle of the corners in level axes
    points, level = _corners(mechanism, body, corners)
    low = points[:, 2] - [corner.radius for corner in corners]
    middle = np.array([*(points.max(0) + points.min(0))[:2] / 2, low.min()])
    # the chain of hinges
    q = _standing(mechanism)
    chain = list_hinges(mechanism, body)
    links = [mechanism.bodies[i] for i in chain]
    return SoleLeg(
        name=mechanism.bodies[body].name,
        joints=tuple(link.joint.name for link in links),
        bodies=tuple(chain),
        rotations=np.array([link.rotation for link in links]),
        positions=np.array([link.position for link in links]),
        axes=np.array([link.joint.axis for link in links]),
        sole=level.T @ middle,
        level=level,
        half=np.ptp(points, axis=0)[:2] / 2,
        posture=np.array([q[mechanism.q_slices[i].start] for i in chain], dtype=float),
        limits=np.array([(link.joint.lower, link.joint.upper) for link in links]),
    )


def _starts_at_base(mechanism: Mechanism, chain: list[int]) -> bool:
    """Return whether the hinges are contiguous from the floating base on."""
    return [mechanism.bodies[i].parent for i in chain] == [0, *chain[:-1]]
