"""Forces at an instant from laws that solve for all contacts together.

Steppers that evaluate the robot several times in a step need forces. A law that supports this
(`Law.at_instants`) is given its problem over a window of length dt from each instant, with the
accelerations at that instant; its impulses divided by dt are the forces.

A law of impulses closes contacts and reverses their velocities, which must happen once per step. At
all its instants the law is therefore given the gaps, velocities and closed contacts of the start of
the step. A contact at rest then gets the force that keeps its acceleration zero, to the order of
the stepper; velocities evaluated within the step, which are of lower order, do not enter. A
compliant law is given the contacts as they are at the instant.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.contact.problem import Contact, ContactProblem

SIZE = 5  # numbers per contact in `start_contacts`


def start_contacts(contacts: list[Contact], closed: list[SX]) -> SX:
    """Compute gap, velocity (3,) and closed flag of each contact (5n,) at the step's start."""
    columns = [
        ca.vertcat(contact.gap, contact.velocity, flag)
        for contact, flag in zip(contacts, closed, strict=True)
    ]
    return ca.vertcat(SX(0, 1), *columns)


def over_window(problem: ContactProblem, reference: SX | None) -> ContactProblem:
    """Set up the problem over dt from this instant; its `free` are accelerations (3,), m/s^2.

    Parameters
    ----------
    problem : ContactProblem
        Contacts at the instant.
    reference : SX or None
        Contacts at the start of the step, as from `start_contacts`; None for a compliant law.
    """
    contacts, active, free = [], [], []
    for i, (contact, closed) in enumerate(zip(problem.contacts, problem.active, strict=True)):
        gained = problem.dt * (problem.free[i] + contact.velocity_product)
        if reference is not None:
            initial = reference[SIZE * i : SIZE * (i + 1)]
            contact, closed = replace(contact, gap=initial[0], velocity=initial[1:4]), initial[4]
        free.append(contact.velocity + gained)
        contacts.append(replace(contact, velocity_product=SX.zeros(3)))
        active.append(closed)
    return replace(
        problem, contacts=contacts, active=active, free=free, make_delassus=lambda: problem.G
    )
