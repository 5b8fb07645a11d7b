"""Is a mechanism sound? Errors: what cannot be simulated; warnings: what no real robot has."""

from __future__ import annotations

import warnings

import numpy as np

from tarsus.errors import TarsusError, TarsusWarning
from tarsus.model.mechanism import WORLD, Body, Inertia, Joint, Mechanism

ROUND_OFF = 1e-12
INEQUALITY_SLACK = 1e-3  # files round their inertias to a few digits


def check(mechanism: Mechanism) -> Mechanism:
    """The same mechanism; TarsusError if it cannot be simulated, TarsusWarning for odd inertias."""
    if not mechanism.bodies:
        raise TarsusError(f"{mechanism.name!r} has no body that can move.")
    _check_names(mechanism)
    for number, body in enumerate(mechanism.bodies):
        _check_body(body, number)
        _check_joint(body.joint)
    _check_motion(mechanism)
    _check_parts(mechanism)
    _warn_about_inertias(mechanism)
    return mechanism


def _check_names(mechanism: Mechanism) -> None:
    named = {
        "bodies": mechanism.body_names,
        "joints": [*mechanism.joint_names, *(loop.joint.name for loop in mechanism.loops)],
        "frames": [frame.name for frame in mechanism.frames],
        "candidates": [candidate.name for candidate in mechanism.candidates],
        "actuators": [actuator.name for actuator in mechanism.actuators],
    }
    for what, names in named.items():
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise TarsusError(f"two {what} are named {name!r}.")
            seen.add(name)


def _check_body(body: Body, number: int) -> None:
    if not WORLD <= body.parent < number:
        raise TarsusError(
            f"body {body.name!r} stands before its parent: bodies must be listed depth-first."
        )
    if not np.isfinite(body.inertia.mass) or body.inertia.mass < 0:
        raise TarsusError(f"body {body.name!r}: the mass must be >= 0, not {body.inertia.mass} kg.")
    about = body.inertia.about_com
    if np.abs(about - about.T).max() > ROUND_OFF * (1 + np.abs(about).max()):
        raise TarsusError(f"body {body.name!r}: the inertia must be a symmetric matrix.")
    turn = body.rotation
    if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0:
        raise TarsusError(f"body {body.name!r}: the rotation must be a rotation matrix.")
    if body.joint.kind == "free" and body.parent != WORLD:
        raise TarsusError(
            f"body {body.name!r} hangs on a free joint, so its parent must be the world."
        )


def _check_joint(joint: Joint) -> None:
    if abs(np.linalg.norm(joint.axis) - 1) > 1e-9:
        raise TarsusError(
            f"joint {joint.name!r}: the axis must have length 1, not {np.linalg.norm(joint.axis)}."
        )
    if not joint.lower <= joint.upper:
        raise TarsusError(
            f"joint {joint.name!r}: the range from {joint.lower} to {joint.upper} is empty."
        )
    for what, value in (
        ("armature", joint.armature),
        ("damping", joint.damping),
        ("dry friction", joint.dry_friction),
        ("velocity limit", joint.velocity_limit),
    ):
        if not value >= 0:
            raise TarsusError(f"joint {joint.name!r}: the {what} must be >= 0, not {value}.")


def _check_motion(mechanism: Mechanism) -> None:
    """Every joint must move some inertia, or the mass matrix is singular."""
    bodies = mechanism.bodies
    mass = np.array([body.inertia.mass for body in bodies])
    matter = np.array([body.inertia.mass + np.abs(body.inertia.about_com).max() for body in bodies])
    leaf = np.ones(len(bodies), dtype=bool)
    for number in range(len(bodies) - 1, -1, -1):
        parent = bodies[number].parent
        if parent != WORLD:
            mass[parent] += mass[number]
            matter[parent] += matter[number]
            leaf[parent] = False
    for number, body in enumerate(bodies):
        carried = mass[number] if body.joint.kind in ("free", "slide") else matter[number]
        light = _joint_inertia(body) <= 0 if leaf[number] else carried <= 0
        if body.joint.armature <= 0 and light:
            raise TarsusError(
                f"joint {body.joint.name!r} moves {body.name!r}, which has no inertia against it: "
                "give the body mass and inertia or the joint an armature, or weld it."
            )


