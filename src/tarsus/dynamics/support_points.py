"""Support points of outlines: the point farthest along a direction, and its velocity.

The support point of a convex shape is the point that maximizes the dot product with a direction.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics import jacobian
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.model.outline import COUNT, Outline
from tarsus.spatial.rotation import constant

MIN_LENGTH = 0.05  # of |y|, relative to the size: bounds the velocity of the support point


def parameters(outline: Outline) -> SX:
    """Pack the parameters (22,) of an outline for the functions below."""
    return constant(outline.numbers)


def support_point(parameters: SX, toward: SX) -> SX:
    """Find the point farthest along a direction, from the outline's center.

    Parameters
    ----------
    parameters
        Parameters of the outline, shape (22,).
    toward
        Unit direction (3,), body frame.

    Returns
    -------
    SX
        Point (3,) in m, body frame.
    """
    _, turned, y = _terms(parameters, toward)
    return ca.mtimes(turned, y) / ca.sqrt(ca.dot(y, y))


def support_point_velocity(parameters: SX, toward: SX, omega: SX) -> SX:
    """Compute the velocity of the support point along the body, while the direction stays fixed.

    Parameters
    ----------
    parameters
        Parameters of the outline, shape (22,).
    toward
        Unit direction (3,), body frame; constant in the world.
    omega
        Angular velocity (3,) of the body in rad/s, body frame.

    Returns
    -------
    SX
        Velocity (3,) in m/s relative to the body, body frame.
    """
    spread, turned, y = _terms(parameters, toward)
    length = ca.sqrt(ca.dot(y, y))
    along, size = y / length, parameters[COUNT - 1]
    rate = ca.mtimes(spread, ca.cross(toward, omega))
    reach = ca.mtimes(spread, toward)
    rate -= 2 * ca.dot(reach, rate) / size**2 * parameters[18:21]
    across = rate - along * ca.dot(along, rate)
    return ca.mtimes(turned, across) / ca.fmax(length, MIN_LENGTH * size)


def lowest_point(kin: Kinematics, candidate: Candidate) -> NDArray[np.float64]:
    """Find the point (3,) where a candidate touches level ground, in m, world frame.

    Parameters
    ----------
    kin
        Kinematics at numeric coordinates.
    candidate
        Contact candidate.

    Returns
    -------
    Array
        Point (3,) in m, world frame.
    """
    if candidate.outline is None:
        center = jacobian.numeric_position(kin, candidate.body, candidate.position)
        return center - [0, 0, candidate.radius]
    R = np.array(DM(kin.world_rotation[candidate.body]))
    return jacobian.numeric_position(kin, candidate.body, contact_point(candidate, -R[2]))


def contact_point(candidate: Candidate, toward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the point of a candidate that touches a plane facing a direction.

    Parameters
    ----------
    candidate
        Contact candidate.
    toward
        Unit direction (3,) into the plane, body frame.

    Returns
    -------
    Array
        Point (3,) in m, body frame.
    """
    return np.array(DM(symbolic_contact_point(candidate, SX(toward)))).ravel()


def symbolic_contact_point(candidate: Candidate, toward: SX) -> SX:
    """Find the point (3,), body frame, that touches a plane facing a direction (3,), body frame."""
    surface = SX(candidate.position) + candidate.radius * toward
    if candidate.outline is None:
        return surface
    return surface + support_point(parameters(candidate.outline), toward)


def _terms(parameters: SX, toward: SX) -> tuple[SX, SX, SX]:
    """Compute A (3, 3), B (3, 3) and y (3,) of an outline and a direction (`Outline`)."""
    spread, turned = (ca.reshape(m, 3, 3).T for m in (parameters[:9], parameters[9:18]))
    reach = ca.mtimes(spread, toward)
    rest_share = 1 - ca.dot(reach, reach) / parameters[COUNT - 1] ** 2
    return spread, turned, reach + rest_share * parameters[18:21]
