"""Compliant contact: spring and damper against the point of first touch, with a slip flag (document 000, Alg. 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact

SLIP, FRESH = 3, 4
SLOW = 1e-6  # m/s: below this a slipping contact counts as stopped (document 000 writes "approximately 0")


@dataclass(frozen=True)
class Compliant(ForceLaw):
    """Memory of a contact: the anchor P_0 (3,), the slip flag, and 1 once it has touched.

    mu: friction coefficient, -; c_N, c_T: stiffness, normal and tangential, N/m; d_N, d_T: damping, N s/m.
    """

    citation: ClassVar[str] = (
        "Gehring, Diethelm, Siegwart, Nuetzi, Leine: An evaluation of Moreau's time-stepping scheme for the "
        "simulation of a legged robot. ASME IDETC 2014, DETC2014-34374, Algorithm 1"
    )
    not_modelled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring gives way",
        "restitution": "follows from damping, not a parameter",
    }
    contact_memory: ClassVar[int] = 5
    stiff: ClassVar[tuple[str, ...]] = ("c_N", "c_T", "d_N", "d_T")

    mu: float | NDArray[np.float64] = 0.8
    c_N: float | NDArray[np.float64] = 30000.0
    c_T: float | NDArray[np.float64] = 30000.0
    d_N: float | NDArray[np.float64] = 50.0
    d_T: float | NDArray[np.float64] = 50.0

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        was_slipping, touched = memory[SLIP], memory[FRESH]
        anchor = ca.if_else(touched, memory[:3], contact.point)
        sliding = contact.velocity[1:]
        speed2 = ca.dot(sliding, sliding)

        normal = ca.fmax(-p.c_N * contact.gap - p.d_N * contact.velocity[0], 0)
        limit = p.mu * normal
        stretch = ca.mtimes(contact.frame[1:, :], contact.point - anchor)
        spring = -p.c_T * stretch - p.d_T * sliding
        slips = ca.dot(spring, spring) >= limit * limit
        gliding = -limit / ca.sqrt(ca.fmax(speed2, SLOW**2)) * sliding

        # Alg. 1 lines 3-4: a slipping foot that stops, or whose damper alone would hold it, gets a new anchor
        holds = ca.logic_or(speed2 <= SLOW**2, p.d_T**2 * speed2 <= limit * limit)
        still_slipping = ca.logic_and(was_slipping, ca.logic_not(holds))
        tangent = ca.if_else(was_slipping, gliding, ca.if_else(slips, gliding, spring))
        slip = ca.if_else(was_slipping, still_slipping, slips)
        renewed = ca.if_else(was_slipping, contact.point, anchor)
        return ca.vertcat(normal, tangent), ca.vertcat(renewed, slip, 1)

    def released(self, contact: Contact, p: Any, memory: SX) -> SX:
        return SX.zeros(self.contact_memory)
