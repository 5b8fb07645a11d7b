"""Find three-joint legs in a mechanism, and compute their forward kinematics.

A leg is a chain abad (about x) - hip (about y) - knee (about y) from the base to a foot, with any
signs of the axes, offsets between joints, and side to which the knee bends. All vectors are in the
base's axes at zero joint angles. So is the *hip frame*, whose origin is at the abad joint.

With o, t, s the vectors abad-hip, hip-knee, knee-foot, the foot in the hip frame is
p = Rx(theta_0) (o + Ry(theta_1) (t + Ry(theta_2) s)), theta_i = sign_i q_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.morphology.feet import candidates_of_last_bodies

Array = NDArray[np.float64]
ALIGNED = 1e-3  # rad; tolerance on a hinge's axis, for the rounding of files


@dataclass(frozen=True, eq=False)
class Leg:
    """Leg with abad, hip and knee joints; vectors (3,) are in m, base axes.

    Attributes
    ----------
    name
        Name of its foot.
    joints
        Names of the abad, hip and knee joints.
    signs
        Signs (3,) of their axes.
    hip
        Position of the abad joint in the base.
    abad, thigh, shank
        Vectors from abad to hip, hip to knee, and knee to foot.
    radius
        Radius of the foot, in m.
    posture
        Standing joint angles (3,), in rad.
    bend
        Side to which the knee bends: sign of the shank's angle minus the thigh's, about +y.
    """

    name: str
    joints: tuple[str, str, str]
    signs: Array
    hip: Array
    abad: Array
    thigh: Array
    shank: Array
    radius: float
    posture: Array
    bend: int

    @property
    def lateral(self) -> float:
        """Distance of the foot from the abad axis along +y with the abad joint at zero, m."""
        return float(self.abad[1] + self.thigh[1] + self.shank[1])

    @property
    def lengths(self) -> tuple[float, float]:
        """Lengths of thigh and shank in the leg's plane, m."""
        return float(np.hypot(*self.thigh[::2])), float(np.hypot(*self.shank[::2]))

    @property
    def rest_angles(self) -> tuple[float, float]:
        """Angles of thigh and shank from straight down, about +y, at zero joint angles, rad."""
        return _down_angle(self.thigh), _down_angle(self.shank)

    @property
    def standing_foot(self) -> Array:
        """Position (3,) of the foot in the hip frame in the standing posture, m."""
        return foot_in_hip_frame(self, self.posture)


def find_legs(mechanism: Mechanism) -> tuple[Leg, ...]:
    """Find a leg for every chain of hinges that ends in a body with contact candidates.

    The foot is the farthest candidate of that body.

    Raises
    ------
    Unsupported
        If a chain is not a leg of abad, hip and knee.
    """
    reason = _why_no_legs(mechanism)
    if reason:
        raise Unsupported(reason, mechanism.name)
    return tuple(_build_leg(mechanism, foot) for foot in _find_feet(mechanism))


def list_hinges(mechanism: Mechanism, body: int) -> list[int]:
    """Find the hinged bodies on the path from the base to a body, in this order."""
    path = [i for i in tree.support_path(mechanism, body) if i not in mechanism.base_chain]
    return [i for i in reversed(path) if mechanism.bodies[i].joint.kind == "hinge"]


def diagonals(legs: tuple[Leg, ...]) -> tuple[int, ...]:
    """Find the diagonal of each leg: 0 for front left and hind right, 1 for the others."""
    if len(legs) != 4:
        raise Unsupported(_leg_count_message(len(legs)), "legs")
    middle = np.mean([leg.hip for leg in legs], axis=0)
    signs = [np.sign(leg.hip - middle) for leg in legs]
    return tuple(0 if x * y > 0 else 1 for x, y, _ in signs)


def why_no_diagonal_legs(mechanism: Mechanism) -> str | None:
    """Return the reason why `diagonals(find_legs(mechanism))` fails; None if it does not."""
    count = len(_find_feet(mechanism))
    return _why_no_legs(mechanism) or (None if count == 4 else _leg_count_message(count))


def stroke_upper_bound(mechanism: Mechanism) -> float:
    """Return an upper bound of the stroke of a stance foot, in m: twice the longest leg."""
    return 2 * max(sum(leg.lengths) for leg in find_legs(mechanism))


def foot_in_hip_frame(leg: Leg, angles: Array) -> Array:
    """Compute the position (3,) of the foot in the hip frame, in m, at joint angles (3,) in rad."""
    abad, hip, knee = leg.signs * angles
    return _about_x(abad) @ (leg.abad + _about_y(hip) @ (leg.thigh + _about_y(knee) @ leg.shank))


def foot_jacobian(leg: Leg, angles: Array) -> Array:
    """Compute the derivative (3, 3) of `foot_in_hip_frame` with respect to joint angles, m/rad."""
    abad, hip, knee = leg.signs * angles
    plane = _about_x(abad)
    shank = _about_y(hip) @ _about_y(knee) @ leg.shank
    lower = _about_y(hip) @ leg.thigh + shank
    x, y = np.eye(3)[:2]
    columns = (
        np.cross(x, plane @ (leg.abad + lower)),
        plane @ np.cross(y, lower),
        plane @ np.cross(y, shank),
    )
    return np.array(columns).T * leg.signs


