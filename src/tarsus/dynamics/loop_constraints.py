"""Loop joints and mimic joints as bilateral constraints: gaps g_B, directions W_B, joint rates.

g_B = 0 and gamma_B = W_B^T u = d/dt g_B. A hinge has three rows of translation (world axes) and two
of rotation, a ball three of translation, a slide two of translation and three of rotation, a fixed
joint three of each. The rows of mimic joints (`joint_couplings`) come last.

References
----------
Gehring 2014, Eqns. (1) and (4).
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


def count_constraints(mechanism: Mechanism) -> int:
    """Count the constraint rows, nb."""
    return sum(ROWS[loop.joint.kind] for loop in mechanism.loops) + len(mechanism.couplings)


def row_names(mechanism: Mechanism) -> list[str]:
    """Name every row by the joint's name and the row's suffix.

    The suffixes of forces (N) are .x, .y, .z, .across1 and .across2; those of moments (N m) are
    .turn1, .turn2 and .turn3.
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
    """Compute g_B (nb,): distances in m, and sines of angles for rotations."""
    values = [SX(0, 1)]
    for loop in kin.mechanism.loops:
        offset = _anchor(kin, loop.child, loop.in_child) - _anchor(kin, loop.parent, loop.position)
        if loop.joint.kind == "slide":
            frame = ca.mtimes(_rotation(kin, loop.parent), constant(loop.rotation))
            normals = ca.mtimes(frame, constant(_normals(loop.joint.axis)))
            offset = ca.mtimes(normals.T, offset)
        values += [offset, *(ca.dot(a, b) for a, b in _build_perpendicular_pairs(kin, loop))]
    return ca.vertcat(*values, *joint_couplings.gaps(kin))


def directions(kin: Kinematics) -> list[Row]:
    """Compute the rows (nu,) of W_B^T, with gamma_B = W_B^T u; nb of them."""
    rows: list[Row] = []
    for loop in kin.mechanism.loops:
        if loop.joint.kind == "slide":
            frame = ca.mtimes(_rotation(kin, loop.parent), constant(loop.rotation))
            normals = ca.mtimes(frame, constant(_normals(loop.joint.axis)))
            rows += _relative_velocity(kin, loop, normals)
        else:
            child = jacobian.dense(
                jacobian.point_jacobian(kin, loop.child, constant(loop.in_child)), kin.mechanism.nu
            )
            rows += [row_entries(row) for row in ca.vertsplit(child - _parent_jacobian(kin, loop))]
        # d/dt (a . b) = (omega_C - omega_P) . (a x b)
        rows += [
            _relative_omega(kin, loop, ca.cross(a, b))
            for a, b in _build_perpendicular_pairs(kin, loop)
        ]
    return rows + joint_couplings.directions(kin)


def force(kin: Kinematics, along: SX) -> SX:
    """Compute the generalized force (nu,) of constraint forces (nb,), in N or N m."""
    total = SX.zeros(kin.mechanism.nu)
    for k, row in enumerate(directions(kin)):
        total += ca.vertcat(*row) * along[k]
    return total


def curvature_correction(kin: Kinematics, dt: SX) -> SX:
    """Compute gamma_B (nb,) at the end of a step that keeps gaps closed beyond first order.

    A step of dt u from q_n changes the gaps by dt gamma + dt^2/2 f(q_n, u_n) + dt^3/6 k, with f the
    second and k the third time derivative of g_B at constant u. With gamma_n = -dt/2 f(q_n, u_n-1)
    + dt^2/3 k the remainder is dt^2/2 (f(q_n, u_n) - f(q_n-1, u_n-1)) up to the order dt^4. Its sum
    over many steps stays bounded, with and without impacts.

    Parameters
    ----------
    kin
        Kinematics at the start of the step.
    dt
        Step size in s.

    Returns
    -------
    SX
        gamma_B (nb,), in m/s or 1/s.
    """
    q, u = SX.sym("q", kin.mechanism.nq), SX.sym("u", kin.mechanism.nu)
    rate, derivatives = (
        coordinate_rate(kin.mechanism, q, u),
        [gaps(kinematics(kin.mechanism, q, u))],
    )
    for _ in range(3):
        derivatives.append(ca.jtimes(derivatives[-1], q, rate))
    _, _, f, k = ca.Function("growth", [q, u], derivatives)(kin.q, kin.u)
    return dt * dt / 3 * k - dt / 2 * f


