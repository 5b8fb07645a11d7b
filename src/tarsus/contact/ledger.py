"""The energy ledger: what each contact did to the robot's energy, split the same way for every law.

An impulse L over a step that changes the contact's velocity from gamma^S to gamma^E, the mass
matrix held, changes the kinetic energy by L . (gamma^S + gamma^E) / 2 exactly. The tangential part
of that work is friction. The normal part, less what an elastic ground took in, is impact in the
step in which the contact begins to press; in later steps it is normal damping where it takes
energy, and stabilization where it gives energy that no spring held: recovery of a penetration, or a
law that makes energy. docs/energy_ledger.md has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import ForceLaw, Law, asked
from tarsus.contact.criteria import Solved
from tarsus.contact.problem import Contact

Array = NDArray[np.float64]
NODES = (
    4  # of the quadrature of a contact force over depth: exact for powers k/2 of the depth up to 3
)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Work of each contact on the robot in each step, J, (steps, ..., n): positive gives it energy.

    impact: normal, in the step in which the contact begins to press; positive where another
        contact's impact pressed a leaving one, or a law makes energy
    damping: normal, in all other steps, at most 0
    stabilization: the same, at least 0
    elastic: what the ground's spring gave back, less what it took in
    friction: tangential, with what a tangential spring holds
    """

    impact: Array
    damping: Array
    stabilization: Array
    elastic: Array
    friction: Array

    @property
    def total(self) -> Array:
        """All the work of each contact, J."""
        return self.impact + self.damping + self.stabilization + self.elastic + self.friction


SHARES = tuple(f.name for f in fields(Ledger))


def ledger(solved: Solved, stored: ArrayLike = 0.0) -> Ledger:
    """The ledger of consecutive steps, the first axis; stored: how much more the ground's spring
    holds after a step.
    """
    work = 0.5 * solved.impulse * (solved.before + solved.after)
    elastic = -np.broadcast_to(stored, solved.gap.shape)
    pressing = solved.impulse[..., 0] > 0
    began = pressing.copy()
    began[1:] &= ~pressing[:-1]
    normal = work[..., 0] - elastic
    later = np.where(began, 0, normal)
    return Ledger(
        impact=np.where(began, normal, 0),
        damping=np.minimum(later, 0),
        stabilization=np.maximum(later, 0),
        elastic=elastic,
        friction=work[..., 1] + work[..., 2],
    )


def stored_energy(law: Law, contact: Contact, p: Any) -> SX:
    """What the ground's spring holds under a contact, J: the integral of its force at rest.

    Zero for a law that gives impulses only. With depth d t^2, t in 0 to 1, whole and half powers
    are exact.
    """
    if not isinstance(law, ForceLaw):
        return SX(0)
    depth, total = ca.fmax(-contact.gap, 0), SX(0)
    fresh = law.memory_of(SX(law.initial_memory(1)), 0)
    for node, weight in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
        t = 0.5 * (1 + node)
        pressed = replace(contact, gap=-depth * t**2, velocity=SX.zeros(3))
        total += weight * t * asked(law, pressed, p, fresh)[0][0]
    return depth * total
