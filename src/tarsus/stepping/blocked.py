"""Contacts that cannot move along their normal, whatever impulse they get: they press on nothing.

A point of a machine on a stand may be in the ground and free to slide along it, but not to come up;
a pendulum's lowest point is so where it hangs, and a body that is welded to the world everywhere.
No impulse is the answer to what such a contact asks for, and the least mobility gives a huge one,
so that it takes no part in the step under laws that solve for impulses. Where a force depends on
depth alone it acts as everywhere else.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra.products import dot
from tarsus.collision.contact_point import Attached
from tarsus.dynamics import constraint_solve
from tarsus.stepping.coupling import Coupling
from tarsus.stepping.delassus import own_mobility

SLIGHT = 1e-4  # of its speed across the normal, or of that without constraints: no motion along it


def without(active: list[SX], coupling: Coupling, contacts: list[Attached]) -> list[SX]:
    """Who takes part (1 or 0 each), without the blocked ones."""
    return [
        ca.logic_and(flag, ca.logic_not(blocked(coupling, own.contact_rows)))
        if own.may_be_blocked
        else flag
        for flag, own in zip(active, contacts, strict=True)
    ]


def blocked(coupling: Coupling, rows: list[list[SX]]) -> SX:
    """1 for a contact with these rows (3, nu) of which the first, its normal's, moves it by less
    than `SLIGHT` of the others, or by less than `SLIGHT` of what it did without constraints.

    Of the joints alone, not of their inertia: that of one which friction holds is huge.
    """
    normal, *across = rows
    least = SLIGHT**2
    stuck = dot(normal, normal) <= least * sum(dot(row, row) for row in across)
    hold = coupling.constraints
    if hold is None:
        return stuck
    half = coupling.factor.backward(normal)
    loose = own_mobility(coupling.factor, half)
    [felt] = zip(*constraint_solve.delassus(coupling.factor, hold.half, [half]), strict=True)
    answer = dot(list(felt), hold.impulses(list(felt)))
    return ca.logic_or(stuck, loose + answer <= least * loose)
