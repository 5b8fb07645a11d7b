"""Mimic joints of URDF and SDF: value = multiplier * (leader - reference) + offset."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tarsus.model.joint_coupling import JointCoupling, Leader
from tarsus.model.parts import Report


@dataclass(frozen=True)
class Mimic:
    """Mimic joint of a file.

    Attributes
    ----------
    leader
        Name of the joint that it follows.
    multiplier
        Factor on the leader's displacement.
    offset, reference
        In rad or m.
    """

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0
    reference: float = 0.0


def without_leaders(
    mimics: Mapping[str, Mimic], names: Collection[str], report: Report
) -> set[str]:
    """Find the joints whose leader is not in the file, with a warning: they move independently.

    Parameters
    ----------
    mimics
        Mimic joints by name.
    names
        Names of all joints of the file.
    report
        Takes the warning.
    """
    lost = {joint: mimic.leader for joint, mimic in mimics.items() if mimic.leader not in names}
    if lost:
        listed = ", ".join(f"{joint} (follows {leader})" for joint, leader in lost.items())
        report.warn(
            f"mimic joints whose leader is not in the file move independently: {listed}.",
            "mimic-leader-missing",
            next(iter(lost)),
        )
    return set(lost)


def create_mimic_couplings(
    mimics: Mapping[str, Mimic], moving: Collection[str], report: Report
) -> tuple[JointCoupling, ...]:
    """Create a coupling for every mimic joint that moves, and note them.

    A joint whose leader does not move stays where the leader puts it.

    Parameters
    ----------
    mimics
        Mimic joints whose leader is in the file, by name.
    moving
        Names of the hinges and slides of the tree.
    report
        Takes the note.

    Raises
    ------
    InvalidModel
        If a joint follows itself.
    """
    couplings = []
    for joint, mimic in mimics.items():
        if joint in moving:
            leader = Leader(mimic.leader, (mimic.multiplier,))
            constant = mimic.offset - mimic.multiplier * mimic.reference
            leaders = (leader,) if mimic.leader in moving else ()
            couplings.append(JointCoupling(f"{joint}_mimic", joint, constant, leaders))
    if couplings:
        listed = ", ".join(
            f"{c.joint} (follows {(*c.leader_names, 'a fixed joint')[0]})" for c in couplings
        )
        report.note(f"Mimic joints follow their leaders rigidly, without motors: {listed}.")
    return tuple(couplings)
