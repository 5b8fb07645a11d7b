"""Model of a robot for force controllers: weight, inertia, and the feet with their Jacobians.

Numbers are those of the standing posture, and constants of the compiled controller.
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
class StandingModel:
    """Properties of a robot in its standing posture, base axes.

    Attributes
    ----------
    mass
        Mass in kg.
    inertia
        Inertia (3, 3) of the whole robot about the base's origin, in kg m^2.
    height
        Height of the base above the ground, in m.
    effective_mass
        Effective mass (3, 3) of each foot with the base fixed, in kg.
    footing
        Nominal position (2,) of each foot, in m: its position in the posture, shifted so that the
        mean of all feet is below the robot's center of mass.
    """

    mass: float
    inertia: Array
    height: float
    effective_mass: list[Array]
    footing: list[Array]


class Foot(NamedTuple):
    """State of a foot, world axes.

    Attributes
    ----------
    arm
        Position (3,) relative to the base's origin, in m.
    velocity
        Velocity (3,), in m/s.
    jacobian
        Jacobian (3, 3) with respect to the leg's joints.
    """

    arm: SX
    velocity: SX
    jacobian: SX


def measure_standing(mechanism: Mechanism, legs: tuple[Leg, ...], q: Array) -> StandingModel:
    """Compute the properties of a robot at coordinates q (nq,)."""
    if not mechanism.floating:
        raise Unsupported(
            f"{mechanism.name!r} has no base on a free joint, which gaits that walk need.",
            mechanism.name,
        )

    # effective mass and position of each foot
    kin = kinematics(mechanism, SX(q))
    M = np.array(DM(crba.mass_matrix(kin, rnea.body_inertias(mechanism))))
    R = np.array(DM(kin.world_rotation[0]))
    effective, positions = [], []
    for leg in legs:
        joints, here = velocity_indices(mechanism, leg), foot_state(kin, leg)
        J, M_leg = np.array(DM(here.jacobian)), M[np.ix_(joints, joints)]
        effective.append(R.T @ np.linalg.inv(J @ np.linalg.solve(M_leg, J.T)) @ R)
        positions.append(R.T @ np.array(DM(here.arm)).ravel())

    # shift of the feet to below the center of mass
    about = M[3:6, :3] @ R / mechanism.mass  # [c]x of the center of mass c
    shift = np.array([about[2, 1], about[0, 2]]) - np.mean(positions, axis=0)[:2]
    heights = [leg.radius - p[2] for leg, p in zip(legs, positions, strict=True)]
    footing = [p[:2] + shift for p in positions]
    height = float(np.mean(heights))
    return StandingModel(mechanism.mass, M[3:6, 3:6], height, effective, footing)


def foot_state(kin: Kinematics, leg: Leg) -> Foot:
    """Compute the state of a leg's foot."""
    mechanism = kin.mechanism
    frame = mechanism.frame(leg.name)
    point = constant(frame.position)
    columns = jacobian.point_jacobian(kin, frame.body, point)
    velocity = SX.zeros(3)
    for i, column in columns.items():
        velocity += column * kin.u[i]
    joints = ca.horzcat(*(columns[i] for i in velocity_indices(mechanism, leg)))
    return Foot(jacobian.position(kin, frame.body, point) - kin.q[:3], velocity, joints)


def velocity_indices(mechanism: Mechanism, leg: Leg) -> list[int]:
    """Find the indices of a leg's joints in u."""
    return [mechanism.u_slices[mechanism.joint_index(joint)].start for joint in leg.joints]


def weight(kin: Kinematics) -> SX:
    """Compute g(q) (nu,), the generalized force that holds the robot against gravity."""
    return rnea.gravity_terms(kin, base_parameters.base_parameters(kin.mechanism))
