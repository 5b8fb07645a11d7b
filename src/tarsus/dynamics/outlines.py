"""Where an outline is farthest along a direction, and how that point travels as its body turns."""

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

STILL = 0.05  # of the size: where |y| is less the point travels no faster than where it is that


def numbers(outline: Outline) -> SX:
    """An outline (22,) as the functions below take it."""
    return constant(outline.numbers)


def farthest(numbers: SX, toward: SX) -> SX:
    """From the center (3,), m, to the point farthest along a unit direction (3,), body frame."""
    _, turned, y = _parts(numbers, toward)
    return ca.mtimes(turned, y) / ca.sqrt(ca.dot(y, y))


def travel(numbers: SX, toward: SX, spin: SX) -> SX:
    """How fast (3,), m/s, the farthest point moves along the body that turns with `spin` (3,),
    rad/s, all in the body's frame, while the direction stays in the world.
    """
    spread, turned, y = _parts(numbers, toward)
    length = ca.sqrt(ca.dot(y, y))
    along, size = y / length, numbers[COUNT - 1]
    moved = ca.mtimes(spread, ca.cross(toward, spin))
    reach = ca.mtimes(spread, toward)
    moved -= 2 * ca.dot(reach, moved) / size**2 * numbers[18:21]
    across = moved - along * ca.dot(along, moved)
    return ca.mtimes(turned, across) / ca.fmax(length, STILL * size)


def lowest(kin: Kinematics, candidate: Candidate) -> NDArray[np.float64]:
    """Where a candidate touches level ground (3,), m, world, for kinematics at numeric
    coordinates.
    """
    if candidate.outline is None:
        return jacobian.place(kin, candidate.body, candidate.position) - [0, 0, candidate.radius]
    R = np.array(DM(kin.world_rotation[candidate.body]))
    return jacobian.place(kin, candidate.body, touching(candidate, -R[2]))


def touching(candidate: Candidate, toward: NDArray[np.float64]) -> NDArray[np.float64]:
    """The point (3,), m, at which a candidate touches what lies along a unit direction (3,), in its
    body's frame.
    """
    surface = candidate.position + candidate.radius * toward
    if candidate.outline is None:
        return surface
    return surface + np.array(DM(farthest(numbers(candidate.outline), SX(toward)))).ravel()


def _parts(numbers: SX, toward: SX) -> tuple[SX, SX, SX]:
    """A (3, 3), B (3, 3) and y (3,)."""
    spread, turned = (ca.reshape(part, 3, 3).T for part in (numbers[:9], numbers[9:18]))
    reach = ca.mtimes(spread, toward)
    beside = 1 - ca.dot(reach, reach) / numbers[COUNT - 1] ** 2
    return spread, turned, reach + beside * numbers[18:21]
