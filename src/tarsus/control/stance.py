"""A robot on flat feet in its posture: the constants of a walk, and where such gaits start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.control.base import Controller, require
from tarsus.control.inverse_dynamics import Stander
from tarsus.control.pd import actuated
from tarsus.dynamics import crba
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.sole_inverse_kinematics import sole_angles
from tarsus.morphology.sole_leg import why_no_sole_legs

Array = NDArray[np.float64]

HIGH = 2.0  # of sqrt(g / h), 1/s: stiffness and damping of the height


class OnFlatFeet(Controller):
    """What gaits on two flat feet share; they declare `crouch`, a part of h."""

    crouch: float

    def suits(self, mechanism: Mechanism) -> str | None:
        """It needs two legs of six or seven hinges with flat soles."""
        return why_no_sole_legs(mechanism)

    def initial_coordinates(self, mechanism: Mechanism) -> Array:
        """The posture "stand", lower by `crouch`."""
        require(self, mechanism)
        return crouched(mechanism, self.crouch)


@dataclass(frozen=True, eq=False)
class Stance:
    """Numbers of a robot at coordinates.

    posture: (nq,) the coordinates
    height: of the center of mass above the soles, m
    gravity: m/s^2, downwards
    width: from the middle of one sole to that of the other, m
    half: (2,) half of a sole's length and width, m
    length: of a leg, m
    left, right: which leg is which
    inertia: (n_actuators,) that each motor turns with all others held, kg m^2
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


def stance(mechanism: Mechanism, q: Array) -> Stance:
    """At coordinates q (nq,), its heading along x."""
    stander = _at(mechanism, q)
    places = _places(stander)
    M = np.array(DM(crba.mass_matrix(stander.kin, base_parameters(mechanism))))
    legs = stander.legs
    left, right = int(np.argmax(places[:, 1])), int(np.argmin(places[:, 1]))
    return Stance(
        posture=q,
        height=_center(stander)[2] - places[:, 2].mean(),
        gravity=stander.gravity,
        width=float(np.ptp(places[:, 1])),
        half=np.min([leg.half for leg in legs], axis=0),
        length=min(leg.length for leg in legs),
        left=left,
        right=right,
        inertia=np.diag(M)[actuated(mechanism)[1]],
    )


def crouched(mechanism: Mechanism, depth: float) -> Array:
    """The posture "stand" (nq,), its trunk lower by a part of the height of the center of mass, the
    feet moved below that center.
    """
    q = np.array(mechanism.keyframes.get("stand", mechanism.neutral()), dtype=float)
    stander = _at(mechanism, q)
    center, places = _center(stander), _places(stander)
    down = depth * (center[2] - places[:, 2].mean())
    ahead = center[0] - places[:, 0].mean()
    R = np.array(DM(stander.kin.world_rotation[0]))
    for leg, place, sole in zip(stander.legs, places, stander.soles, strict=True):
        wanted = R.T @ (place + np.array([ahead, 0, down]) - q[:3])
        angles = sole_angles(leg, R.T @ np.array(DM(sole.rotation)), wanted)
        q[[mechanism.q_slices[i].start for i in leg.bodies]] = angles
    q[2] -= down
    return q


def _at(mechanism: Mechanism, q: Array) -> Stander:
    return Stander.of(mechanism, SX(DM(q)), SX.zeros(mechanism.nu))


def _center(stander: Stander) -> Array:
    return np.array(DM(stander.center[0])).ravel()


def _places(stander: Stander) -> Array:
    """Of the soles (n, 3), m."""
    return np.array([np.array(DM(sole.place)).ravel() for sole in stander.soles])
