"""Torques with which a robot stands still in a posture: those of gravity, its feet pressing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray
from scipy.optimize import nnls

from tarsus.control.pd import actuated
from tarsus.dynamics import rnea, springs
from tarsus.dynamics.jacobian import dense, point_jacobian
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.outlines import touching
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]

BASE = 6  # velocities of a floating base
EVENLY = 1e-3  # of a moment of 1 m: how much the balance gives way so that feet share evenly


def holding(mechanism: Mechanism, q: Array, feet: Sequence[Candidate]) -> tuple[float, ...]:
    """Torques (motors,), N m or N, of a robot at rest at coordinates q (nq,) on level ground: its
    feet press straight down, as evenly as the balance of forces and moments lets them. Zero with
    closed loops, whose joints share the load in more than one way.
    """
    if mechanism.loops:
        return (0.0,) * len(mechanism.actuators)
    # what gravity asks of every joint, but for what springs give
    kin = kinematics(mechanism, SX(q))
    needed = rnea.gravity_terms(kin, rnea.body_inertias(mechanism))
    if springs.has_springs(mechanism):
        needed -= springs.force(kin)
    load = np.array(DM(needed)).ravel()
    # what the ground bears
    if mechanism.floating and feet:
        up = np.array([_rise(kin, foot) for foot in feet])
        balance = np.vstack([up[:, :BASE].T, EVENLY * np.eye(len(feet))])
        pressing, _ = nnls(balance, np.append(load[:BASE], np.zeros(len(feet))))
        load -= up.T @ pressing
    return tuple(float(f"{torque:.4g}") for torque in load[actuated(mechanism)[1]])


def _rise(kin: Kinematics, foot: Candidate) -> Array:
    """How fast (nu,) a foot's lowest point rises for each velocity."""
    up = np.array(DM(kin.world_rotation[foot.body]))[2]
    columns = point_jacobian(kin, foot.body, SX(touching(foot, -up)))
    return np.array(DM(dense(columns, kin.mechanism.nu)))[2]
