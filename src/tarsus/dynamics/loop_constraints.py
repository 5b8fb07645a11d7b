"""Joints outside the tree as bilateral constraints: gaps g_B, directions W_B, and the rate of what
they leave free; and joints of the tree that follow others (`joint_couplings`).

Gehring 2014, Eqns. (1) and (4): g_B = 0 and gamma_B = W_B^T u = d/dt g_B. A hinge has three rows of
translation (world axes) and two of rotation, a ball the three of translation, a slide two of
translation and three of rotation, a fixed one three of each.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import jacobian, joint_couplings, tree
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.model.mechanism import WORLD, LoopJoint, Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import constant

ROWS = {"hinge": 5, "ball": 3, "slide": 5, "fixed": 6}
Row = list[SX]  # (nu,), with structural zeros


def count(mechanism: Mechanism) -> int:
    """Number of constraint rows nb."""
    return sum(ROWS[loop.joint.kind] for loop in mechanism.loops) + len(mechanism.couplings)


def row_names(mechanism: Mechanism) -> list[str]:
    """A name for every constraint: the loop joint's, and .x, .y, .z (N), .across1, .across2 (N),
    .turn1, ... (N m).
    """
    suffixes = {
        "hinge": ("x", "y", "z", "turn1", "turn2"),
        "ball": ("x", "y", "z"),
        "slide": ("across1", "across2", "turn1", "turn2", "turn3"),
        "fixed": ("x", "y", "z", "turn1", "turn2", "turn3"),
    }
    names = [
        f"{loop.joint.name}.{end}" for loop in mechanism.loops for end in suffixes[loop.joint.kind]
    ]
    return names + joint_couplings.row_names(mechanism)


def gaps(kin: Kinematics) -> SX:
    """g_B (nb,): m for translations, - (sine of a small angle, rad) for rotations."""
    found = [SX(0, 1)]
    for loop in kin.mechanism.loops:
        apart = _anchor(kin, loop.child, loop.in_child) - _anchor(kin, loop.parent, loop.position)
        if loop.joint.kind == "slide":
            home = ca.mtimes(_turn(kin, loop.parent), constant(loop.rotation))
            apart = ca.mtimes(ca.mtimes(home, constant(_across(loop.joint.axis))).T, apart)
        found += [apart, *(ca.dot(a, b) for a, b in _square(kin, loop))]
    return ca.vertcat(*found, *joint_couplings.gaps(kin))


def directions(kin: Kinematics) -> list[Row]:
    """The nb rows of W_B^T: gamma_B = rows u."""
    rows: list[Row] = []
    for loop in kin.mechanism.loops:
        if loop.joint.kind == "slide":
            home = ca.mtimes(_turn(kin, loop.parent), constant(loop.rotation))
            rows += _along(kin, loop, ca.mtimes(home, constant(_across(loop.joint.axis))))
        else:
            child = jacobian.dense(
                jacobian.point_jacobian(kin, loop.child, constant(loop.in_child)), kin.mechanism.nu
            )
            rows += [entries_of(row) for row in ca.vertsplit(child - _parent_jacobian(kin, loop))]
        # d/dt (a . b) = (omega_C - omega_P) . (a x b)
        rows += [_spin(kin, loop, ca.cross(a, b)) for a, b in _square(kin, loop)]
    return rows + joint_couplings.directions(kin)


def force(kin: Kinematics, along: SX) -> SX:
    """Generalized force (nu,) of forces (nb,) along the directions, N or N m."""
    total = SX.zeros(kin.mechanism.nu)
    for k, row in enumerate(directions(kin)):
        total += ca.vertcat(*row) * along[k]
    return total


def bending(kin: Kinematics, dt: SX) -> SX:
    """What gamma_B (nb,) must be at the end of a step for the gaps to stay closed beyond the
    tangent, m/s or 1/s.

    Moved by dt u from q_n, gaps change by dt gamma + dt^2/2 f(q_n, u_n) + dt^3/6 k: f = d^2/dt^2
    g_B, k = d^3/dt^3 g_B at constant u. With gamma_n = -dt/2 f(q_n, u_n-1) + dt^2/3 k all that is
    left, but for the order dt^4, is dt^2/2 (f(q_n, u_n) - f(q_n-1, u_n-1)), which adds up to
    nothing over many steps, impacts or not.
    """
    q, u = SX.sym("q", kin.mechanism.nq), SX.sym("u", kin.mechanism.nu)
    rate, grown = coordinate_rate(kin.mechanism, q, u), [gaps(kinematics(kin.mechanism, q, u))]
    for _ in range(3):
        grown.append(ca.jtimes(grown[-1], q, rate))
    _, _, f, k = ca.Function("growth", [q, u], grown)(kin.q, kin.u)
    return dt * dt / 3 * k - dt / 2 * f


def freedoms(kin: Kinematics) -> list[Row]:
    """For every loop joint the row (nu,) that gives its rate, rad/s or m/s; zero if it has none."""
    rows: list[Row] = []
    for loop in kin.mechanism.loops:
        axis = constant(loop.joint.axis)
        if loop.joint.kind == "hinge":
            rows.append(_spin(kin, loop, axis))
        elif loop.joint.kind == "slide":
            rows += _along(kin, loop, ca.mtimes(_turn(kin, loop.child), axis))
        else:
            rows.append([SX(0)] * kin.mechanism.nu)
    return rows


def rotors(kin: Kinematics, acceleration: SX | None = None) -> SX:
    """Force (nu,), N or N m, that speeds up loop joints' rotors at u' = acceleration (default 0).

    The rate w . u of a hinge between bodies of chains grows with w . u' + w' . u: of their angular
    accelerations, the part along the axis.
    """
    force, alphas = (
        SX.zeros(kin.mechanism.nu),
        tree.outward(kin.mechanism, _whirl(kin), SX.zeros(3)),
    )
    for loop, row in zip(kin.mechanism.loops, freedoms(kin), strict=True):
        if not loop.joint.armature:
            continue
        way, axis = ca.vertcat(*row), constant(loop.joint.axis)
        gained = ca.dot(axis, alphas[loop.child])
        if loop.parent != WORLD:
            gained -= ca.dot(axis, ca.mtimes(_turn_between(kin, loop), alphas[loop.parent]))
        if acceleration is not None:
            gained += ca.dot(way, acceleration)
        force += loop.joint.armature * gained * way
    return force


def rotor_energy(kin: Kinematics) -> SX:
    """Kinetic energy of the rotors of loop joints, J."""
    total = SX(0)
    for loop, row in zip(kin.mechanism.loops, freedoms(kin), strict=True):
        rate = ca.dot(ca.vertcat(*row), kin.u)
        total += 0.5 * loop.joint.armature * rate * rate
    return total


def facing(kin: Kinematics) -> list[SX]:
    """For every loop joint the cosine between its halves: a hinge's axes, another's frames; 1 where
    the gaps are zero.

    The gaps are zero the wrong way round too.
    """
    found = []
    for loop in kin.mechanism.loops:
        relative = ca.mtimes(_turn_between(kin, loop), constant(loop.rotation))
        if loop.joint.kind == "hinge":
            found.append(
                ca.dot(constant(loop.joint.axis), ca.mtimes(relative, constant(loop.joint.axis)))
            )
        else:
            found.append(SX(1) if loop.joint.kind == "ball" else (ca.trace(relative) - 1) / 2)
    return found


def entries_of(row: SX) -> Row:
    """A sparse (1, nu) row as a list: what is structurally zero stays so."""
    return [row[0, k] if row.sparsity().has_nz(0, k) else SX(0) for k in range(row.shape[1])]


def _square(kin: Kinematics, loop: LoopJoint) -> list[tuple[SX, SX]]:
    """Direction pairs (3,), child's and parent's, in the child's frame, that stay perpendicular."""
    joint = loop.joint
    if joint.kind == "ball":
        return []
    relative = ca.mtimes(
        _turn_between(kin, loop), constant(loop.rotation)
    )  # parent's joint frame seen from the child
    across = _across(joint.axis)
    if joint.kind == "hinge":
        axis = ca.mtimes(relative, constant(joint.axis))
        return [(constant(across[:, k]), axis) for k in range(2)]
    triad = np.column_stack([across, joint.axis])
    return [
        (constant(triad[:, k]), ca.mtimes(relative, constant(triad[:, (k + 1) % 3])))
        for k in range(3)
    ]


