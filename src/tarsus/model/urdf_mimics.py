"""The mimic joints of URDF as joints that follow others: value = multiplier * other + offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.parts import Report
from tarsus.model.urdf_elements import UrdfJoint

MOVING = ("revolute", "continuous", "prismatic")


def with_leaders(joints: Sequence[UrdfJoint], report: Report) -> list[UrdfJoint]:
    """The joints, those that mimic one that is not there on their own, with a warning."""
    names = [joint.name for joint in joints]
    lost = [joint for joint in joints if joint.mimic and joint.mimic not in names]
    if lost:
        told = ", ".join(f"{joint.name} (follows {joint.mimic})" for joint in lost)
        report.warn(
            f"mimic joints whose leader is not in the file move independently: {told}.",
            "mimic-leader-missing",
            lost[0].name,
        )
    return [replace(joint, mimic="") if joint in lost else joint for joint in joints]


def couplings(
    joints: Sequence[UrdfJoint], kept: Sequence[str], report: Report
) -> tuple[JointCoupling, ...]:
    """A coupling for every mimic joint among those kept, and a note of them; TarsusError for one
    that follows itself.

    One whose leader does not move stays at what that makes of it.
    """
    kinds, found = {joint.name: joint.kind for joint in joints}, list[JointCoupling]()
    for joint in joints:
        if not joint.mimic:
            continue
        if joint.kind not in MOVING or joint.name not in kept:
            continue
        leads = kinds[joint.mimic] in MOVING and joint.mimic in kept
        leader = joint.mimic if leads else ""
        numbers = joint.offset, joint.multiplier
        found.append(JointCoupling(f"{joint.name}_mimic", joint.name, leader, numbers))
    if found:
        told = ", ".join(f"{c.joint} (follows {c.leader or 'none that moves'})" for c in found)
        report.note(f"Mimic joints follow others, held without give, without motors: {told}.")
    return tuple(found)
