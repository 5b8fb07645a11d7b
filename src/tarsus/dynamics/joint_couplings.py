"""Joints that follow others as bilateral constraints: g = y - P(x), and its row of W_B."""

from __future__ import annotations

from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import Mechanism


def row_names(mechanism: Mechanism) -> list[str]:
    """A name for the constraint of every coupling, N m or N."""
    return [f"{coupling.name}.follow" for coupling in mechanism.couplings]


def gaps(kin: Kinematics) -> list[SX]:
    """By how much each joint is ahead of where it follows to, rad or m."""
    found = []
    for coupling in kin.mechanism.couplings:
        x = _coordinate(kin, coupling.leader) if coupling.leader else SX(0)
        found.append(_coordinate(kin, coupling.joint) - _polynomial(coupling.coefficients, x))
    return found


def directions(kin: Kinematics) -> list[list[SX]]:
    """The row (nu,) of each: 1 for the joint that follows, -P'(x) for its leader."""
    rows = []
    for coupling in kin.mechanism.couplings:
        row = [SX(0)] * kin.mechanism.nu
        row[_place(kin.mechanism, coupling.joint)] = SX(1)
        if coupling.leader:
            slopes = _derivative(coupling)
            x = _coordinate(kin, coupling.leader)
            row[_place(kin.mechanism, coupling.leader)] = -_polynomial(slopes, x)
        rows.append(row)
    return rows


def _derivative(coupling: JointCoupling) -> tuple[float, ...]:
    return tuple(k * c for k, c in enumerate(coupling.coefficients))[1:]


def _polynomial(coefficients: tuple[float, ...], x: SX) -> SX:
    """Horner's scheme."""
    value = SX(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def _coordinate(kin: Kinematics, joint: str) -> SX:
    return kin.q[kin.mechanism.q_slices[kin.mechanism.joint_index(joint)].start]


def _place(mechanism: Mechanism, joint: str) -> int:
    return mechanism.u_slices[mechanism.joint_index(joint)].start
