"""Torques that hold a robot still in a posture, against gravity and with its feet on the ground."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from tarsus.control.pd import actuated_indices
from tarsus.dynamics import loop_constraints, rnea, springs
from tarsus.dynamics.jacobian import dense, point_jacobian
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.support_points import contact_point
from tarsus.model import base_motion
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]

EVEN_SHARE_WEIGHT = 1e-3  # weight of even foot forces, relative to a moment arm of 1 m


def static_torques(mechanism: Mechanism, q: Array, feet: Sequence[Candidate]) -> tuple[float, ...]:
    """Compute the torques that hold a robot at rest on level ground.

    The feet press straight down, as evenly as the balance of forces and moments allows. Closed
    loops and mimic joints carry what joints without motors cannot.

    Parameters
    ----------
    mechanism
        The robot.
    q
        Coordinates, shape (nq,).
    feet
        Contact candidates that carry the robot.

    Returns
    -------
    tuple of float
        Torque of each actuator, in N m or N.
    """
    indices = actuated_indices(mechanism)[1]
    return tuple(float(f"{torque:.4g}") for torque in static_forces(mechanism, q, feet, indices))


def static_forces(
    mechanism: Mechanism, q: Array, feet: Sequence[Candidate], indices: Sequence[int]
) -> Array:
    """Compute the torques like `static_torques`, for motors at these indices of the velocity.

    Parameters
    ----------
    mechanism
        The robot.
    q
        Coordinates, shape (nq,).
    feet
        Contact candidates that carry the robot.
    indices
        Indices of the driven velocities.

    Returns
    -------
    numpy.ndarray
        Torque at each index, in N m or N.
    """
    # gravity load on every joint, less the spring forces
    kin = kinematics(mechanism, SX(q))
    gravity = rnea.gravity_terms(kin, rnea.body_inertias(mechanism))
    if springs.has_springs(mechanism):
        gravity -= springs.force(kin)
    load = np.array(DM(gravity)).ravel()
    # less what the ground, closed loops and mimic joints carry
    rise = np.array([_rise(kin, foot) for foot in feet if mechanism.mobile])
    if mechanism.constrained:
        load -= _constraint_load(kin, load, rise.reshape(-1, mechanism.nu), indices)
    elif len(rise):
        base = base_motion.base_velocities(mechanism)
        balance = np.vstack([rise[:, base].T, EVEN_SHARE_WEIGHT * np.eye(len(feet))])
        foot_forces, _ = nnls(balance, np.append(load[base], np.zeros(len(feet))))
        load -= rise.T @ foot_forces
    return load[list(indices)]


def _constraint_load(kin: Kinematics, load: Array, rise: Array, driven: Sequence[int]) -> Array:
    """Compute the part of the load, shape (nu,), carried by the feet and the constraint forces.

    These forces balance the joints without motors in the least-squares sense, and are as small as
    that allows. Springs away from equilibrium leave a residual.

    Parameters
    ----------
    kin
        Kinematics at rest.
    load
        Load on each velocity, shape (nu,), in N m or N.
    rise
        Rate at which each foot rises per velocity, shape (feet, nu).
    driven
        Indices of the driven velocities.
    """
    rows = [ca.horzcat(*row) for row in loop_constraints.directions(kin)]
    directions = np.vstack([rise, np.array(DM(ca.densify(ca.vertcat(*rows))))])
    passive = np.setdiff1d(np.arange(len(load)), driven)
    lower = np.where(np.arange(len(directions)) < len(rise), 0.0, -np.inf)
    matrix = np.vstack([directions[:, passive].T, EVEN_SHARE_WEIGHT * np.eye(len(directions))])
    target = np.append(load[passive], np.zeros(len(directions)))
    solution = lsq_linear(matrix, target, (lower, np.inf), method="bvls")
    return directions.T @ solution.x


def _rise(kin: Kinematics, foot: Candidate) -> Array:
    """Compute the vertical velocity of a foot's lowest point per unit of velocity, shape (nu,)."""
    up = np.array(DM(kin.world_rotation[foot.body]))[2]
    columns = point_jacobian(kin, foot.body, SX(contact_point(foot, -up)))
    return np.array(DM(dense(columns, kin.mechanism.nu)))[2]
