"""Checks of mechanisms: errors for what cannot be simulated, warnings for what no robot has."""

from __future__ import annotations

import warnings

import numpy as np

from tarsus.errors import InvalidModel, TarsusWarning
from tarsus.model.aligned_hinges import aligned_hinges
from tarsus.model.joint_coupling import check_couplings
from tarsus.model.mass_matrix import mass_matrix
from tarsus.model.mechanism import WORLD, Body, Inertia, Joint, Mechanism
from tarsus.model.tendon import check_tendons

ROUND_OFF = 1e-12
POSTURES = 10  # in which the mass matrix is checked if an inertia is doubtful
LARGEST = 1e12  # in SI units, far above any robot; products of three fit into float32
LARGEST_OF_BODY = 1e10  # masses, positions, inertias, torques; some files weld by more damping
INEQUALITY_SLACK = 1e-3  # files round inertias to a few digits


def check(mechanism: Mechanism) -> Mechanism:
    """Check the mechanism and return it, with warnings for odd inertias.

    Raises
    ------
    InvalidModel
        If it cannot be simulated.
    """
    if not mechanism.bodies:
        raise InvalidModel(f"{mechanism.name!r} has no body that can move.", mechanism.name)
    _check_names(mechanism)
    for number, body in enumerate(mechanism.bodies):
        _check_body(body, number)
        _check_joint(body.joint)
    _check_motion(mechanism)
    _check_parts(mechanism)
    _check_sizes(mechanism)
    doubtful = _find_indefinite_bodies(mechanism)
    _check_mass_matrix(mechanism, POSTURES if doubtful else 1)
    _warn_about_inertias(mechanism, doubtful)
    _warn_about_axes(mechanism)
    return mechanism


def _check_names(mechanism: Mechanism) -> None:
    names_by_kind = {
        "bodies": mechanism.body_names,
        "joints or tendons": [
            *mechanism.joint_names,
            *(loop.joint.name for loop in mechanism.loops),
            *(tendon.name for tendon in mechanism.tendons),
        ],
        "couplings": [coupling.name for coupling in mechanism.couplings],
        "frames": [frame.name for frame in mechanism.frames],
        "candidates": [candidate.name for candidate in mechanism.candidates],
        "actuators": [actuator.name for actuator in mechanism.actuators],
    }
    for kind, names in names_by_kind.items():
        known: set[str] = set()
        for name in names:
            if name in known:
                raise InvalidModel(f"two {kind} are named {name!r}: rename one of them.", name)
            known.add(name)


def _check_body(body: Body, number: int) -> None:
    if not WORLD <= body.parent < number:
        raise InvalidModel(
            f"body {body.name!r} is listed before its parent: list bodies depth-first.", body.name
        )
    if not np.isfinite(body.inertia.mass) or body.inertia.mass < 0:
        raise InvalidModel(
            f"body {body.name!r}: the mass must be >= 0, not {body.inertia.mass} kg.", body.name
        )
    about = body.inertia.about_com
    if np.abs(about - about.T).max() > ROUND_OFF * (1 + np.abs(about).max()):
        raise InvalidModel(
            f"body {body.name!r}: the inertia must be a symmetric matrix.", body.name
        )
    turn = body.rotation
    if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0:
        raise InvalidModel(
            f"body {body.name!r}: the rotation must be orthogonal with determinant 1.", body.name
        )
    if body.joint.kind == "free" and body.parent != WORLD:
        raise InvalidModel(
            f"body {body.name!r} has a free joint, so its parent must be the world.", body.name
        )


def _check_joint(joint: Joint) -> None:
    if joint.kind == "fixed":
        raise InvalidModel(
            f"joint {joint.name!r} is fixed: weld its body to the parent instead.", joint.name
        )
    if abs(np.linalg.norm(joint.axis) - 1) > 1e-9:
        raise InvalidModel(
            f"joint {joint.name!r}: the axis must have length 1, not {np.linalg.norm(joint.axis)}.",
            joint.name,
        )
    if not joint.lower <= joint.upper:
        raise InvalidModel(
            f"joint {joint.name!r}: the lower limit {joint.lower} is above the upper limit"
            f" {joint.upper}.",
            joint.name,
        )
    if joint.kind == "ball" and not joint.upper > 0:
        raise InvalidModel(
            f"ball joint {joint.name!r}: the largest angle must be > 0, not {joint.upper}.",
            joint.name,
        )
    for what, value in (
        ("armature", joint.armature),
        ("damping", joint.damping),
        ("dry friction", joint.dry_friction),
        ("velocity limit", joint.velocity_limit),
        ("stiffness", joint.stiffness),
    ):
        if not value >= 0:
            raise InvalidModel(
                f"joint {joint.name!r}: the {what} must be >= 0, not {value}.", joint.name
            )


