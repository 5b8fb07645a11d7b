"""A robot for a force controller: weight, inertia, its feet, and how they move with its joints.

Everything numeric is taken in the standing posture and is a constant of the compiled controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.dynamics import base_parameters, crba, jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.legs import Leg
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standing:
    """A robot in its standing posture, base axes.

    mass: kg
    inertia: (3, 3) of the whole robot about the base's origin, kg m^2
    height: of the base above the ground, m
    effective: (3, 3) of each foot, kg: its inertia against its joints while the base is held
    footing: (2,) where each foot should stand under a trunk at rest, m: its place in the posture,
        all moved until their middle is below the robot's center of mass
    """

    mass: float
    inertia: Array
    height: float
    effective: list[Array]
    footing: list[Array]


class Foot(NamedTuple):
    """A foot at an instant, world axes.

    arm: (3,) from the base's origin, m
    velocity: (3,) m/s
    jacobian: (3, 3) by the leg's joints
    """

    arm: SX
    velocity: SX
    jacobian: SX


def standing(mechanism: Mechanism, legs: tuple[Leg, ...], q: Array) -> Standing:
    """Constants of a robot at coordinates q (nq,)."""
    if not mechanism.floating:
        raise Unsupported(
            f"{mechanism.name!r} has a fixed base: no gait can move it.", mechanism.name
        )

    # what each foot resists with, and where it stands
    kin = kinematics(mechanism, SX(q))
    M = np.array(DM(crba.mass_matrix(kin, rnea.body_inertias(mechanism))))
    R = np.array(DM(kin.world_rotation[0]))
    effective, places = [], []
    for leg in legs:
        joints, here = joint_velocities(mechanism, leg), foot(kin, leg)
        J, M_leg = np.array(DM(here.jacobian)), M[np.ix_(joints, joints)]
        effective.append(R.T @ np.linalg.inv(J @ np.linalg.solve(M_leg, J.T)) @ R)
        places.append(R.T @ np.array(DM(here.arm)).ravel())

    # the feet under the center of mass
    about = M[3:6, :3] @ R / mechanism.mass  # [c]x of the center of mass c
    shift = np.array([about[2, 1], about[0, 2]]) - np.mean(places, axis=0)[:2]
    height = float(
        np.mean([leg.radius - place[2] for leg, place in zip(legs, places, strict=True)])
    )
    return Standing(
        mechanism.mass, M[3:6, 3:6], height, effective, [place[:2] + shift for place in places]
    )


def foot(kin: Kinematics, leg: Leg) -> Foot:
    """A leg's foot at the coordinates of `kin`."""
    mechanism = kin.mechanism
    place = mechanism.frame(leg.name)
    point = constant(place.position)
    columns = jacobian.point_jacobian(kin, place.body, point)
    velocity = SX.zeros(3)
    for i, column in columns.items():
        velocity += column * kin.u[i]
    joints = ca.horzcat(*(columns[i] for i in joint_velocities(mechanism, leg)))
    return Foot(jacobian.position(kin, place.body, point) - kin.q[:3], velocity, joints)


def joint_velocities(mechanism: Mechanism, leg: Leg) -> list[int]:
    """Where a leg's joints stand in u."""
    return [mechanism.u_slices[mechanism.joint_index(joint)].start for joint in leg.joints]


def weight(kin: Kinematics) -> SX:
    """g(q) (nu,) of the whole robot: what holds it against gravity."""
    return rnea.gravity_terms(kin, base_parameters.base_parameters(kin.mechanism))
