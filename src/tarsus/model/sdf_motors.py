"""Which joints of an SDF file have motors: the format names none, and few files give efforts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tarsus.errors import unknown_name
from tarsus.model.mechanism import WORLD, Mechanism
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_frames import WORLD_LINK
from tarsus.model.sdf_tree import SdfTree


def driven_joints(
    mechanism: Mechanism, found: SdfTree, asked: Sequence[str] | None, report: Report
) -> list[SdfJoint]:
    """The hinges and slides with motors, in the order of the bodies; a note which and why.

    asked: their names, else those with an effort; where none has one those with a range and no
    spring, of each closed loop one alone. TarsusError for a name that is none of them.
    """
    joints = {joint.name: joint for joint in found.above.values()}
    following = {coupling.joint for coupling in mechanism.couplings}
    moving = [
        body.joint.name
        for body in mechanism.bodies
        if body.joint.kind in ("hinge", "slide") and body.joint.name not in following
    ]
    # as asked for
    if asked is not None:
        for name in asked:
            if name not in moving:
                raise unknown_name("joint", name, moving)
        return [joints[name] for name in moving if name in asked]
    # by their efforts
    strong = [name for name in moving if 0 < joints[name].effort < np.inf]
    if strong:
        passive = [name for name in moving if name not in strong]
        if passive:
            report.note(f"Passive, for the file gives no effort: {', '.join(passive)}.")
        return [joints[name] for name in strong]
    # else by their ranges
    kept = _one_a_loop(mechanism, [name for name in moving if _may_be_driven(joints[name])])
    report.leave(
        "The file gives no effort: motors without limit are put on joints with a range and no"
        f" spring, of a closed loop on one ({', '.join(kept) or 'none'}); driven=[...] names"
        " others."
    )
    return [joints[name] for name in kept]


def _may_be_driven(joint: SdfJoint) -> bool:
    """Whether it has a range, no spring, no effort of zero, and is no guide in the world."""
    own = joint.limited and not joint.stiffness and joint.effort > 0
    return own and joint.parent != WORLD_LINK


def _one_a_loop(mechanism: Mechanism, wanted: Sequence[str]) -> list[str]:
    """The wanted joints, of those in a closed loop the first that moves what may touch, or the
    first.
    """
    touching = {k for point in mechanism.candidates for k in _chain(mechanism, point.body)}
    dropped: set[str] = set()
    for loop in mechanism.loops:
        ends = [set(_chain(mechanism, body)) for body in (loop.parent, loop.child)]
        inside = sorted(ends[0] ^ ends[1], key=lambda k: (k not in touching, k))
        names = [mechanism.bodies[k].joint.name for k in inside]
        dropped |= set([name for name in names if name in wanted][1:])
    return [name for name in wanted if name not in dropped]


def _chain(mechanism: Mechanism, body: int) -> list[int]:
    """The body and all that carry it."""
    chain = []
    while body != WORLD:
        chain.append(body)
        body = mechanism.bodies[body].parent
    return chain
