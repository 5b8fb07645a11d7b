"""Spring and damper from the point of first touch, with stick and slip.

Gehring 2014, Alg. 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact
from tarsus.parameters import Value, damping, friction, stiffness
from tarsus.references.papers import GEHRING_2014
from tarsus.references.reference import Citation

SLIP, FRESH, TURNED = 3, 4, 5
TINY = 1e-30


@dataclass(frozen=True)
class Compliant(ForceLaw):
    """Memory of a contact: the anchor P_0 (3,), the slip flag, 1 once it has touched, and its
    body's rotation (3, 3).

    While a contact slips its anchor follows, so that the spring holds what friction held when the
    contact sticks again; Alg. 1 renews the anchor at that moment, unstretched, and a loaded foot
    then walks downhill release by release: docs/decisions/0007-gehring-2014-eqn-6.md.
    """

    citation: ClassVar[Citation] = (GEHRING_2014.at("Alg. 1"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring gives way",
        "restitution": "follows from damping, not a parameter",
    }
    contact_memory: ClassVar[int] = 14

    mu: Value = friction(0.8)
    c_N: Value = stiffness(30000.0, "N/m", "normal stiffness", "[0, inf)")
    c_T: Value = stiffness(30000.0, "N/m", "tangential stiffness", "[0, inf)")
    d_N: Value = damping(50.0, "N s/m", "normal damping")
    d_T: Value = damping(50.0, "N s/m", "tangential damping")

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        was_slipping, touched = memory[SLIP], memory[FRESH]
        rotation = contact.roundness.rotation
        before = ca.if_else(touched, ca.reshape(memory[TURNED:], 3, 3), rotation)
        rolled = contact.roundness.rolled(before, contact.frame[0, :].T)
        anchor = ca.if_else(touched, memory[:3] + rolled, contact.tracked)
        sliding = contact.velocity[1:]
        speed = ca.sqrt(ca.fmax(ca.dot(sliding, sliding), TINY))

        normal = ca.fmax(-p.c_N * contact.gap - p.d_N * contact.velocity[0], 0)
        limit = p.mu * normal
        stretch = ca.mtimes(contact.frame[1:, :], contact.tracked - anchor)
        sticking = -p.c_T * stretch - p.d_T * sliding
        size = ca.sqrt(ca.fmax(ca.dot(sticking, sticking), TINY))
        slips = size > limit

        # Alg. 1's gliding force. At break-away, and at a speed "about zero" (one at which the
        # damper alone would hold), the sticking force on the cone: there the gliding force, a
        # damper of mu F_N / speed, is too stiff for a step
        glides = ca.logic_and(was_slipping, p.d_T * speed > limit)
        edge = ca.if_else(glides, -limit / speed * sliding, limit / size * sticking)
        tangent = ca.if_else(slips, edge, sticking)

        # the anchor follows, so that the spring alone carries no more than the cone: released, it
        # holds at once
        pull = p.c_T * ca.sqrt(ca.fmax(ca.dot(stretch, stretch), TINY))
        let_go = 1 - ca.fmin(limit / ca.fmax(pull, limit + TINY), 1)
        let_go = ca.if_else(slips, let_go, 0) * stretch
        followed = anchor + ca.mtimes(contact.frame[1:, :].T, let_go)
        return ca.vertcat(normal, tangent), ca.vertcat(followed, slips, 1, ca.vec(rotation))

    def released(self, contact: Contact, p: Any, memory: SX) -> SX:
        return SX.zeros(self.contact_memory)
