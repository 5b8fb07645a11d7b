"""Merging of several mechanisms into one world."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.model.file_numbers import FileNumbers
from tarsus.model.mechanism import WORLD, Body, LoopJoint, Mechanism
from tarsus.model.poses import Pose, quaternion_from_rotation, rotation_from_quaternion
from tarsus.model.solids import FIRST_PAIR_BIT, Solid
from tarsus.model.tendon import End, Point, as_point

Array = NDArray[np.float64]


def merge(mechanisms: Sequence[Mechanism], without_file: Collection[int] = ()) -> Mechanism:
    """Merge several mechanisms to one; the first one is the robot.

    Names that an earlier mechanism has end in _2, _3, ... Gravity, keyframes and contact numbers
    are those of the first mechanism. In its keyframes the others stand as in their own `stand`, or
    undisplaced; their contact numbers are in `files`.

    Parameters
    ----------
    mechanisms
        The mechanisms.
    without_file
        Numbers of the mechanisms without a file, whose friction is relative to the law's.
    """
    known, renamed = set[str](), list[Mechanism]()
    for mechanism in mechanisms:
        number, candidate = 1, mechanism
        while known & _list_names(candidate):
            number += 1
            candidate = _rename(mechanism, f"_{number}")
        known |= _list_names(candidate)
        renamed.append(candidate)
    # continue the numbers of bodies, and of explicit pairs
    first, *others = renamed
    bodies = np.cumsum([0, *(len(m.bodies) for m in renamed)]).tolist()
    pairs = np.cumsum([0, *(_count_pairs(m) for m in renamed)]).tolist()
    shifted = [_renumber(m, *starts) for m, *starts in zip(renamed, bodies, pairs, strict=False)]
    other_q = np.concatenate([np.zeros(0), *(initial_coordinates(m) for m in others)])
    keyframes = {**first.keyframes, "stand": initial_coordinates(first)}
    return Mechanism(
        name="_and_".join(dict.fromkeys((first.name, *(m.name for m in others)))),
        bodies=tuple(b for m in shifted for b in m.bodies),
        candidates=tuple(c for m in shifted for c in m.candidates),
        frames=tuple(f for m in shifted for f in m.frames),
        actuators=tuple(a for m in shifted for a in m.actuators),
        keyframes={name: np.concatenate([q, other_q]) for name, q in keyframes.items()},
        edges=tuple(edge for m in shifted for edge in m.edges),
        solids=tuple(s for m in shifted for s in m.solids),
        excluded=tuple(pair for m in shifted for pair in m.excluded),
        gravity_acceleration=first.gravity_acceleration,
        notes=tuple(dict.fromkeys(note for m in renamed for note in m.notes)),
        unsupported=tuple(dict.fromkeys(note for m in renamed for note in m.unsupported)),
        loops=tuple(loop for m in shifted for loop in m.loops),
        couplings=tuple(coupling for m in shifted for coupling in m.couplings),
        tendons=tuple(tendon for m in shifted for tendon in m.tendons),
        file_actuators=first.file_actuators,
        material=first.material,
        signals=first.signals,
        timestep=first.timestep,
        files=_collect_files(renamed, without_file),
    )


def _collect_files(
    mechanisms: Sequence[Mechanism], without_file: Collection[int]
) -> tuple[FileNumbers, ...]:
    """Collect the contact numbers of each file; none if no file gives any."""
    files: list[FileNumbers] = []
    for k, m in enumerate(mechanisms):
        if k == 0 or k not in without_file:
            files += m.files or (FileNumbers(m.name, m.body_names, m.material),)
    return tuple(files) if any(file.material for file in files) else ()


def initial_coordinates(mechanism: Mechanism) -> Array:
    """Return the initial coordinates, shape (nq,), of a mechanism."""
    return np.asarray(mechanism.keyframes.get("stand", mechanism.neutral()), float)


def displace(mechanism: Mechanism, pose: Pose) -> Mechanism:
    """Move a mechanism by a pose of the world.

    A free root moves in the keyframe `stand`; a fixed root and loop joints to the world move in the
    mechanism itself.
    """
    bodies, q = list(mechanism.bodies), initial_coordinates(mechanism).copy()
    for i, body in enumerate(bodies):
        if body.parent == WORLD and body.joint.kind == "free":
            start = mechanism.q_slices[i].start
            q[start : start + 3] = pose.point(q[start : start + 3])
            q[start + 3 : start + 7] = _rotate(pose, q[start + 3 : start + 7])
        elif body.parent == WORLD:
            body_pose = pose @ Pose(body.position, body.rotation)
            bodies[i] = replace(body, position=body_pose.position, rotation=body_pose.rotation)
    loops = tuple(_displace_loop(loop, pose) for loop in mechanism.loops)

    def displace_end(body: int, point: Point) -> End:
        return (body, as_point(pose.point(np.array(point)))) if body == WORLD else (body, point)

    tendons = tuple(tendon.move_ends(displace_end) for tendon in mechanism.tendons)
    moved = {"loops": loops, "tendons": tendons, "keyframes": {**mechanism.keyframes, "stand": q}}
    return replace(mechanism, bodies=tuple(bodies), **moved)


def _displace_loop(loop: LoopJoint, pose: Pose) -> LoopJoint:
    """Move the end of a loop joint at the world, if it has one."""
    if loop.parent == WORLD:
        joint_pose = pose @ Pose(loop.position, loop.rotation)
        return replace(loop, position=joint_pose.position, rotation=joint_pose.rotation)
    if loop.child == WORLD:  # the joint has the world's axes, which do not move
        return replace(
            loop,
            joint=replace(loop.joint, axis=pose.rotation @ loop.joint.axis),
            rotation=loop.rotation @ pose.rotation.T,
            in_child=pose.point(loop.in_child),
        )
    return loop


def _rotate(pose: Pose, quaternion: Array) -> Array:
    return quaternion_from_rotation(pose.rotation @ rotation_from_quaternion(quaternion))


def _list_names(m: Mechanism) -> set[str]:
    """List all names that must be unique, with their kind."""
    parts = {
        "body": m.body_names,
        "joint": [
            *m.joint_names,
            *(loop.joint.name for loop in m.loops),
            *(tendon.name for tendon in m.tendons),
        ],
        "point": [part.name for part in (*m.candidates, *m.frames)],
        "solid": [part.name for part in m.solids],
        "actuator": [part.name for part in m.actuators],
        "coupling": [part.name for part in m.couplings],
    }
    return {f"{kind} {name}" for kind, names in parts.items() for name in names}


def _rename(m: Mechanism, ending: str) -> Mechanism:
    """Append an ending to all names of a mechanism."""
    if m.uncut is not None:
        raise Unsupported(
            f"{m.name!r} has cut joints: merge the mechanisms first, then cut the joints of the"
            " result.",
            m.name,
        )

    def rename_body(body: Body) -> Body:
        return replace(
            body, name=body.name + ending, joint=replace(body.joint, name=body.joint.name + ending)
        )

    return replace(
        m,
        name=m.name + ending,
        bodies=tuple(rename_body(body) for body in m.bodies),
        candidates=tuple(replace(c, name=c.name + ending) for c in m.candidates),
        edges=tuple((a + ending, b + ending) for a, b in m.edges),
        frames=tuple(replace(f, name=f.name + ending) for f in m.frames),
        solids=tuple(replace(s, name=s.name + ending) for s in m.solids),
        actuators=tuple(
            replace(a, name=a.name + ending, joint=a.joint + ending) for a in m.actuators
        ),
        excluded=tuple((a + ending, b + ending) for a, b in m.excluded),
        couplings=tuple(
            replace(
                c,
                name=c.name + ending,
                joint=c.joint + ending,
                leaders=tuple(replace(leader, joint=leader.joint + ending) for leader in c.leaders),
            )
            for c in m.couplings
        ),
        tendons=tuple(
            replace(
                t,
                name=t.name + ending,
                terms=tuple((joint + ending, coefficient) for joint, coefficient in t.terms),
            )
            for t in m.tendons
        ),
        loops=tuple(
            replace(loop, joint=replace(loop.joint, name=loop.joint.name + ending))
            for loop in m.loops
        ),
        files=tuple(file.rename(ending) for file in m.files),
    )


def _count_pairs(m: Mechanism) -> int:
    """Count the explicit pairs of a mechanism's file, by the bits of its solids."""
    all_bits = sum((solid.bits for solid in m.solids), ())
    return max((bits // FIRST_PAIR_BIT).bit_length() for bits in (0, *all_bits))


def _renumber(m: Mechanism, start: int, pairs: int) -> Mechanism:
    """Renumber the bodies of a mechanism from `start`, and explicit pairs from `pairs`."""

    def renumber_body(number: int) -> int:
        return number if number == WORLD else number + start

    def shift_pairs(bits: int) -> int:
        pair_bits, own_bits = divmod(bits, FIRST_PAIR_BIT)
        return own_bits + (pair_bits * FIRST_PAIR_BIT << pairs)

    def renumber_solid(shape: Solid) -> Solid:
        first, second = map(shift_pairs, shape.bits)
        paired = {k + pairs: factor for k, factor in shape.paired.items()}
        return replace(shape, body=renumber_body(shape.body), bits=(first, second), paired=paired)

    return replace(
        m,
        bodies=tuple(replace(b, parent=renumber_body(b.parent)) for b in m.bodies),
        candidates=tuple(replace(c, body=renumber_body(c.body)) for c in m.candidates),
        frames=tuple(replace(f, body=renumber_body(f.body)) for f in m.frames),
        solids=tuple(renumber_solid(s) for s in m.solids),
        loops=tuple(
            replace(p, parent=renumber_body(p.parent), child=renumber_body(p.child))
            for p in m.loops
        ),
        tendons=tuple(t.move_ends(lambda b, p: (renumber_body(b), p)) for t in m.tendons),
    )