def _check_motion(mechanism: Mechanism) -> None:
    """Check that every joint moves some inertia; otherwise the mass matrix is singular."""
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
        least = _joint_inertia(body) if leaf[number] else carried
        if body.joint.armature <= 0 and least <= 0:
            kind = "negative" if least < 0 else "no"
            raise InvalidModel(
                f"joint {body.joint.name!r} moves body {body.name!r}, which has {kind} inertia"
                " about it: give the body mass and inertia (check the products of inertia too),"
                " give the joint an armature, or weld the body.",
                body.joint.name,
            )


def _joint_inertia(body: Body) -> float:
    """Compute the smallest inertia of a body about its joint, in kg or kg m²; 0 for round-off."""
    inertia, joint = body.inertia, body.joint
    if joint.kind == "slide":
        return inertia.mass
    about_com, about_joint = inertia.about_com, _inertia_about_origin(inertia)
    size = np.abs(about_joint).max()
    if joint.kind == "hinge":
        least = float(joint.axis @ about_joint @ joint.axis)
    else:
        least = float(np.linalg.eigvalsh(about_joint if joint.kind == "ball" else about_com)[0])
    least = 0.0 if abs(least) <= ROUND_OFF * size else least
    return min(least, inertia.mass) if joint.kind == "free" else least


def _inertia_about_origin(inertia: Inertia) -> np.ndarray:
    """Compute the inertia, shape (3, 3), about the body's origin, in kg m²."""
    c = inertia.com
    return inertia.about_com + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))


def _check_parts(mechanism: Mechanism) -> None:
    """Check that frames, candidates, actuators, keyframes and excluded pairs refer to parts."""
    count = len(mechanism.bodies)
    for what, parts in (
        ("frame", mechanism.frames),
        ("candidate", mechanism.candidates),
        ("solid", mechanism.solids),
    ):
        for part in parts:
            if not 0 <= part.body < count:
                raise InvalidModel(
                    f"{what} {part.name!r} belongs to body number {part.body}, but there are only"
                    f" {count} bodies.",
                    part.name,
                )
    for loop in mechanism.loops:
        if (
            not (0 <= loop.child < count and WORLD <= loop.parent < count)
            or loop.child == loop.parent
        ):
            raise InvalidModel(
                f"loop joint {loop.joint.name!r} must connect two different bodies of the"
                " mechanism.",
                loop.joint.name,
            )
    kinds = {body.joint.name: body.joint.kind for body in mechanism.bodies}
    check_couplings(mechanism.couplings, kinds)
    check_tendons(mechanism.tendons, kinds)
    loops = {loop.joint.name: loop.joint.kind for loop in mechanism.loops}
    for actuator in mechanism.actuators:
        kind = (
            loops.get(actuator.joint)
            or mechanism.bodies[mechanism.joint_index(actuator.joint)].joint.kind
        )
        if kind not in ("hinge", "slide"):
            raise InvalidModel(
                f"actuator {actuator.name!r} drives a {kind} joint: only hinge and slide joints can"
                " have motors.",
                actuator.name,
            )
        if not actuator.lower <= actuator.upper:
            raise InvalidModel(
                f"actuator {actuator.name!r}: the lower limit {actuator.lower} is above the upper"
                f" limit {actuator.upper}.",
                actuator.name,
            )
    for name, q in mechanism.keyframes.items():
        if np.shape(q) != (mechanism.nq,):
            raise InvalidModel(
                f"keyframe {name!r} must have shape ({mechanism.nq},), not {np.shape(q)}.", name
            )
    for pair in mechanism.excluded:
        for name in pair:
            mechanism.body_index(name)


