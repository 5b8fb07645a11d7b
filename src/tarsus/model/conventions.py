"""Conversion of coordinates and velocities to the conventions of MuJoCo and Pinocchio, and back.

Tarsus: q = [position, quaternion (w, x, y, z), joints], u = [world linear velocity, body angular
velocity, joint rates], bodies depth-first in the file's order. MuJoCo has the same layout, perhaps
in another order. Pinocchio has quaternions (x, y, z, w), linear velocities in the body's frame, and
(cos, sin) for the angle of a continuous joint. Joints are matched by name; a free joint without a
match is matched to the only free joint left. All arrays may have leading batch axes: q (..., nq),
u (..., nu).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from tarsus.errors import InvalidModel, InvalidValue, join_names
from tarsus.model.joint import WIDTHS
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
MUJOCO_KINDS = ("free", "ball", "slide", "hinge")  # mjtJoint
XYZW, WXYZ = [1, 2, 3, 0], [3, 0, 1, 2]


@dataclass(frozen=True)
class Slot:
    """Position of a joint in the arrays of Tarsus and of another library.

    Attributes
    ----------
    kind
        Kind of joint.
    q, u
        Slices in Tarsus's arrays.
    library_q, library_u
        Slices in the library's arrays.
    number
        Number of the joint in the library.
    """

    kind: str
    q: slice
    u: slice
    library_q: slice
    library_u: slice
    number: int


def to_mujoco(mechanism: Mechanism, model: Any, q: ArrayLike, u: ArrayLike) -> tuple[Array, Array]:
    """Convert (q, u) to (qpos, qvel) of a mujoco.MjModel."""
    q, u = _arrays(q, u, mechanism.nq, mechanism.nu)
    qpos, qvel = np.empty((*q.shape[:-1], model.nq)), np.empty((*u.shape[:-1], model.nv))
    for slot in _mujoco_slots(mechanism, model):
        qpos[..., slot.library_q], qvel[..., slot.library_u] = q[..., slot.q], u[..., slot.u]
    return qpos, qvel


def from_mujoco(
    mechanism: Mechanism, model: Any, qpos: ArrayLike, qvel: ArrayLike
) -> tuple[Array, Array]:
    """Convert (qpos, qvel) of a mujoco.MjModel to (q, u)."""
    qpos, qvel = _arrays(qpos, qvel, model.nq, model.nv)
    q, u = np.empty((*qpos.shape[:-1], mechanism.nq)), np.empty((*qvel.shape[:-1], mechanism.nu))
    for slot in _mujoco_slots(mechanism, model):
        q[..., slot.q], u[..., slot.u] = qpos[..., slot.library_q], qvel[..., slot.library_u]
    return q, u


def to_pinocchio(
    mechanism: Mechanism, model: Any, q: ArrayLike, u: ArrayLike
) -> tuple[Array, Array]:
    """Convert (q, u) to (q, v) of a pinocchio.Model."""
    q, u = _arrays(q, u, mechanism.nq, mechanism.nu)
    theirs, v = np.empty((*q.shape[:-1], model.nq)), np.empty((*u.shape[:-1], model.nv))
    for slot in _pinocchio_slots(mechanism, model):
        coordinates, rate = q[..., slot.q], u[..., slot.u]
        if slot.kind == "free":
            placement = model.jointPlacements[slot.number]
            coordinates, rate = _free_to_pinocchio(placement, coordinates, rate)
        elif slot.kind == "ball":
            coordinates = coordinates[..., XYZW]
        elif slot.library_q.stop - slot.library_q.start == 2:
            coordinates = np.concatenate([np.cos(coordinates), np.sin(coordinates)], axis=-1)
        theirs[..., slot.library_q], v[..., slot.library_u] = coordinates, rate
    return theirs, v


def from_pinocchio(
    mechanism: Mechanism, model: Any, q: ArrayLike, v: ArrayLike
) -> tuple[Array, Array]:
    """Convert Pinocchio's (q, v) to (q, u), with angles of continuous joints in (-pi, pi]."""
    q, v = _arrays(q, v, model.nq, model.nv)
    ours, u = np.empty((*q.shape[:-1], mechanism.nq)), np.empty((*v.shape[:-1], mechanism.nu))
    for slot in _pinocchio_slots(mechanism, model):
        coordinates, rate = q[..., slot.library_q], v[..., slot.library_u]
        if slot.kind == "free":
            placement = model.jointPlacements[slot.number]
            coordinates, rate = _free_from_pinocchio(placement, coordinates, rate)
        elif slot.kind == "ball":
            coordinates = coordinates[..., WXYZ]
        elif slot.library_q.stop - slot.library_q.start == 2:
            coordinates = np.arctan2(coordinates[..., 1:], coordinates[..., :1])
        ours[..., slot.q], u[..., slot.u] = coordinates, rate
    return ours, u


