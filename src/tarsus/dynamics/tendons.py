"""Tendons: lengths, rows w (nu,) with w . u their rates, and forces of springs and dampers.

A spring is relaxed between two lengths. A step treats it as those of joints (`springs`): it acts at
the mean length of the step. In the step in which it becomes taut it acts at the length at the end,
because a linear spring over the whole step would also pull within the relaxed lengths, and a stiff
one would gain energy.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics import jacobian, tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import WORLD
from tarsus.model.tendon import Point, Tendon, TendonSegment
from tarsus.spatial.rotation import constant

MEAN_FACTOR, END_FACTOR = 0.25, 0.5  # of dt^2 K: the inertia that a spring adds to a step
MIN_LENGTH = 1e-9  # m, of a segment whose direction is known
DRY_FRICTION_SPEED = 1e-2  # rad/s or m/s; below it dry friction acts as a damper


@dataclass(frozen=True, eq=False)
class ImplicitForce:
    """Force along a tendon that changes within a step as the rate of the tendon changes.

    Attributes
    ----------
    row
        Row (nu,) of the tendon.
    force
        Force in a step that keeps its velocity, N or N m.
    inertia
        Inertia that it adds to the motion along the row, kg or kg m^2: dt times the decrease of the
        force per change of the rate.
    """

    row: SX
    force: SX
    inertia: SX

    def mean_force(self, change: SX, dt: SX) -> SX:
        """Compute the mean generalized force (nu,) in a step that changes u by `change` (nu,)."""
        return self.row * (self.force - self.inertia / dt * ca.dot(self.row, change))


def length(kin: Kinematics, tendon: Tendon) -> SX:
    """Compute the length of a tendon, in rad or m."""
    m = kin.mechanism
    starts = dict(zip(m.joint_names, m.q_slices, strict=True))
    total = sum((c * kin.q[starts[joint].start] for joint, c in tendon.terms), SX(0))
    for segment in tendon.segments:
        if segment.moves:
            total += segment.scale * ca.norm_2(_offset(kin, segment))
        else:
            (_, a), (_, b) = segment.start, segment.end
            total += segment.scale * float(np.linalg.norm(np.subtract(b, a)))
    return total


def rate_row(kin: Kinematics, tendon: Tendon) -> SX:
    """Compute the row (nu,) of a tendon; entries of joints that it does not move are structural 0.

    A force along the tendon acts on the joints with the row times the force.
    """
    m, row = kin.mechanism, SX(kin.mechanism.nu, 1)
    starts = dict(zip(m.joint_names, m.u_slices, strict=True))
    for joint, c in tendon.terms:
        row[starts[joint].start] += c
    for segment in tendon.segments:
        if segment.moves:
            _add_segment(row, kin, segment)
    return row


def _add_segment(row: SX, kin: Kinematics, segment: TendonSegment) -> None:
    """Add the row of a segment; joints that move both of its ends do not change its length."""
    offset, m = _offset(kin, segment), kin.mechanism
    direction = offset / ca.fmax(ca.norm_2(offset), MIN_LENGTH)
    (first, _), (second, _) = segment.start, segment.end
    common = {*tree.support_path(m, first)} & {*tree.support_path(m, second)}
    fixed = {k for i in common for k in range(m.u_slices[i].start, m.u_slices[i].stop)}
    for sign, (body, point) in ((-1, segment.start), (1, segment.end)):
        columns = jacobian.point_jacobian(kin, body, constant(np.array(point)))
        for k, column in columns.items():
            if k not in fixed:
                row[k] += sign * segment.scale * ca.dot(direction, column)


def _offset(kin: Kinematics, segment: TendonSegment) -> SX:
    """Compute the vector (3,) from start to end of a segment, in world axes, in m."""
    start, end = (_position(kin, *tip) for tip in (segment.start, segment.end))
    return end - start


def _position(kin: Kinematics, body: int, point: Point) -> SX:
    at = constant(np.array(point))
    return at if body == WORLD else jacobian.position(kin, body, at)


def spring_deflections(kin: Kinematics) -> list[tuple[SX, SX, float]]:
    """List row (nu,), deflection from the relaxed lengths, and stiffness of every spring."""
    tendons = [tendon for tendon in kin.mechanism.tendons if tendon.stiffness]
    return [(rate_row(kin, t), _stretch(length(kin, t), t), t.stiffness) for t in tendons]


def spring_forces(kin: Kinematics, dt: SX) -> list[ImplicitForce]:
    """Compute the forces of the springs of tendons in a step of dt evaluated at kin."""
    forces = list[ImplicitForce]()
    for tendon in kin.mechanism.tendons:
        if not tendon.stiffness:
            continue
        row, at, K = rate_row(kin, tendon), length(kin, tendon), tendon.stiffness
        stretch, share = _stretch(at, tendon), SX(MEAN_FACTOR)
        lower, upper = tendon.rest
        if lower < upper:
            half_way = dt / 2 * ca.dot(row, kin.u)
            start, end = (_stretch(at + sign * half_way, tendon) for sign in (-1, 1))
            tightens = ca.logic_and(start * end <= 0, end != 0)
            stretch = ca.if_else(tightens, end, stretch)
            share = ca.if_else(stretch == 0, 0, ca.if_else(tightens, END_FACTOR, MEAN_FACTOR))
        forces.append(ImplicitForce(row, -K * stretch, share * dt * dt * K))
    return forces


def damping_forces(kin: Kinematics, dt: SX) -> list[ImplicitForce]:
    """Compute the forces of damping and dry friction of tendons in a step of dt from kin.u."""
    forces = list[ImplicitForce]()
    for tendon in kin.mechanism.tendons:
        if tendon.damping or tendon.dry_friction:
            row = rate_row(kin, tendon)
            rate = ca.dot(row, kin.u)
            d = SX(tendon.damping)
            if tendon.dry_friction:
                d += tendon.dry_friction / ca.fmax(ca.fabs(rate), DRY_FRICTION_SPEED)
            forces.append(ImplicitForce(row, -d * rate, dt * d))
    return forces


def _stretch(at: SX, tendon: Tendon) -> SX:
    """Compute the distance of a length from the relaxed ones; below them it is negative."""
    lower, upper = tendon.rest
    return at - lower if lower == upper else ca.fmax(at - upper, 0) + ca.fmin(at - lower, 0)
