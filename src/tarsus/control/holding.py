"""Torques with which a robot stands still in a posture: those of gravity, its feet pressing."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from tarsus.control.pd import actuated
from tarsus.dynamics import loop_constraints, rnea, springs
from tarsus.dynamics.jacobian import dense, point_jacobian
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.support_points import contact_point
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]

BASE = 6  # velocities of a floating base
EVENLY = 1e-3  # of a moment of 1 m: how much the balance gives way so that feet share evenly


def holding(mechanism: Mechanism, q: Array, feet: Sequence[Candidate]) -> tuple[float, ...]:
    """Torques (motors,), N m or N, of a robot at rest at coordinates q (nq,) on level ground: its
    feet press straight down, as evenly as the balance of forces and moments lets them. Closed
    loops, and joints that follow others, carry what joints without motors cannot.
    """
    at = actuated(mechanism)[1]
    return tuple(float(f"{torque:.4g}") for torque in forces_at(mechanism, q, feet, at))


def forces_at(
    mechanism: Mechanism, q: Array, feet: Sequence[Candidate], at: Sequence[int]
) -> Array:
    """Torques (at,), N m or N, like `holding`, of a robot that has motors at these velocities."""
    # what gravity asks of every joint, but for what springs give
    kin = kinematics(mechanism, SX(q))
    needed = rnea.gravity_terms(kin, rnea.body_inertias(mechanism))
    if springs.has_springs(mechanism):
        needed -= springs.force(kin)
    load = np.array(DM(needed)).ravel()
    # what the ground bears, and with it loops and followers
    up = np.array([_rise(kin, foot) for foot in feet if mechanism.floating])
    if mechanism.constrained:
        load -= _carried(kin, load, up.reshape(-1, mechanism.nu), at)
    elif len(up):
        balance = np.vstack([up[:, :BASE].T, EVENLY * np.eye(len(feet))])
        pressing, _ = nnls(balance, np.append(load[:BASE], np.zeros(len(feet))))
        load -= up.T @ pressing
    return load[list(at)]


def _carried(kin: Kinematics, load: Array, up: Array, driven: Sequence[int]) -> Array:
    """What of the load (nu,) pressing feet and forces of constraints bear: they balance the joints
    without motors as well as they can, being as small as that lets them. Springs off their
    equilibrium leave some of it.

    up (feet, nu): how fast feet rise
    """
    rows = [ca.horzcat(*row) for row in loop_constraints.directions(kin)]
    bearing = np.vstack([up, np.array(DM(ca.densify(ca.vertcat(*rows))))])
    passive = np.setdiff1d(np.arange(len(load)), driven)
    least = np.where(np.arange(len(bearing)) < len(up), 0.0, -np.inf)
    asked = np.vstack([bearing[:, passive].T, EVENLY * np.eye(len(bearing))])
    given = np.append(load[passive], np.zeros(len(bearing)))
    found = lsq_linear(asked, given, (least, np.inf), method="bvls")
    return bearing.T @ found.x


def _rise(kin: Kinematics, foot: Candidate) -> Array:
    """How fast (nu,) a foot's lowest point rises for each velocity."""
    up = np.array(DM(kin.world_rotation[foot.body]))[2]
    columns = point_jacobian(kin, foot.body, SX(contact_point(foot, -up)))
    return np.array(DM(dense(columns, kin.mechanism.nu)))[2]
