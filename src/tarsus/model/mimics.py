"""Mimic joints of URDF and SDF: value = multiplier * (leader - reference) + offset."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.parts import Report


@dataclass(frozen=True)
class Mimic:
    """How a joint follows another.

    leader: the joint that it follows; multiplier [1]; offset, reference: rad or m
    """

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0
    reference: float = 0.0


def without_leaders(
    mimics: Mapping[str, Mimic], names: Collection[str], report: Report
) -> set[str]:
    """Return the joints whose leader is not in the file, with a warning: they move independently.

    mimics: of the joints that have one, by name; names: of all joints of the file
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


def mimic_couplings(
    mimics: Mapping[str, Mimic], moving: Collection[str], report: Report
) -> tuple[JointCoupling, ...]:
    """Return a coupling for every mimic joint that moves, and note them.

    A joint whose leader does not move stays where that puts it.

    Parameters
    ----------
    mimics : mapping
        Of the joints whose leader is in the file, by name.
    moving : collection of str
        Names of the hinges and slides of the tree.
    report : Report
        Takes the note.

    Raises
    ------
    InvalidModel
        If a joint follows itself.
    """
    made = []
    for joint, mimic in mimics.items():
        if joint in moving:
            leader = mimic.leader if mimic.leader in moving else ""
            numbers = mimic.offset - mimic.multiplier * mimic.reference, mimic.multiplier
            made.append(JointCoupling(f"{joint}_mimic", joint, leader, numbers))
    if made:
        listed = ", ".join(f"{c.joint} (follows {c.leader or 'none that moves'})" for c in made)
        report.note(f"Mimic joints follow others, held without give, without motors: {listed}.")
    return tuple(made)
