"""Mimic joints as bilateral constraints: gap g = y - c - P(x) - ... and its row of W_B^T."""

from __future__ import annotations

from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Mechanism


def row_names(mechanism: Mechanism) -> list[str]:
    """Name the constraint of every coupling; its force is in N m or N."""
    return [f"{coupling.name}.follow" for coupling in mechanism.couplings]


def gaps(kin: Kinematics) -> list[SX]:
    """Compute the coordinate of each mimic joint minus its value from its leaders, in rad or m."""
    values = []
    for coupling in kin.mechanism.couplings:
        y = SX(coupling.constant)
        for leader in coupling.leaders:
            y += _polynomial((0.0, *leader.coefficients), _coordinate(kin, leader.joint))
        values.append(_coordinate(kin, coupling.joint) - y)
    return values


def directions(kin: Kinematics) -> list[list[SX]]:
    """Compute the row (nu,) of each constraint: 1 at the mimic joint, -P'(x) at leaders."""
    rows = []
    for coupling in kin.mechanism.couplings:
        row = [SX(0)] * kin.mechanism.nu
        row[_velocity_index(kin.mechanism, coupling.joint)] = SX(1)
        for leader in coupling.leaders:
            slopes = tuple(k * c for k, c in enumerate(leader.coefficients, start=1))
            slope = _polynomial(slopes, _coordinate(kin, leader.joint))
            row[_velocity_index(kin.mechanism, leader.joint)] = -slope
        rows.append(row)
    return rows


def _polynomial(coefficients: tuple[float, ...], x: SX) -> SX:
    value = SX(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def _coordinate(kin: Kinematics, joint: str) -> SX:
    return kin.q[kin.mechanism.q_slices[kin.mechanism.joint_index(joint)].start]


def _velocity_index(mechanism: Mechanism, joint: str) -> int:
    return mechanism.u_slices[mechanism.joint_index(joint)].start
