"""Gearbox joints of SDF as joint couplings.

With the angles theta_1 of a gearbox's parent and theta_2 of its child against its reference body,
both about its axis, theta_2 = -gearbox_ratio theta_1 (sdformat.org, specification of <joint>).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tarsus.errors import Unsupported
from tarsus.model.joint_coupling import JointCoupling, Leader
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_tree import SdfTree

PARALLEL = 0.999  # |cos| of the angle between axes that count as parallel


def create_gearbox_couplings(
    gearboxes: Sequence[SdfJoint], tree: SdfTree, report: Report
) -> tuple[JointCoupling, ...]:
    """Create a coupling for every gearbox, and note them.

    The joint of the gearbox's parent follows that of its child.

    Raises
    ------
    Unsupported
        If the gearbox's links do not turn on hinges of its reference body.
    """
    couplings: list[JointCoupling] = []
    for gearbox in gearboxes:
        ratio, reference = gearbox.gearbox or (1.0, "")
        (follower, follower_sign), (leader, leader_sign) = (
            _find_hinge(gearbox, link, reference, tree) for link in (gearbox.parent, gearbox.child)
        )
        factor = -(leader_sign / follower_sign) / ratio
        leaders = (Leader(leader.name, (factor,)),)
        couplings.append(JointCoupling(gearbox.name, follower.name, leaders=leaders))
    if couplings:
        listed = ", ".join(f"{c.joint} (follows {c.leaders[0].joint})" for c in couplings)
        report.note(f"Gearboxes couple joints rigidly; the followers have no motors: {listed}.")
    return tuple(couplings)


def _find_hinge(
    gearbox: SdfJoint, link: str, reference: str, tree: SdfTree
) -> tuple[SdfJoint, float]:
    """Find the hinge between a link and the reference body, and the sign of its axis."""
    joint = tree.parent_joints.get(link)
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
