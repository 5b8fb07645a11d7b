"""The gearboxes and mimic axes of SDF as joints that follow others.

With the angles theta_1 of a gearbox's parent and theta_2 of its child against its reference body,
both about its axis, theta_2 = -gearbox_ratio theta_1. A joint whose axis has a <mimic> follows
multiplier (leader - reference) + offset (sdformat.org, specification of <joint>).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tarsus.errors import Unsupported
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_tree import SdfTree

PARALLEL = 0.999  # |cos| of the angle between axes that count as parallel


def gearbox_couplings(
    gearboxes: Sequence[SdfJoint], found: SdfTree, report: Report
) -> tuple[JointCoupling, ...]:
    """A coupling for every gearbox, the joint of its parent following that of its child, and a
    note; TarsusError for one whose links do not turn on hinges of its reference body.
    """
    made: list[JointCoupling] = []
    for gearbox in gearboxes:
        ratio, reference = gearbox.gearbox or (1.0, "")
        (follower, turned), (leader, led) = (
            _hinge(gearbox, link, reference, found) for link in (gearbox.parent, gearbox.child)
        )
        factor = -(led / turned) / ratio
        made.append(JointCoupling(gearbox.name, follower.name, leader.name, (0.0, factor)))
    if made:
        told = ", ".join(f"{c.joint} (follows {c.leader})" for c in made)
        report.note(f"Gearboxes: joints follow others, held without give, without motors: {told}.")
    return tuple(made)


def mimic_couplings(
    joints: Sequence[SdfJoint], moving: Sequence[str], report: Report
) -> tuple[JointCoupling, ...]:
    """Return a coupling for every joint that mimics another, and note them.

    A joint whose leader does not move stays where that puts it; one whose leader is not in the file
    moves independently, with a warning.

    Parameters
    ----------
    joints : sequence of SdfJoint
        All joints of the file.
    moving : sequence of str
        Names of the hinges and slides of the tree.
    report : Report
        Takes the note and the warning.
    """
    names, made = {joint.name for joint in joints}, list[JointCoupling]()
    for joint in joints:
        if joint.mimic is None or joint.name not in moving:
            continue
        leader, multiplier, offset, reference = joint.mimic
        if leader not in names:
            report.warn(
                f"the mimic joint {joint.name!r} moves independently: its leader {leader!r} is not"
                " in the file.",
                "mimic-leader-missing",
                joint.name,
            )
            continue
        leader = leader if leader in moving else ""
        numbers = offset - multiplier * reference, multiplier
        made.append(JointCoupling(f"{joint.name}_mimic", joint.name, leader, numbers))
    if made:
        listed = ", ".join(f"{c.joint} (follows {c.leader or 'none that moves'})" for c in made)
        report.note(f"Mimic joints follow others, held without give, without motors: {listed}.")
    return tuple(made)


def _hinge(gearbox: SdfJoint, link: str, reference: str, found: SdfTree) -> tuple[SdfJoint, float]:
    """The hinge that carries a link on the reference body, and the sign of its axis."""
    joint = found.above.get(link)
    if joint is None or joint.parent != reference or joint.kind not in ("revolute", "continuous"):
        raise Unsupported(
            f"gearbox {gearbox.name!r}: its link {link!r} must be the child of a revolute joint on"
            f" its reference body {reference!r}.",
            gearbox.name,
        )
    cosine = np.dot(joint.axis, gearbox.axis)
    cosine /= np.linalg.norm(joint.axis) * np.linalg.norm(gearbox.axis)
    if abs(cosine) < PARALLEL:
        raise Unsupported(
            f"gearbox {gearbox.name!r}: its axis must be parallel to that of joint {joint.name!r}.",
            gearbox.name,
        )
    return joint, float(np.sign(cosine))
