"""A mechanism with cut joints seen in the coordinates of the whole one, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loop_constraints
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import WORLD, LoopJoint, Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.spatial.quaternion import conjugate, product
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]


def uncut_state(mechanism: Mechanism, q: SX, u: SX) -> tuple[SX, SX]:
    """Coordinates and velocities of the mechanism before joints were cut; those given if none were.

    A cut hinge's angle is in (-pi, pi]; what a joint cannot do (drift) is left out.
    """
    if mechanism.uncut is None:
        return q, u
    kin = kinematics(mechanism, q, u)
    cut = {loop.child: k for k, loop in enumerate(mechanism.loops)}
    turns, rates = quaternions(kin), loop_constraints.freedoms(kin)
    coordinates, velocities = [], []
    for i, body in enumerate(mechanism.uncut.bodies):
        if i not in cut or mechanism.bodies[i].joint.name == body.joint.name:
            coordinates.append(q[mechanism.q_slices[i]])
            velocities.append(u[mechanism.u_slices[i]])
            continue
        loop = mechanism.loops[cut[i]]
        coordinates.append(_displacement(kin, loop, turns))
        row = ca.vertcat(*rates[cut[i]])
        velocities.append(
            _relative_spin(kin, loop) if loop.joint.kind == "ball" else ca.dot(row, u)
        )
    return ca.vertcat(*coordinates), ca.vertcat(*velocities)


def cut_state(mechanism: Mechanism, q: SX, u: SX) -> tuple[SX, SX]:
    """Coordinates (nq,), velocities (nu,) of a mechanism with cut joints from the whole one's."""
    uncut = mechanism.uncut
    if uncut is None:
        return q, u
    kin = kinematics(uncut, q, u)
    turns = quaternions(kin)
    coordinates, velocities = [], []
    for i, (body, before) in enumerate(zip(mechanism.bodies, uncut.bodies, strict=True)):
        if body.joint.name == before.joint.name:
            coordinates.append(kin.q[uncut.q_slices[i]])
            velocities.append(kin.u[uncut.u_slices[i]])
            continue
        shift = constant(before.inertia.com - body.inertia.com)
        turn = kin.world_rotation[i]
        coordinates += [kin.world_position[i] + ca.mtimes(turn, shift), turns[i]]
        moved = ca.mtimes(turn, kin.velocity[i] + ca.cross(kin.omega[i], shift))
        velocities += [moved, kin.omega[i]]
    return ca.vertcat(*coordinates), ca.vertcat(*velocities)


def in_cut(mechanism: Mechanism, q: Array, u: Array | None = None) -> tuple[Array, Array]:
    """`cut_state` of numbers: the whole mechanism's state, or N of them (N, nq), (N, nu); at rest
    if u is left out.
    """
    return _evaluated(mechanism, "cut", mechanism.uncut or mechanism, q, u)


def in_uncut(mechanism: Mechanism, q: Array, u: Array | None = None) -> tuple[Array, Array]:
    """`uncut_state` of numbers: the cut mechanism's state, or N of them (N, nq), (N, nu); at rest
    if u is left out.
    """
    return _evaluated(mechanism, "uncut", mechanism, q, u)


def _evaluated(
    mechanism: Mechanism, to: str, given: Mechanism, q: Array, u: Array | None
) -> tuple[Array, Array]:
    q = np.asarray(q, float)
    u = np.broadcast_to(
        np.zeros(given.nu) if u is None else np.asarray(u, float), (*q.shape[:-1], given.nu)
    )
    q_new, u_new = (np.array(part).T for part in _translator(mechanism, to)(q.T, u.T))
    return q_new.reshape(*q.shape[:-1], -1), u_new.reshape(*q.shape[:-1], -1)


@cache
def _translator(mechanism: Mechanism, to: str) -> ca.Function:
    """A function of columns of q and u."""
    given = mechanism if to == "uncut" else mechanism.uncut or mechanism
    q, u = SX.sym("q", given.nq), SX.sym("u", given.nu)
    return ca.Function(
        to, [q, u], list({"uncut": uncut_state, "cut": cut_state}[to](mechanism, q, u))
    )


def loop_positions(kin: Kinematics, middles: Mapping[int, float]) -> list[SX]:
    """Of loop joints by number: way of a slide, m, or angle of a hinge, rad, within half a turn of
    a middle.
    """
    turns = quaternions(kin)
    loops = kin.mechanism.loops
    return [_displacement(kin, loops[k], turns, middle) for k, middle in middles.items()]


@cache
def loop_viewer(mechanism: Mechanism, middles: tuple[tuple[int, float], ...]) -> ca.Function:
    """`loop_positions` as a function of columns of q."""
    q = SX.sym("q", mechanism.nq)
    found = loop_positions(kinematics(mechanism, q), dict(middles))
    return ca.Function("loops", [q], [ca.vertcat(SX(0, 1), *found)])


def _displacement(kin: Kinematics, loop: LoopJoint, turns: list[SX], middle: float = 0.0) -> SX:
    """The joint's own coordinate(s): angle, way, or quaternion."""
    axis = constant(loop.joint.axis)
    if loop.joint.kind == "slide":
        apart = kin.world_position[loop.child] + ca.mtimes(
            kin.world_rotation[loop.child], constant(loop.in_child)
        )
        if loop.parent != WORLD:
            home = ca.mtimes(kin.world_rotation[loop.parent], constant(loop.position))
            apart = apart - kin.world_position[loop.parent] - home
        return ca.dot(ca.mtimes(kin.world_rotation[loop.child], axis), apart)
    home = constant(quaternion_from_rotation(loop.rotation))
    above = home if loop.parent == WORLD else product(turns[loop.parent], home)
    relative = product(conjugate(above), turns[loop.child])
    if loop.joint.kind == "ball":
        return relative
    along = ca.dot(axis, relative[1:])
    sine, cosine = 2 * relative[0] * along, relative[0] * relative[0] - along * along
    if not middle:
        return ca.atan2(sine, cosine)
    c, s = float(np.cos(middle)), float(np.sin(middle))
    return middle + ca.atan2(c * sine - s * cosine, c * cosine + s * sine)


def _relative_spin(kin: Kinematics, loop: LoopJoint) -> SX:
    """Angular velocity of the child against the parent in the child's frame, rad/s."""
    spin = kin.omega[loop.child]
    if loop.parent == WORLD:
        return spin
    seen = ca.mtimes(kin.world_rotation[loop.child].T, kin.world_rotation[loop.parent])
    return spin - ca.mtimes(seen, kin.omega[loop.parent])


def quaternions(kin: Kinematics) -> list[SX]:
    """World orientation of every body as a unit quaternion (w, x, y, z)."""
    found: list[SX] = []
    for body, at in zip(kin.mechanism.bodies, kin.mechanism.q_slices, strict=True):
        joint, qi = body.joint, kin.q[at]
        own = SX([1, 0, 0, 0])
        if joint.kind == "hinge":
            own = ca.vertcat(ca.cos(qi / 2), constant(joint.axis) * ca.sin(qi / 2))
        elif joint.kind != "slide":
            own = qi[-4:]
        own = product(constant(quaternion_from_rotation(body.rotation)), own)
        found.append(own if body.parent == WORLD else product(found[body.parent], own))
    return found