def rate_rows(kin: Kinematics) -> list[Row]:
    """Compute for every loop joint the row w (nu,), with w . u its rate, or zeros."""
    rows: list[Row] = []
    for loop in kin.mechanism.loops:
        axis = constant(loop.joint.axis)
        if loop.joint.kind == "hinge":
            rows.append(_relative_omega(kin, loop, axis))
        elif loop.joint.kind == "slide":
            rows += _relative_velocity(kin, loop, ca.mtimes(_rotation(kin, loop.child), axis))
        else:
            rows.append([SX(0)] * kin.mechanism.nu)
    return rows


def rotor_forces(kin: Kinematics, acceleration: SX | None = None) -> SX:
    """Compute the generalized force that accelerates the rotors of loop joints.

    The rate w . u of a hinge changes by w . u' + w' . u, which is the relative angular acceleration
    of its two bodies along the axis.

    Parameters
    ----------
    kin
        Kinematics at q and u.
    acceleration
        u' (nu,), in m/s^2 or rad/s^2; zero by default.

    Returns
    -------
    SX
        Force (nu,), in N or N m.
    """
    force = SX.zeros(kin.mechanism.nu)
    alphas = tree.sweep_outward(kin.mechanism, _build_angular_acceleration(kin), SX.zeros(3))
    for loop, row in zip(kin.mechanism.loops, rate_rows(kin), strict=True):
        if not loop.joint.armature:
            continue
        w, axis = ca.vertcat(*row), constant(loop.joint.axis)
        change = ca.dot(axis, alphas[loop.child])
        if loop.parent != WORLD:
            change -= ca.dot(axis, ca.mtimes(_relative_rotation(kin, loop), alphas[loop.parent]))
        if acceleration is not None:
            change += ca.dot(w, acceleration)
        force += loop.joint.armature * change * w
    return force


def rotor_energy(kin: Kinematics) -> SX:
    """Compute the kinetic energy of the rotors of loop joints, in J."""
    total = SX(0)
    for loop, row in zip(kin.mechanism.loops, rate_rows(kin), strict=True):
        rate = ca.dot(ca.vertcat(*row), kin.u)
        total += 0.5 * loop.joint.armature * rate * rate
    return total


def alignments(kin: Kinematics) -> list[SX]:
    """Compute for every loop joint the cosine between its two sides; 1 if it is closed.

    For a hinge it is the cosine between its axes, for other joints that of the angle between
    frames. It detects a joint closed the wrong way round, where the gaps are zero too.
    """
    cosines = []
    for loop in kin.mechanism.loops:
        relative = ca.mtimes(_relative_rotation(kin, loop), constant(loop.rotation))
        if loop.joint.kind == "hinge":
            cosines.append(
                ca.dot(constant(loop.joint.axis), ca.mtimes(relative, constant(loop.joint.axis)))
            )
        else:
            cosines.append(SX(1) if loop.joint.kind == "ball" else (ca.trace(relative) - 1) / 2)
    return cosines


def row_entries(row: SX) -> Row:
    """List the entries of a sparse (1, nu) row; structural zeros stay zero."""
    return [row[0, k] if row.sparsity().has_nz(0, k) else SX(0) for k in range(row.shape[1])]