def mujoco_joint_names(model: Any) -> list[str]:
    """Create a unique name for every joint of a MuJoCo model.

    A joint without a name is called <body>/<kind>, with a number if there are several.
    """
    names: list[str] = []
    for number in range(model.njnt):
        name = model.joint(number).name
        if not name:
            body = int(model.jnt_bodyid[number])
            kind = MUJOCO_KINDS[int(model.jnt_type[number])]
            stem = f"{model.body(body).name or f'body_{body}'}/{kind}"
            repeats = sum(other == stem or other.startswith(f"{stem}_") for other in names)
            name = f"{stem}_{repeats}" if repeats else stem
        names.append(name)
    return names


def mujoco_body_names(model: Any) -> list[str]:
    """Create a unique name for every body of a MuJoCo model; body_<number> if it has none."""
    given = {model.body(body).name for body in range(model.nbody)}
    names: list[str] = []
    for body in range(model.nbody):
        name = model.body(body).name
        while not name or (name in names):
            name = f"body_{body}" if f"body_{body}" not in given else f"body_{body}_unnamed"
        names.append(name)
    return names


def _mujoco_slots(mechanism: Mechanism, model: Any) -> list[Slot]:
    kinds = [MUJOCO_KINDS[int(kind)] for kind in model.jnt_type]
    widths = [WIDTHS[kind] for kind in kinds]
    starts = [(int(q), int(u)) for q, u in zip(model.jnt_qposadr, model.jnt_dofadr, strict=True)]
    return _slots(mechanism, "MuJoCo", mujoco_joint_names(model), widths, starts)


def _pinocchio_slots(mechanism: Mechanism, model: Any) -> list[Slot]:
    widths = [(int(nq), int(nv)) for nq, nv in zip(model.nqs, model.nvs, strict=True)]
    starts = [(int(q), int(v)) for q, v in zip(model.idx_qs, model.idx_vs, strict=True)]
    slots = _slots(
        mechanism, "Pinocchio", list(model.names)[1:], widths[1:], starts[1:]
    )  # 0: the universe
    return [Slot(s.kind, s.q, s.u, s.library_q, s.library_u, s.number + 1) for s in slots]