def _joint_inertia(body: Body) -> float:
    """The smallest inertia a joint meets moving this body alone, kg or kg m^2; 0 for round-off."""
    inertia, joint = body.inertia, body.joint
    if joint.kind == "slide":
        return inertia.mass
    about_com, about_joint = inertia.about_com, _about_origin(inertia)
    size = np.abs(about_joint).max()
    if joint.kind == "hinge":
        least = float(joint.axis @ about_joint @ joint.axis)
    else:
        least = float(np.linalg.eigvalsh(about_joint if joint.kind == "ball" else about_com)[0])
    least = 0.0 if least <= ROUND_OFF * size else least
    return min(least, inertia.mass) if joint.kind == "free" else least


def _about_origin(inertia: Inertia) -> np.ndarray:
    """The inertia (3, 3) about the body's origin, kg m^2."""
    c = inertia.com
    return inertia.about_com + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _check_parts(mechanism: Mechanism) -> None:
    """Frames, candidates, actuators, keyframes and excluded pairs must speak of what is there."""
    count = len(mechanism.bodies)
    # bodies that parts sit on
    for what, parts in (("frame", mechanism.frames), ("candidate", mechanism.candidates)):
        for part in parts:
            if not 0 <= part.body < count:
                raise TarsusError(
                    f"{what} {part.name!r} sits on body number {part.body}, which is not there."
                )
    # bodies that loop joints join
    for loop in mechanism.loops:
        if (
            not (0 <= loop.child < count and WORLD <= loop.parent < count)
            or loop.child == loop.parent
        ):
            raise TarsusError(
                f"loop joint {loop.joint.name!r} must join two different bodies that are there."
            )
    # joints that motors drive
    loops = {loop.joint.name: loop.joint.kind for loop in mechanism.loops}
    for actuator in mechanism.actuators:
        known = loops.get(actuator.joint)
        kind = known or mechanism.bodies[mechanism.joint_index(actuator.joint)].joint.kind
        if kind not in ("hinge", "slide"):
            raise TarsusError(
                f"actuator {actuator.name!r} drives a {kind} joint: only hinge and slide have"
                " motors."
            )
        if not actuator.lower <= actuator.upper:
            raise TarsusError(
                f"actuator {actuator.name!r}: the limits {actuator.lower}, {actuator.upper} are"
                " empty."
            )
    # sizes of keyframes
    for name, q in mechanism.keyframes.items():
        if np.shape(q) != (mechanism.nq,):
            raise TarsusError(
                f"keyframe {name!r} must have shape ({mechanism.nq},), not {np.shape(q)}."
            )
    # names of excluded pairs
    for pair in mechanism.excluded:
        for name in pair:
            mechanism.body_index(name)


def _warn_about_inertias(mechanism: Mechanism) -> None:
    broken, flat = [], []
    for body in mechanism.bodies:
        if body.inertia.mass == 0 and not body.inertia.about_com.any():
            continue
        least, middle, most = np.linalg.eigvalsh(body.inertia.about_com)
        if least <= ROUND_OFF * most:
            broken.append(body.name)
        elif least + middle < (1 - INEQUALITY_SLACK) * most:
            flat.append(body.name)
    if broken:
        _warn(f"{mechanism.name}: the inertia of {', '.join(broken)} is not positive definite.")
    if flat:
        _warn(f"{mechanism.name}: the inertia of {', '.join(flat)} breaks the triangle inequality.")


def _warn(text: str) -> None:
    warnings.warn(text, TarsusWarning, stacklevel=4)
