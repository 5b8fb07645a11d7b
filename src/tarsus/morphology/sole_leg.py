"""Legs of six or seven hinges with a flat sole, as humanoids have, and their forward kinematics.

Vectors are in the base's axes with its origin as zero. A *sole's frame* lies in the middle of the
sole's corners; it has the base's axes while the robot stands in its posture, so that a sole with
rotation 1 is level and points ahead.
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
from tarsus.morphology.feet import soles
from tarsus.morphology.legs import hinges_to
from tarsus.spatial.rotation import about_axis, constant

Array = NDArray[np.float64]
FEWEST, MOST = 6, 7  # hinges from the base to the sole
FLAT = 0.005  # m: corners of a level sole are not higher than this above its lowest
ROBOTS = 64  # robots whose legs are remembered


@dataclass(frozen=True, eq=False)
class SoleLeg:
    """One leg.

    name: of the body with the sole
    joints: names of its hinges, from the base on
    bodies: the bodies that they move, by number
    rotations, positions, axes: (n, 3, 3), (n, 3), (n, 3) of each body in the one before it, the
        first in the base, and of its hinge in its own frame, at zero joint angles
    sole: (3,) the middle of the sole in the last body, m
    level: (3, 3) the last body in the sole's frame
    half: (2,) half of the sole's length and width, m
    posture: (n,) joint angles standing, rad
    limits: (n, 2) lower and upper, rad
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
        """From the first joint to the sole along the leg, m."""
        steps = [*np.linalg.norm(self.positions[1:], axis=1), np.linalg.norm(self.sole)]
        return float(np.sum(steps))


def find_sole_legs(mechanism: Mechanism) -> tuple[SoleLeg, ...]:
    """The legs that end in a sole, in the order of the bodies; TarsusError if one is none."""
    reason = why_no_sole_legs(mechanism)
    if reason:
        raise Unsupported(reason, mechanism.name)
    return _legs(mechanism)


def why_no_sole_legs(mechanism: Mechanism) -> str | None:
    """In one sentence why `find_sole_legs` fails; None if it does not."""
    name = repr(mechanism.name)
    if not mechanism.floating:
        return f"{name} has a fixed base: no gait can move it."
    if mechanism.loops or not mechanism.candidates:
        return f"{name} needs legs without closed loops and with contact candidates."
    found = soles(mechanism)
    if len(found) != 2:
        return f"a gait for bipeds needs two feet, but {name} has {len(found)}."
    for body, corners in found.items():
        chain, foot = hinges_to(mechanism, body), mechanism.bodies[body].name
        if not FEWEST <= len(chain) <= MOST or not _hangs_on_base(mechanism, chain):
            return (
                f"the leg to {foot!r} of {name} must consist of {FEWEST} or {MOST} hinges from the"
                f" base to a flat foot, but it has {len(chain)}."
            )
        extent = np.ptp(_corners(mechanism, body, corners)[0], axis=0)
        if len(corners) < 3 or np.sort(extent)[1] < FLAT:
            return f"the foot {foot!r} of {name} has no flat sole of at least three corners."
    return None


def sole_pose(leg: SoleLeg, angles: SX) -> tuple[SX, SX]:
    """Rotation (3, 3) and place (3,), m, of the sole's frame at joint angles (n,)."""
    R, p = SX.eye(3), SX.zeros(3)
    for home, place, axis, angle in _hinges(leg, angles):
        p = p + ca.mtimes(R, constant(place))
        R = ca.mtimes([R, constant(home), about_axis(axis, angle)])
    return ca.mtimes(R, constant(leg.level.T)), p + ca.mtimes(R, constant(leg.sole))


def sole_jacobian(leg: SoleLeg, angles: SX) -> SX:
    """J (6, n): the sole's velocity (m/s) and angular velocity (rad/s) are J times the rates."""
    R, p, points, axes = SX.eye(3), SX.zeros(3), [], []
    for home, place, axis, angle in _hinges(leg, angles):
        p = p + ca.mtimes(R, constant(place))
        R = ca.mtimes(R, constant(home))
        points.append(p)
        axes.append(ca.mtimes(R, constant(axis)))
        R = ca.mtimes(R, about_axis(axis, angle))
    end = p + ca.mtimes(R, constant(leg.sole))
    columns = [ca.cross(a, end - at) for a, at in zip(axes, points, strict=True)]
    return ca.vertcat(ca.horzcat(*columns), ca.horzcat(*axes))


def _hinges(leg: SoleLeg, angles: SX) -> list[tuple[Array, Array, Array, SX]]:
    """Rotation, place and axis of every hinge, with its angle."""
    angle = ca.vertsplit(angles)
    return list(zip(leg.rotations, leg.positions, leg.axes, angle, strict=True))


@lru_cache(maxsize=ROBOTS)
def _legs(mechanism: Mechanism) -> tuple[SoleLeg, ...]:
    found = soles(mechanism).items()
    return tuple(_leg(mechanism, body, corners) for body, corners in found)


def _standing(mechanism: Mechanism) -> Array:
    return mechanism.keyframes.get("stand", mechanism.neutral())


def _corners(mechanism: Mechanism, body: int, corners: list[Candidate]) -> tuple[Array, Array]:
    """The corners' centers (n, 3), of outlines the points that touch, from the last body's origin,
    seen level where the robot stands; the last body's axes (3, 3) there.
    """
    kin = kinematics(mechanism, SX(DM(np.asarray(_standing(mechanism)))))
    base, last = (np.array(DM(kin.world_rotation[i])) for i in (0, body))
    level = base.T @ last
    points = [
        corner.position if corner.outline is None else contact_point(corner, -level[2])
        for corner in corners
    ]
    return np.array(points) @ level.T, level


def _leg(mechanism: Mechanism, body: int, corners: list[Candidate]) -> SoleLeg:
    """The leg to a body with the corners of its sole."""
    # the middle of the corners, seen level
    points, level = _corners(mechanism, body, corners)
    low = points[:, 2] - [corner.radius for corner in corners]
    middle = np.array([*(points.max(0) + points.min(0))[:2] / 2, low.min()])
    # the chain of hinges
    q = _standing(mechanism)
    chain = hinges_to(mechanism, body)
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


def _hangs_on_base(mechanism: Mechanism, chain: list[int]) -> bool:
    """Whether the hinges follow each other from the floating base on."""
    return [mechanism.bodies[i].parent for i in chain] == [0, *chain[:-1]]