def _slots(
    mechanism: Mechanism,
    library: str,
    names: Sequence[str],
    widths: Sequence[tuple[int, int]],
    starts: Sequence[tuple[int, int]],
) -> list[Slot]:
    """Return the slots of a mechanism's joints.

    Parameters
    ----------
    mechanism
        A robot.
    library
        Name of the library.
    names, widths, starts
        Names, (nq, nu) and first indices (q, u) of the joints in the library.

    Raises
    ------
    InvalidModel
        If the joints differ.
    """
    unmatched = dict(zip(names, range(len(names)), strict=True))
    matches = {name: unmatched.pop(name) for name in mechanism.joint_names if name in unmatched}
    unmatched_free = [number for number in unmatched.values() if widths[number] == WIDTHS["free"]]
    own_free = [
        b.joint.name
        for b in mechanism.bodies
        if b.joint.kind == "free" and b.joint.name not in matches
    ]
    if len(unmatched_free) == len(own_free) == 1:
        matches[own_free[0]] = unmatched_free[0]
    missing = [name for name in mechanism.joint_names if name not in matches]
    extra = [name for number, name in enumerate(names) if number not in matches.values()]
    if missing or extra:
        raise InvalidModel(
            f"the joints of {mechanism.name!r} and of the {library} model differ: only in Tarsus"
            f" {join_names(missing, len(missing))}; only in {library}"
            f" {join_names(extra, len(extra))}.",
            [*missing, *extra][0],
        )
    # widths must agree, but a hinge may have a cosine and a sine there
    slots: list[Slot] = []
    for body, q, u in zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True):
        number = matches[body.joint.name]
        (nq, nu), (first_q, first_u) = widths[number], starts[number]
        continuous = body.joint.kind == "hinge" and (nq, nu) == (2, 1)
        if (nq, nu) != WIDTHS[body.joint.kind] and not continuous:
            raise InvalidModel(
                f"joint {body.joint.name!r} is a {body.joint.kind} in Tarsus but of a different"
                f" kind in {library}.",
                body.joint.name,
            )
        theirs = slice(first_q, first_q + nq), slice(first_u, first_u + nu)
        slots.append(Slot(body.joint.kind, q, u, *theirs, number))
    return slots


def _free_to_pinocchio(placement: Any, q: Array, u: Array) -> tuple[Array, Array]:
    """Convert a free joint's coordinates to its placement, its velocity to the body frame."""
    base, attitude = Rotation.from_matrix(np.array(placement.rotation)), _rotation(q[..., 3:])
    position = _rotate(base.inv(), q[..., :3] - np.array(placement.translation))
    quaternion = q[..., 3:][..., XYZW]
    if base.magnitude() > 0:
        quaternion = (base.inv() * attitude).as_quat().reshape(quaternion.shape)
    return np.concatenate([position, quaternion], -1), np.concatenate(
        [_rotate(attitude.inv(), u[..., :3]), u[..., 3:]], -1
    )


def _free_from_pinocchio(placement: Any, q: Array, v: Array) -> tuple[Array, Array]:
    base = Rotation.from_matrix(np.array(placement.rotation))
    position = _rotate(base, q[..., :3]) + np.array(placement.translation)
    quaternion = q[..., 3:][..., WXYZ]
    if base.magnitude() > 0:
        quaternion = (
            (base * _rotation(quaternion)).as_quat(scalar_first=True).reshape(quaternion.shape)
        )
    linear = _rotate(_rotation(quaternion), v[..., :3])
    return np.concatenate([position, quaternion], -1), np.concatenate([linear, v[..., 3:]], -1)


def _rotation(quaternion: Array) -> Rotation:
    """Compute rotations, along one axis, of quaternions (..., 4)."""
    return Rotation.from_quat(quaternion.reshape(-1, 4), scalar_first=True)


def _rotate(rotation: Rotation, vectors: Array) -> Array:
    """Rotate vectors (..., 3) by one rotation, or by one each."""
    return rotation.apply(vectors.reshape(-1, 3)).reshape(vectors.shape)


def _arrays(q: ArrayLike, u: ArrayLike, nq: int, nu: int) -> tuple[Array, Array]:
    q, u = np.asarray(q, dtype=float), np.asarray(u, dtype=float)
    if (
        q.ndim < 1
        or u.ndim < 1
        or q.shape[-1] != nq
        or u.shape[-1] != nu
        or q.shape[:-1] != u.shape[:-1]
    ):
        raise InvalidValue(
            f"coordinates must have shape (..., {nq}) and velocities (..., {nu}) with the same"
            f" leading axes, not {q.shape} and {u.shape}.",
            "q" if q.ndim < 1 or q.shape[-1] != nq else "u",
        )
    return q, u
