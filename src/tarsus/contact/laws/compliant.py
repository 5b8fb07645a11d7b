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

SLIP, TOUCHED, ROTATION = 3, 4, 5  # first entries in the memory, after the anchor (3,)
MIN_SQUARE = 1e-30  # against division by zero


@dataclass(frozen=True)
class Compliant(ForceLaw):
    """Spring and damper anchored at the point of first touch, with stick and slip.

    The normal force is that of a spring and damper and never pulls. While a contact sticks, a
    tangential spring and damper connect it to its anchor, the point of first touch; it slips when
    they would exceed the friction limit (Gehring 2014, Alg. 1). While a contact slips its anchor
    follows, so that the spring carries the same force when the contact sticks again. Alg. 1 renews
    the anchor unstretched at that moment, which lets a loaded foot walk downhill release by release
    (docs/decisions/0007-gehring-2014-eqn-6.md).

    The memory of a contact is its anchor P_0 (3,), its slip flag, 1 once it has touched, and the
    rotation (3, 3) of its body.

    Parameters
    ----------
    mu : float or array_like
        Friction coefficient.
    c_N, c_T : float or array_like
        Normal and tangential stiffness, N/m.
    d_N, d_T : float or array_like
        Normal and tangential damping, N s/m.

    References
    ----------
    Gehring 2014, Alg. 1.

    Examples
    --------
    >>> from tarsus import Compliant, Simulation
    >>> simulation = Simulation("mini_cheetah", law=Compliant(c_N=5e4, c_T=5e4), dt=1e-3)
    >>> simulation.law.c_N
    50000.0

    `material` computes stiffness and damping from measurements:

    >>> from tarsus import material
    >>> law = Compliant(**material(1e-3, 22.0, 0.3, restitution=0.2))
    """

    citation: ClassVar[Citation] = (GEHRING_2014.at("Alg. 1"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring is compliant",
        "restitution": "follows from damping, not a parameter",
    }
    contact_memory: ClassVar[int] = 14

    mu: Value = friction(0.8)
    c_N: Value = stiffness(30000.0, "N/m", "normal stiffness", "[0, inf)")
    c_T: Value = stiffness(30000.0, "N/m", "tangential stiffness", "[0, inf)")
    d_N: Value = damping(50.0, "N s/m", "normal damping")
    d_T: Value = damping(50.0, "N s/m", "tangential damping")

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        was_slipping, touched = memory[SLIP], memory[TOUCHED]
        rotation = contact.roundness.rotation
        before = ca.if_else(touched, ca.reshape(memory[ROTATION:], 3, 3), rotation)
        rolled = contact.roundness.rolling_displacement(before, contact.frame[0, :].T)
        anchor = ca.if_else(touched, memory[:3] + rolled, contact.tracked)
        sliding = contact.velocity[1:]
        speed = ca.sqrt(ca.fmax(ca.dot(sliding, sliding), MIN_SQUARE))

        normal = ca.fmax(-p.c_N * contact.gap - p.d_N * contact.velocity[0], 0)
        limit = p.mu * normal
        stretch = ca.mtimes(contact.frame[1:, :], contact.tracked - anchor)
        sticking = -p.c_T * stretch - p.d_T * sliding
        size = ca.sqrt(ca.fmax(ca.dot(sticking, sticking), MIN_SQUARE))
        slips = size > limit

        # Alg. 1's gliding force. At break-away, and at a speed "about zero" (one at which the
        # damper alone would hold the contact), use the sticking force on the cone: there the
        # gliding force, a damper of mu F_N / speed, is too stiff for a step
        glides = ca.logic_and(was_slipping, p.d_T * speed > limit)
        edge = ca.if_else(glides, -limit / speed * sliding, limit / size * sticking)
        tangent = ca.if_else(slips, edge, sticking)

        # the anchor follows, so that the spring alone carries no more than the cone allows, and
        # the contact sticks at once when it stops
        pull = p.c_T * ca.sqrt(ca.fmax(ca.dot(stretch, stretch), MIN_SQUARE))
        share = 1 - ca.fmin(limit / ca.fmax(pull, limit + MIN_SQUARE), 1)
        displacement = ca.if_else(slips, share, 0) * stretch
        anchor = anchor + ca.mtimes(contact.frame[1:, :].T, displacement)
        return ca.vertcat(normal, tangent), ca.vertcat(anchor, slips, 1, ca.vec(rotation))

    def memory_when_open(self, contact: Contact, p: Any, memory: SX) -> SX:
        return SX.zeros(self.contact_memory)
