"""Several mechanisms in one world: their trees beside each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.model.file_numbers import FileNumbers
from tarsus.model.mechanism import WORLD, Body, LoopJoint, Mechanism
from tarsus.model.poses import Pose, quaternion_from_rotation, rotation_from_quaternion
from tarsus.model.solids import MEANT, Solid

Array = NDArray[np.float64]


def merged(mechanisms: Sequence[Mechanism], things: Collection[int] = ()) -> Mechanism:
    """One mechanism of all, the first its robot; names that an earlier one has end in _2, _3, ...

    things: numbers of those without a file, whose friction is relative to the law's

    Its keyframes are those of the first, in which the others stand as in their own `stand`, or
    undisplaced; gravity is the first's, and so are the numbers for contacts, the others' being kept
    in `files`.
    """
    # every name once
    known, own = set[str](), list[Mechanism]()
    for mechanism in mechanisms:
        number, renamed = 1, mechanism
        while known & _names(renamed):
            number += 1
            renamed = _renamed(mechanism, f"_{number}")
        known |= _names(renamed)
        own.append(renamed)
    # bodies, and pairs that files name, counted on
    first, *others = own
    bodies = np.cumsum([0, *(len(m.bodies) for m in own)]).tolist()
    named = np.cumsum([0, *(_pairs(m) for m in own)]).tolist()
    counted = [_counted(m, *starts) for m, *starts in zip(own, bodies, named, strict=False)]
    beside = np.concatenate([np.zeros(0), *(standing(m) for m in others)])
    frames = {**first.keyframes, "stand": standing(first)}
    return Mechanism(
        name="_and_".join(dict.fromkeys((first.name, *(m.name for m in others)))),
        bodies=tuple(b for m in counted for b in m.bodies),
        candidates=tuple(c for m in counted for c in m.candidates),
        frames=tuple(f for m in counted for f in m.frames),
        actuators=tuple(a for m in counted for a in m.actuators),
        keyframes={name: np.concatenate([q, beside]) for name, q in frames.items()},
        edges=tuple(edge for m in counted for edge in m.edges),
        solids=tuple(s for m in counted for s in m.solids),
        excluded=tuple(pair for m in counted for pair in m.excluded),
        gravity_acceleration=first.gravity_acceleration,
        notes=tuple(dict.fromkeys(note for m in own for note in m.notes)),
        left_out=tuple(dict.fromkeys(note for m in own for note in m.left_out)),
        loops=tuple(loop for m in counted for loop in m.loops),
        couplings=tuple(coupling for m in counted for coupling in m.couplings),
        file_actuators=first.file_actuators,
        material=first.material,
        signals=first.signals,
        timestep=first.timestep,
        files=_files(own, things),
    )


def _files(own: Sequence[Mechanism], things: Collection[int]) -> tuple[FileNumbers, ...]:
    """The numbers of each one's file, of the first at least; none if no file says anything."""
    found: list[FileNumbers] = []
    for k, m in enumerate(own):
        if k == 0 or k not in things:
            found += m.files or (FileNumbers(m.name, m.body_names, m.material),)
    return tuple(found) if any(file.material for file in found) else ()


def standing(mechanism: Mechanism) -> Array:
    """The coordinates (nq,) that it starts with."""
    return np.asarray(mechanism.keyframes.get("stand", mechanism.neutral()), float)


def placed(mechanism: Mechanism, pose: Pose) -> Mechanism:
    """It moved by a pose of the world: a free root in its keyframe `stand`, another where it is
    fixed, and what ties it to the world.
    """
    bodies, q = list(mechanism.bodies), standing(mechanism).copy()
    for i, body in enumerate(bodies):
        if body.parent == WORLD and body.joint.kind == "free":
            start = mechanism.q_slices[i].start
            q[start : start + 3] = pose.point(q[start : start + 3])
            q[start + 3 : start + 7] = _turned(pose, q[start + 3 : start + 7])
        elif body.parent == WORLD:
            there = pose @ Pose(body.position, body.rotation)
            bodies[i] = replace(body, position=there.position, rotation=there.rotation)
    loops = tuple(_tied(loop, pose) for loop in mechanism.loops)
    frames = {**mechanism.keyframes, "stand": q}
    return replace(mechanism, bodies=tuple(bodies), loops=loops, keyframes=frames)


def _tied(loop: LoopJoint, pose: Pose) -> LoopJoint:
    """A loop joint whose end at the world, if it has one, is moved."""
    if loop.parent == WORLD:
        there = pose @ Pose(loop.position, loop.rotation)
        return replace(loop, position=there.position, rotation=there.rotation)
    if loop.child == WORLD:  # the joint has the world's axes, which stay
        return replace(
            loop,
            joint=replace(loop.joint, axis=pose.rotation @ loop.joint.axis),
            rotation=loop.rotation @ pose.rotation.T,
            in_child=pose.point(loop.in_child),
        )
    return loop


def _turned(pose: Pose, quaternion: Array) -> Array:
    return quaternion_from_rotation(pose.rotation @ rotation_from_quaternion(quaternion))


def _names(m: Mechanism) -> set[str]:
    """Of all that may not be called alike, each kind apart."""
    parts = {
        "body": m.body_names,
        "joint": (*m.joint_names, *(loop.joint.name for loop in m.loops)),
        "point": [part.name for part in (*m.candidates, *m.frames)],
        "solid": [part.name for part in m.solids],
        "actuator": [part.name for part in m.actuators],
        "coupling": [part.name for part in m.couplings],
    }
    return {f"{kind} {name}" for kind, names in parts.items() for name in names}


def _renamed(m: Mechanism, ending: str) -> Mechanism:
    """The mechanism with other names."""
    if m.uncut is not None:
        raise Unsupported(
            f"{m.name!r} has cut joints: merge the mechanisms first, then cut the joints of the"
            " result.",
            m.name,
        )

    def new(body: Body) -> Body:
        return replace(
            body, name=body.name + ending, joint=replace(body.joint, name=body.joint.name + ending)
        )

    # joints are named by loops and actuators too
    return replace(
        m,
        name=m.name + ending,
        bodies=tuple(new(body) for body in m.bodies),
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
                leader=c.leader and c.leader + ending,
            )
            for c in m.couplings
        ),
        loops=tuple(
            replace(loop, joint=replace(loop.joint, name=loop.joint.name + ending))
            for loop in m.loops
        ),
        files=tuple(file.renamed(ending) for file in m.files),
    )


def _pairs(m: Mechanism) -> int:
    """How many pairs of its solids its file names: one above the highest of their bits."""
    every = sum((solid.bits for solid in m.solids), ())
    return max((bits // MEANT).bit_length() for bits in (0, *every))


def _counted(m: Mechanism, start: int, pairs: int) -> Mechanism:
    """The mechanism with its bodies counted from `start` on, its file's pairs from `pairs` on."""

    def on(number: int) -> int:
        return number if number == WORLD else number + start

    def solid(own: Solid) -> Solid:
        first, second = (bits % MEANT + (bits // MEANT * MEANT << pairs) for bits in own.bits)
        paired = {k + pairs: factor for k, factor in own.paired.items()}
        return replace(own, body=on(own.body), bits=(first, second), paired=paired)

    return replace(
        m,
        bodies=tuple(replace(b, parent=on(b.parent)) for b in m.bodies),
        candidates=tuple(replace(c, body=on(c.body)) for c in m.candidates),
        frames=tuple(replace(f, body=on(f.body)) for f in m.frames),
        solids=tuple(solid(s) for s in m.solids),
        loops=tuple(replace(p, parent=on(p.parent), child=on(p.child)) for p in m.loops),
    )
