"""A robot standing on flat feet: the constants of a walk, and where flat-footed gaits start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.control.base import Controller, require_suitable
from tarsus.control.inverse_dynamics import WholeBody
from tarsus.control.pd import actuated_indices
from tarsus.dynamics import crba
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.sole_inverse_kinematics import sole_angles
from tarsus.morphology.sole_leg import why_no_sole_legs

Array = NDArray[np.float64]

HEIGHT_GAIN = 2.0  # gain of the height servo, in units of sqrt(g / h), 1/s


class FlatFootedController(Controller):
    """Base class of gaits on two flat feet.

    Subclasses declare `crouch`, a fraction of the height of the center of mass.
    """

    crouch: float

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return why a robot lacks two legs of six or seven hinges with flat soles, or None."""
        return why_no_sole_legs(mechanism)

    def initial_coordinates(self, mechanism: Mechanism) -> Array:
        """Return the posture "stand", lowered by `crouch`."""
        require_suitable(self, mechanism)
        return crouch(mechanism, self.crouch)


@dataclass(frozen=True, eq=False)
class Stance:
    """Constants of a robot at given coordinates.

    Attributes
    ----------
    posture
        The coordinates, shape (nq,).
    height
        Height of the center of mass above the soles, in m.
    gravity
        Gravitational acceleration, in m/s^2, positive downwards.
    width
        Distance between the middles of the soles, in m.
    half
        Half the length and width of a sole, shape (2,), in m.
    length
        Length of a leg, in m.
    left, right
        Indices of the left and the right leg.
    inertia
        Inertia seen by each motor with all others locked, shape (n_actuators,), in kg m^2.
    """

    posture: Array
    height: float
    gravity: float
    width: float
    half: Array
    length: float
    left: int
    right: int
    inertia: Array


def measure_stance(mechanism: Mechanism, q: Array) -> Stance:
    """Compute the constants at coordinates q, shape (nq,), with the heading along x."""
    body = _whole_body(mechanism, q)
    soles = _sole_positions(body)
    M = np.array(DM(crba.mass_matrix(body.kin, base_parameters(mechanism))))
    legs = body.legs
    left, right = int(np.argmax(soles[:, 1])), int(np.argmin(soles[:, 1]))
    return Stance(
        posture=q,
        height=_center(body)[2] - soles[:, 2].mean(),
        gravity=body.gravity,
        width=float(np.ptp(soles[:, 1])),
        half=np.min([leg.half for leg in legs], axis=0),
        length=min(leg.length for leg in legs),
        left=left,
        right=right,
        inertia=np.diag(M)[actuated_indices(mechanism)[1]],
    )


def crouch(mechanism: Mechanism, depth: float) -> Array:
    """Lower the trunk of the posture "stand", shape (nq,).

    Parameters
    ----------
    mechanism
        The robot.
    depth
        Lowering, as a fraction of the height of the center of mass. The feet move below that
        center.
    """
    q = np.array(mechanism.keyframes.get("stand", mechanism.neutral()), dtype=float)
    body = _whole_body(mechanism, q)
    center, soles = _center(body), _sole_positions(body)
    down = depth * (center[2] - soles[:, 2].mean())
    ahead = center[0] - soles[:, 0].mean()
    R = np.array(DM(body.kin.world_rotation[0]))
    for leg, position, sole in zip(body.legs, soles, body.soles, strict=True):
        target = R.T @ (position + np.array([ahead, 0, down]) - q[:3])
        angles = sole_angles(leg, R.T @ np.array(DM(sole.rotation)), target)
        q[[mechanism.q_slices[i].start for i in leg.bodies]] = angles
    q[2] -= down
    return q


def _whole_body(mechanism: Mechanism, q: Array) -> WholeBody:
    return WholeBody.of(mechanism, SX(DM(q)), SX.zeros(mechanism.nu))


def _center(body: WholeBody) -> Array:
    return np.array(DM(body.center_of_mass[0])).ravel()


def _sole_positions(body: WholeBody) -> Array:
    """Compute the middle of each sole, shape (n, 3), in m."""
    return np.array([np.array(DM(sole.position)).ravel() for sole in body.soles])
