"""Mimic joints as bilateral constraints: gap g = y - P(x) and its row of W_B^T."""

from __future__ import annotations

from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import Mechanism


def row_names(mechanism: Mechanism) -> list[str]:
    """Name the constraint of every coupling; its force is in N m or N."""
    return [f"{coupling.name}.follow" for coupling in mechanism.couplings]


def gaps(kin: Kinematics) -> list[SX]:
    """Compute the coordinate of each mimic joint minus its value from the leader, in rad or m."""
    values = []
    for coupling in kin.mechanism.couplings:
        x = _coordinate(kin, coupling.leader) if coupling.leader else SX(0)
        values.append(_coordinate(kin, coupling.joint) - _polynomial(coupling.coefficients, x))
    return values


def directions(kin: Kinematics) -> list[list[SX]]:
    """Compute the row (nu,) of each constraint: 1 at the mimic joint, -P'(x) at its leader."""
    rows = []
    for coupling in kin.mechanism.couplings:
        row = [SX(0)] * kin.mechanism.nu
        row[_velocity_index(kin.mechanism, coupling.joint)] = SX(1)
        if coupling.leader:
            slopes = _derivative(coupling)
            x = _coordinate(kin, coupling.leader)
            row[_velocity_index(kin.mechanism, coupling.leader)] = -_polynomial(slopes, x)
        rows.append(row)
    return rows


def _derivative(coupling: JointCoupling) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coupling.coefficients))[1:]


def _polynomial(coefficients: tuple[float, ...], x: SX) -> SX:
    value = SX(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def _coordinate(kin: Kinematics, joint: str) -> SX:
    return kin.q[kin.mechanism.q_slices[kin.mechanism.joint_index(joint)].start]


def _velocity_index(mechanism: Mechanism, joint: str) -> int:
    return mechanism.u_slices[mechanism.joint_index(joint)].start