def _whirl(kin: Kinematics) -> Callable[[int, SX], SX]:
    """From a body and its parent's angular acceleration at u' = 0 to its own, rad/s^2, each in its
    own frame.
    """

    def visit(i: int, parent: SX) -> SX:
        joint, rate = kin.mechanism.bodies[i].joint, kin.joint_velocity(i)
        carried = ca.mtimes(kin.R[i].T, parent)
        if joint.kind == "hinge":
            return carried + ca.cross(kin.omega[i], constant(joint.axis) * rate)
        if joint.kind == "ball":
            return carried + ca.cross(kin.omega[i], rate)
        return SX.zeros(3) if joint.kind == "free" else carried

    return visit


def _spin(kin: Kinematics, loop: LoopJoint, direction: SX) -> Row:
    """The row of (omega_C - omega_P) . direction, given in the child's frame (3,)."""
    row = _spin_of(kin, loop.child, direction)
    if loop.parent == WORLD:
        return row
    opposite = _spin_of(kin, loop.parent, ca.mtimes(_turn_between(kin, loop).T, direction))
    return [a - b for a, b in zip(row, opposite, strict=True)]


def _spin_of(kin: Kinematics, body: int, direction: SX) -> Row:
    """The row of omega . direction of one body, handed down its support path."""
    row = [SX(0)] * kin.mechanism.nu
    for i in tree.path(kin.mechanism, body):
        joint, first = kin.mechanism.bodies[i].joint, kin.mechanism.u_slices[i].start
        if joint.kind == "hinge":
            row[first] = ca.dot(constant(joint.axis), direction)
        elif joint.kind != "slide":
            offset = 3 if joint.kind == "free" else 0
            row[first + offset : first + offset + 3] = entries(direction)
        direction = ca.mtimes(kin.R[i], direction)
    return row