def _find_feet(mechanism: Mechanism) -> list[Candidate]:
    """Find the farthest contact candidate of the last body of every chain of hinges."""
    return [
        max((mechanism.candidates[k] for k in touching), key=_reach)
        for body, touching in candidates_of_last_bodies(mechanism).items()
        if mechanism.bodies[body].joint.kind == "hinge"
    ]


def _why_no_legs(mechanism: Mechanism) -> str | None:
    """Return the reason why a chain is not a leg of abad, hip and knee; None if all are."""
    feet = _find_feet(mechanism)
    if not feet:
        return f"{mechanism.name!r} has no legs: no last body of a chain has a contact candidate."
    for foot in feet:
        _, axes, _ = _find_chain(mechanism, foot)
        expected = np.eye(3)[[0, 1, 1]]
        if len(axes) != 3 or not np.allclose(np.abs(axes), expected, atol=ALIGNED):
            listed = ", ".join(_format_axis(axis) for axis in axes)
            actual = f"its axes are {listed}" if len(axes) == 3 else f"it has {len(axes)}"
            return (
                f"the leg to {foot.name!r} of {mechanism.name!r} must have three hinges (abad, hip,"
                f" knee) about x, y and y to within {ALIGNED:g} rad, but {actual}."
            )
        if not _build_leg(mechanism, foot).bend:
            return (
                f"the knee of the leg to {foot.name!r} is straight, so the direction in which it"
                ' bends is unknown: give the robot a keyframe "stand" with bent knees.'
            )
    return None


def _format_axis(axis: Array) -> str:
    return f"({', '.join(f'{x:.4g}' for x in np.round(axis, 4) + 0.0)})"


def _leg_count_message(count: int) -> str:
    return f"a gait with diagonal leg pairs needs four legs, but this robot has {count}."


def _find_chain(
    mechanism: Mechanism, foot: Candidate
) -> tuple[list[int], list[Array], list[Array]]:
    """Find a foot's hinges, their axes, and the positions of hinges and foot, at zero angles."""
    chain = _select_contiguous(mechanism, list_hinges(mechanism, foot.body))
    axes, points, turn = [], [], np.eye(3)
    for body in (mechanism.bodies[i] for i in chain):
        points.append(turn @ body.position)
        turn = turn @ body.rotation
        axes.append(turn @ body.joint.axis)
    points.append(turn @ foot.position)
    return chain, axes, points


def _build_leg(mechanism: Mechanism, foot: Candidate) -> Leg:
    """Build the leg of three hinges that ends in a foot; its bend is 0 if the knee is straight."""
    chain, axes, points = _find_chain(mechanism, foot)
    signs = np.sign(np.sum(axes, axis=1))
    first, second, third = (mechanism.bodies[i].joint.name for i in chain)
    posture = _choose_posture(mechanism, chain)  # gives the side to which the knee bends
    knee = signs[2] * posture[2] + _down_angle(points[3]) - _down_angle(points[2])
    return Leg(
        name=foot.name,
        joints=(first, second, third),
        signs=signs,
        hip=points[0],
        abad=points[1],
        thigh=points[2],
        shank=points[3],
        radius=foot.radius,
        posture=posture,
        bend=_sign_of_bend(knee),
    )


def _select_contiguous(mechanism: Mechanism, hinges: list[int]) -> list[int]:
    """Select the hinges after the last joint of another kind."""
    parents = [mechanism.bodies[body].parent for body in hinges]
    breaks = [k for k in range(1, len(hinges)) if parents[k] != hinges[k - 1]]
    return hinges[max(breaks, default=0) :]


def _choose_posture(mechanism: Mechanism, chain: list[int]) -> Array:
    """Choose standing angles: the keyframe "stand", else the middle of each joint's range."""
    if "stand" in mechanism.keyframes:
        stand = mechanism.keyframes["stand"]
        return np.array([stand[mechanism.q_slices[i].start] for i in chain], dtype=float)
    ranges = np.array(
        [(mechanism.bodies[i].joint.lower, mechanism.bodies[i].joint.upper) for i in chain]
    )
    return np.where(np.isfinite(ranges).all(axis=1), np.nan_to_num(ranges).mean(axis=1), 0.0)


def _sign_of_bend(angle: float) -> int:
    """Compute the sign of an angle wrapped to (-pi, pi); 0 if it is nearly zero."""
    angle = (angle + np.pi) % (2 * np.pi) - np.pi
    if abs(angle) < 1e-3:
        return 0
    return 1 if angle > 0 else -1


def _reach(candidate: Candidate) -> float:
    return float(np.linalg.norm(candidate.position)) + candidate.radius


def _down_angle(vector: Array) -> float:
    """Compute the angle about +y from straight down to a vector in the x-z plane, in rad."""
    return float(np.arctan2(-vector[0], -vector[2]))


def _about_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _about_y(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
