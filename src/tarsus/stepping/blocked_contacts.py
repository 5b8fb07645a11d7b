"""Exclude contacts that no impulse can move along their normal.

A point of a machine on a stand may be in the ground and free to slide along it, but unable to come
up; so is the lowest point of a hanging pendulum, and any point of a body that is welded to the
world. No impulse can give such a contact the velocity that a law asks for, and the slightest
mobility from round-off gives a huge impulse, so that it takes no part in the step under laws that
solve for impulses. A force that depends on depth alone acts on it as on any other contact.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra.products import dot
from tarsus.collision.contact_point import Attachment
from tarsus.dynamics import constraint_solve
from tarsus.stepping.coupling import Coupling
from tarsus.stepping.delassus import half_solved_mobility

BLOCKED_RATIO = 1e-4  # of motion along the normal to motion across it, or without constraints


def exclude_blocked(active: list[SX], coupling: Coupling, contacts: list[Attachment]) -> list[SX]:
    """Set the active flags (1 or 0) of blocked contacts to 0."""
    return [
        ca.logic_and(flag, ca.logic_not(is_blocked(coupling, contact.contact_rows)))
        if contact.may_be_blocked
        else flag
        for flag, contact in zip(active, contacts, strict=True)
    ]


def is_blocked(coupling: Coupling, rows: list[list[SX]]) -> SX:
    """Return 1 for a contact that cannot move along its normal.

    Its normal row (nu,) is then shorter than BLOCKED_RATIO times its tangential ones, or
    constraints leave it less than BLOCKED_RATIO of its mobility. Rows rather than inertia-weighted
    mobilities are compared, because the inertia of a joint locked by friction is huge.

    Parameters
    ----------
    coupling : Coupling
        Robot and constraints.
    rows : list
        Jacobian rows (3, nu) of the contact, normal first.
    """
    normal, *tangents = rows
    limit = BLOCKED_RATIO**2
    immobile = dot(normal, normal) <= limit * sum(dot(row, row) for row in tangents)
    constraints = coupling.constraints
    if constraints is None:
        return immobile
    half = coupling.factor.backward(normal)
    unconstrained = half_solved_mobility(coupling.factor, half)
    [column] = zip(
        *constraint_solve.delassus(coupling.factor, constraints.half, [half]), strict=True
    )
    change = dot(list(column), constraints.impulses(list(column)))
    return ca.logic_or(immobile, unconstrained + change <= limit * unconstrained)
