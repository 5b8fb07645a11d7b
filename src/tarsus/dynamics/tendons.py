"""Lengths of tendons, and the rows w (nu,) with w . u their rates."""

from __future__ import annotations

from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.tendon import Tendon


def length(kin: Kinematics, tendon: Tendon) -> SX:
    """Compute the length of a tendon, in rad or m."""
    m = kin.mechanism
    starts = dict(zip(m.joint_names, m.q_slices, strict=True))
    return sum((c * kin.q[starts[joint].start] for joint, c in tendon.terms), SX(0))


def rate_row(kin: Kinematics, tendon: Tendon) -> SX:
    """Compute the row (nu,) of a tendon; entries of joints that it does not move are structural 0.

    A force along the tendon acts on the joints with the row times the force.
    """
    m, row = kin.mechanism, SX(kin.mechanism.nu, 1)
    starts = dict(zip(m.joint_names, m.u_slices, strict=True))
    for joint, c in tendon.terms:
        row[starts[joint].start] += c
    return row
