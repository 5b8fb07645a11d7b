"""Laws that solve for all contacts together, asked for forces at an instant.

Steppers that look at the robot several times in a step want forces. A law that makes sense there
(`Law.at_instants`) is given its problem over a window of dt from each instant, with the
accelerations seen there, and its impulses by dt are the forces.

A law of impulses closes contacts and turns their velocities about, which a step does once: at all
its instants the law is given the gaps, the velocities and the closed contacts that the step began
with. A contact at rest then gets the force that keeps its acceleration zero, to the order of the
stepper; velocities seen within the step, which are of lower order, do not enter. A law that gives
way is given what is seen.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.contact.problem import Contact, ContactProblem

SIZE = 5  # numbers of each contact in `begun`


def begun(contacts: list[Contact], closed: list[SX]) -> SX:
    """What a step that begins here holds (5n,): gap, velocity (3,), and 1 if closed, of each."""
    columns = [
        ca.vertcat(contact.gap, contact.velocity, flag)
        for contact, flag in zip(contacts, closed, strict=True)
    ]
    return ca.vertcat(SX(0, 1), *columns)


def over_window(problem: ContactProblem, held: SX | None) -> ContactProblem:
    """The problem over dt from this instant; its `free` are accelerations (3,), m/s^2.

    held: of `begun`, or None for a law that gives way.
    """
    contacts, active, free = [], [], []
    for i, (contact, closed) in enumerate(zip(problem.contacts, problem.active, strict=True)):
        gained = problem.dt * (problem.free[i] + contact.velocity_product)
        if held is not None:
            own = held[SIZE * i : SIZE * (i + 1)]
            contact, closed = replace(contact, gap=own[0], velocity=own[1:4]), own[4]
        free.append(contact.velocity + gained)
        contacts.append(replace(contact, velocity_product=SX.zeros(3)))
        active.append(closed)
    return replace(
        problem, contacts=contacts, active=active, free=free, make_delassus=lambda: problem.G
    )