def _build_perpendicular_pairs(kin: Kinematics, loop: LoopJoint) -> list[tuple[SX, SX]]:
    """Build pairs of directions of child and parent, child's frame, that stay perpendicular."""
    joint = loop.joint
    if joint.kind == "ball":
        return []
    # the parent's joint frame in the child's frame
    relative = ca.mtimes(_relative_rotation(kin, loop), constant(loop.rotation))
    normals = _normals(joint.axis)
    if joint.kind == "hinge":
        axis = ca.mtimes(relative, constant(joint.axis))
        return [(constant(normals[:, k]), axis) for k in range(2)]
    triad = np.column_stack([normals, joint.axis])
    return [
        (constant(triad[:, k]), ca.mtimes(relative, constant(triad[:, (k + 1) % 3])))
        for k in range(3)
    ]


def _build_angular_acceleration(kin: Kinematics) -> Callable[[int, SX], SX]:
    """Build a function (body, parent's value) that gives the angular acceleration at u' = 0.

    Values are in rad/s^2, each in its body's own frame.
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


def _relative_omega(kin: Kinematics, loop: LoopJoint, direction: SX) -> Row:
    """Compute the row of (omega_C - omega_P) . direction (3,), given in the child's frame."""
    row = _omega_along(kin, loop.child, direction)
    if loop.parent == WORLD:
        return row
    in_parent = ca.mtimes(_relative_rotation(kin, loop).T, direction)
    opposite = _omega_along(kin, loop.parent, in_parent)
    return [a - b for a, b in zip(row, opposite, strict=True)]


def _omega_along(kin: Kinematics, body: int, direction: SX) -> Row:
    """Compute the row of omega . direction (3,) of one body, in its own frame."""
    row = [SX(0)] * kin.mechanism.nu
    for i in tree.support_path(kin.mechanism, body):
        joint, first = kin.mechanism.bodies[i].joint, kin.mechanism.u_slices[i].start
        if joint.kind == "hinge":
            row[first] = ca.dot(constant(joint.axis), direction)
        elif joint.kind != "slide":
            offset = 3 if joint.kind == "free" else 0
            row[first + offset : first + offset + 3] = entries(direction)
        direction = ca.mtimes(kin.R[i], direction)
    return row


def _relative_velocity(kin: Kinematics, loop: LoopJoint, directions: SX) -> list[Row]:
    """Compute the rows of the child anchor's relative velocity along world directions (3, k)."""
    child = jacobian.dense(
        jacobian.point_jacobian(kin, loop.child, constant(loop.in_child)), kin.mechanism.nu
    )
    if loop.parent != WORLD:
        offset = _anchor(kin, loop.child, loop.in_child) - _anchor(kin, loop.parent, np.zeros(3))
        in_parent = ca.mtimes(_rotation(kin, loop.parent).T, offset)
        child = child - jacobian.dense(
            jacobian.point_jacobian(kin, loop.parent, in_parent), kin.mechanism.nu
        )
    return [row_entries(row) for row in ca.vertsplit(ca.mtimes(directions.T, child))]


def _parent_jacobian(kin: Kinematics, loop: LoopJoint) -> SX:
    if loop.parent == WORLD:
        return SX(3, kin.mechanism.nu)
    return jacobian.dense(
        jacobian.point_jacobian(kin, loop.parent, constant(loop.position)), kin.mechanism.nu
    )


def _anchor(kin: Kinematics, body: int, point: NDArray[np.float64]) -> SX:
    return constant(point) if body == WORLD else jacobian.position(kin, body, constant(point))


def _rotation(kin: Kinematics, body: int) -> SX:
    return SX.eye(3) if body == WORLD else kin.world_rotation[body]


def _relative_rotation(kin: Kinematics, loop: LoopJoint) -> SX:
    """Compute R with x_child = R x_parent, in the frames of the bodies."""
    return ca.mtimes(_rotation(kin, loop.child).T, _rotation(kin, loop.parent))


def _normals(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Complete an axis to a right-handed frame by two unit vectors (3, 2), with the axis third."""
    start: NDArray[np.float64] = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = start - float(start @ axis) * axis
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first)])
