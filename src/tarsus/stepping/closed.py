"""Which contacts take part in a step: those that the law calls closed, or the step says stand."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.contact.base import Law
from tarsus.contact.problem import Contact
from tarsus.stepping.base import StepInputs


def takes_part(law: Law, contact: Contact, at: StepInputs, i: int) -> SX:
    """1 if the law calls contact i closed and the step does not hold it open, else 0."""
    closed = is_closed(law, contact, law.memory_of(at.memory, i))
    return (
        closed if at.contact_override is None else ca.logic_and(closed, at.contact_override[i] <= 0)
    )


def is_closed(law: Law, contact: Contact, memory: SX) -> SX:
    """1 if the law calls a contact with this memory closed, and it is not away, else 0."""
    closed = law.closed(contact, memory)
    return closed if contact.away is None else ca.logic_and(closed, contact.gap <= contact.away)


def with_override(contact: Contact, at: StepInputs, i: int) -> Contact:
    """Contact i, no higher than the ground if the step says that it stands there."""
    if at.contact_override is None:
        return contact
    gap = ca.if_else(at.contact_override[i] < 0, ca.fmin(contact.gap, 0), contact.gap)
    return replace(contact, gap=gap)


def fresh(law: Law) -> SX:
    """The memory (contact_memory,) of a contact that was not there in the last step."""
    return law.memory_of(SX(law.initial_memory(1)), 0)


def closes(law: Law, gap: SX) -> SX:
    """1 for a gap at which a contact that was not there in the last step takes part."""
    return law.closed(of_gap(gap), fresh(law))


def pressed_before(law: Law, memory: SX) -> SX:
    """1 where a contact with this memory (contact_memory,) takes part whatever its gap."""
    return law.closed(of_gap(SX.inf()), memory)


def of_gap(gap: SX) -> Contact:
    """A contact of which no more is known than its gap."""
    return Contact(gap, SX.zeros(3), SX.zeros(3), SX.eye(3))