def _check_sizes(mechanism: Mechanism) -> None:
    """Check that no value is so large that its square would overflow or dominate."""
    values: list[tuple[str, str, object]] = []
    resistances: list[tuple[str, str, object]] = []
    values.append(("gravity", "gravity", mechanism.gravity_acceleration))
    values += [(name, f"keyframe {name!r}", q) for name, q in mechanism.keyframes.items()]
    values += [(f.name, f"frame {f.name!r}: position", f.position) for f in mechanism.frames]
    for c in mechanism.candidates:
        what = f"candidate {c.name!r}: position or radius"
        values.append((c.name, what, (*c.position, c.radius)))
    for body in mechanism.bodies:
        inertia, joint = body.inertia, body.joint
        of_body = {
            "position": body.position,
            "mass": inertia.mass,
            "center of mass": inertia.com,
            "inertia": inertia.about_com,
        }
        of_joint = {
            "armature, damping or friction": (joint.armature, joint.damping, joint.dry_friction),
            "spring": (joint.stiffness, joint.rest),
        }
        values += [(body.name, f"body {body.name!r}: {key}", v) for key, v in of_body.items()]
        resistances += [
            (joint.name, f"joint {joint.name!r}: {key}", v) for key, v in of_joint.items()
        ]
    for actuator in mechanism.actuators:
        limits = np.array([actuator.lower, actuator.upper])
        what = f"actuator {actuator.name!r}: limits"
        values.append((actuator.name, what, limits[np.isfinite(limits)]))
    for quantities, limit in ((values, LARGEST_OF_BODY), (resistances, LARGEST)):
        for name, what, value in quantities:
            largest = np.abs(np.asarray(value, dtype=float)).max(initial=0.0)
            if not largest <= limit:
                raise InvalidModel(
                    f"{what} must be finite and at most {limit:g} in SI units, not {largest:g}.",
                    name,
                )


def _check_mass_matrix(mechanism: Mechanism, postures: int) -> None:
    """Check that M(q) is positive definite, in random postures, which have no symmetry."""
    random = np.random.default_rng(0)
    for _ in range(postures):
        q = random.uniform(-1.0, 1.0, mechanism.nq)
        for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True):
            if body.joint.kind in ("free", "ball"):
                q[q_slice.stop - 4 : q_slice.stop] /= np.linalg.norm(
                    q[q_slice.stop - 4 : q_slice.stop]
                )
        M = mass_matrix(mechanism, q)
        weights = np.diag(M)  # by velocity: zero, negative or small for the joint at fault
        if weights.min() > 0:
            scale = np.sqrt(weights)
            values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
            if values[0] > ROUND_OFF:
                continue
            weights = -np.abs(vectors[:, 0])
        joints = [body.joint.name for body in mechanism.bodies for _ in range(body.joint.nu)]
        worst = joints[int(np.argmin(weights))]
        raise InvalidModel(
            f"the mass matrix is not positive definite in the direction of joint {worst!r}: check"
            " the bodies that it moves for missing or negative inertias, products of inertia"
            " included.",
            worst,
        )


def _find_indefinite_bodies(mechanism: Mechanism) -> list[str]:
    """Find the bodies whose inertia is not positive definite, as in some real robots' files."""
    names = []
    for body in mechanism.bodies:
        about = np.linalg.eigvalsh(body.inertia.about_com)
        matter = body.inertia.mass > 0 or body.inertia.about_com.any()
        if matter and about[0] <= ROUND_OFF * about[2]:
            names.append(body.name)
    return names


def _warn_about_inertias(mechanism: Mechanism, broken: list[str]) -> None:
    flat = []
    for body in mechanism.bodies:
        smallest, middle, largest = np.linalg.eigvalsh(body.inertia.about_com)
        if body.name not in broken and smallest + middle < (1 - INEQUALITY_SLACK) * largest:
            flat.append(body.name)
    if broken:
        _warn(
            f"{mechanism.name}: the inertia of {', '.join(broken)} is not positive definite.",
            "inertia-not-positive-definite",
            broken[0],
        )
    if flat:
        _warn(
            f"{mechanism.name}: the inertia of {', '.join(flat)} violates the triangle inequality.",
            "inertia-triangle-inequality",
            flat[0],
        )


def _warn_about_axes(mechanism: Mechanism) -> None:
    groups = aligned_hinges(mechanism)
    if groups:
        more = f" (and those of {len(groups) - 1} other groups)" if len(groups) > 1 else ""
        _warn(
            f"{mechanism.name}: the axes of the hinges {groups[0]} lie in one plane, with no mass"
            f" between them{more}, so nothing resists them and a run may diverge. Give the first or"
            " the last hinge an armature, for a URDF file by varied={'armature': [...]} and"
            " set(armature=...).",
            "aligned-massless-hinges",
            mechanism.name,
        )


def _warn(text: str, code: str, subject: str) -> None:
    warnings.warn(TarsusWarning(text, code, subject), stacklevel=4)
