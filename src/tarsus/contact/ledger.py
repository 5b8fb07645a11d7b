"""Energy ledger: the work of each contact on the robot, split in the same way for every law.

An impulse L over a step that changes the contact's velocity from gamma^S to gamma^E, with constant
mass matrix, changes the kinetic energy by exactly L . (gamma^S + gamma^E) / 2. The tangential part
of that work is friction. The normal part, less what elastic ground stores, is impact in the step in
which the contact begins to press. In later steps it is normal damping where it dissipates energy,
and stabilization where it adds energy that no spring stored: recovery of a penetration, or a law
that creates energy. docs/energy_ledger.md has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import ForceLaw, Law, evaluate_force
from tarsus.contact.criteria import SolvedContacts
from tarsus.contact.problem import Contact

Array = NDArray[np.float64]
QUADRATURE_NODES = 4  # over the depth: exact for forces with powers k/2 of the depth up to 3


@dataclass(frozen=True, eq=False)
class Ledger:
    """Work of each contact on the robot in each step, J, shape (steps, ..., n).

    Positive work adds energy.

    Attributes
    ----------
    impact
        Normal, in the step in which the contact begins to press. Positive where the impact of
        another contact pressed a separating one, or where a law creates energy.
    damping
        Normal, in all other steps, at most 0.
    stabilization
        The same, at least 0.
    elastic
        Energy released by the ground's spring, minus the energy stored in it.
    friction
        Tangential, including what a tangential spring stores.
    """

    impact: Array
    damping: Array
    stabilization: Array
    elastic: Array
    friction: Array

    @property
    def total(self) -> Array:
        """Total work of each contact, J."""
        return self.impact + self.damping + self.stabilization + self.elastic + self.friction


SHARES = tuple(f.name for f in fields(Ledger))


def compute_ledger(solved: SolvedContacts, stored: ArrayLike = 0.0) -> Ledger:
    """Compute the ledger of consecutive steps, which are the first axis.

    Parameters
    ----------
    solved : SolvedContacts
        Contact problems and solutions.
    stored : array_like
        Increase of the energy stored in the ground's spring over each step, J.
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
    """Compute the energy stored in the ground's spring under a contact, J.

    It is the integral of the force at rest over the depth, and zero for a law that computes only
    impulses. With depth d t^2 and t from 0 to 1, whole and half powers of the depth are integrated
    exactly.
    """
    if not isinstance(law, ForceLaw):
        return SX(0)
    depth, total = ca.fmax(-contact.gap, 0), SX(0)
    fresh = law.memory_of(SX(law.initial_memory(1)), 0)
    for node, weight in zip(*np.polynomial.legendre.leggauss(QUADRATURE_NODES), strict=True):
        t = 0.5 * (1 + node)
        pressed = replace(contact, gap=-depth * t**2, velocity=SX.zeros(3))
        total += weight * t * evaluate_force(law, pressed, p, fresh)[0][0]
    return depth * total