def _along(kin: Kinematics, loop: LoopJoint, ways: SX) -> list[Row]:
    """Rows of the child anchor's velocity against the parent, along world directions (3, k)."""
    child = jacobian.dense(
        jacobian.point_jacobian(kin, loop.child, constant(loop.in_child)), kin.mechanism.nu
    )
    if loop.parent != WORLD:
        apart = _anchor(kin, loop.child, loop.in_child) - _anchor(kin, loop.parent, np.zeros(3))
        there = ca.mtimes(_turn(kin, loop.parent).T, apart)
        child = child - jacobian.dense(
            jacobian.point_jacobian(kin, loop.parent, there), kin.mechanism.nu
        )
    return [entries_of(row) for row in ca.vertsplit(ca.mtimes(ways.T, child))]


def _parent_jacobian(kin: Kinematics, loop: LoopJoint) -> SX:
    if loop.parent == WORLD:
        return SX(3, kin.mechanism.nu)
    return jacobian.dense(
        jacobian.point_jacobian(kin, loop.parent, constant(loop.position)), kin.mechanism.nu
    )


def _anchor(kin: Kinematics, body: int, point: NDArray[np.float64]) -> SX:
    return constant(point) if body == WORLD else jacobian.position(kin, body, constant(point))


def _turn(kin: Kinematics, body: int) -> SX:
    return SX.eye(3) if body == WORLD else kin.world_rotation[body]


def _turn_between(kin: Kinematics, loop: LoopJoint) -> SX:
    """R with x_child = R x_parent, bodies' frames."""
    return ca.mtimes(_turn(kin, loop.child).T, _turn(kin, loop.parent))


def _across(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two unit vectors (3, 2) that with the axis as third make a right-handed orthonormal frame."""
    start: NDArray[np.float64] = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = start - float(start @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first)])
