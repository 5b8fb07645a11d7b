"""Composite-rigid-body algorithm for any tree (Teixeira de Paula 2024, Alg. 5)."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.dynamics import tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.rnea import Wrench, project_on_joint
from tarsus.model.mechanism import WORLD
from tarsus.spatial.inertia import LinearInertia
from tarsus.spatial.rotation import constant, skew


def composite_inertias(kin: Kinematics, inertias: list[LinearInertia]) -> list[LinearInertia]:
    """Compute I_c of every body: its subtree as one rigid body, in its own frame (Eqn. (26))."""
    return tree.sweep_inward(
        kin.mechanism,
        inertias,
        lambda i, inertia: inertia.to_parent(kin.R[i], kin.r[i]),
        lambda a, b: a + b,
    )


def mass_matrix(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute M(q) (nu, nu) with armature on its diagonal and zeros between branches."""
    mechanism = kin.mechanism
    M = SX(mechanism.nu, mechanism.nu)
    for i, composite in enumerate(composite_inertias(kin, inertias)):
        u_slice = mechanism.u_slices[i]
        if mechanism.bodies[i].joint.kind == "free":
            M[u_slice, u_slice] = _free_body_block(kin, i, composite)
        for k, column in enumerate(_unit_momenta(kin, i, composite)):
            j, wrench = i, column
            while j != WORLD:
                rows = mechanism.u_slices[j]
                share = project_on_joint(kin, j, wrench)
                M[rows, u_slice.start + k] = share
                M[u_slice.start + k, rows] = share.T
                force = ca.mtimes(kin.R[j], wrench[1])
                wrench = (ca.mtimes(kin.R[j], wrench[0]) + ca.cross(kin.r[j], force), force)
                j = mechanism.bodies[j].parent
        for k in range(u_slice.start, u_slice.stop):
            M[k, k] += mechanism.bodies[i].joint.armature
    return M


def _unit_momenta(kin: Kinematics, i: int, composite: LinearInertia) -> list[Wrench]:
    """Compute the momenta F_i = I_c S_i of the subtree for unit velocities of joint i (Eqn. (28)).

    There are none for a free joint, whose block is `_free_body_block`.
    """
    joint, zero, eye = kin.mechanism.bodies[i].joint, SX.zeros(3), SX.eye(3)
    if joint.kind == "free":
        return []
    if joint.kind == "hinge":
        return [composite.momentum(constant(joint.axis), zero)]
    if joint.kind == "slide":
        return [composite.momentum(zero, constant(joint.axis))]
    spins = [composite.momentum(eye[:, k], zero) for k in range(3)]
    return spins


def _free_body_block(kin: Kinematics, i: int, composite: LinearInertia) -> SX:
    """Compute [[m 1, -R [h]x], [[h]x R^T, I]], constant if the origin is the center of mass."""
    M = SX(6, 6)
    for k in range(3):
        M[k, k] = composite.m
    below = ca.mtimes(skew(composite.h), kin.R[i].T)
    M[3:, :3], M[:3, 3:] = below, below.T
    for a in range(3):
        for b in range(a + 1):
            M[3 + a, 3 + b] = M[3 + b, 3 + a] = composite.I[a, b]
    return ca.sparsify(M)
