"""Choice of the joints of an SDF file that have motors: SDF has no motors, and few efforts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tarsus.errors import unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.model.motors import movable_joints, select_one_per_loop
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_frames import WORLD_LINK
from tarsus.model.sdf_tree import SdfTree


def choose_driven_joints(
    mechanism: Mechanism, tree: SdfTree, names: Sequence[str] | None, report: Report
) -> list[SdfJoint]:
    """Choose the hinges and slides with motors, in the order of the bodies; note the reason.

    Parameters
    ----------
    mechanism
        The robot without motors.
    tree
        Its links and joints.
    names
        Names of the joints. By default these are the joints with an effort; if there is none, the
        joints with a range and without a spring, of each closed loop only one.
    report
        Takes the note.

    Raises
    ------
    UnknownName
        If a name is not that of a hinge or slide that moves by itself.
    """
    joints = {joint.name: joint for joint in tree.parent_joints.values()}
    moving = movable_joints(mechanism)
    if names is not None:
        for name in names:
            if name not in moving:
                raise unknown_name_error("joint", name, moving)
        return [joints[name] for name in moving if name in names]
    with_effort = [name for name in moving if 0 < joints[name].effort < np.inf]
    if with_effort:
        passive = [name for name in moving if name not in with_effort]
        if passive:
            report.note(f"Passive, because the file gives no effort: {', '.join(passive)}.")
        return [joints[name] for name in with_effort]
    with_range = [name for name in moving if _may_be_driven(joints[name])]
    driven = select_one_per_loop(mechanism, with_range)
    report.ignore(
        "The file gives no effort: joints with a range and without a spring have motors without"
        f" limits, of each closed loop only one ({', '.join(driven) or 'none'}); pass driven=[...]"
        " to choose others."
    )
    return [joints[name] for name in driven]


def _may_be_driven(joint: SdfJoint) -> bool:
    """Return whether a joint has a range, no spring, no zero effort, and a parent that moves."""
    drivable = joint.limited and not joint.stiffness and joint.effort > 0
    return drivable and joint.parent != WORLD_LINK
