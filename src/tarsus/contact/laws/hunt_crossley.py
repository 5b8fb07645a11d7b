"""Power-law spring with damping that grows with depth, smoothed friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact
from tarsus.parameters import Value, friction, parameter, stiffness
from tarsus.references.papers import HUNT_1975
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class HuntCrossley(ForceLaw):
    """Power-law spring and damper F = k delta^n (1 + 3/2 alpha delta'), never below zero.

    The force does not jump at touchdown. Friction mu F v / sqrt(v^2 + v_s^2) opposes slip; it never
    sticks, so a loaded contact creeps. A force evaluated once per step needs dt < 2 v_s m / (mu F),
    with m the mass felt at the foot: on Mini Cheetah 1e-4 s to trot, 5e-4 s to stand.
    """

    citation: ClassVar[Citation] = (HUNT_1975.at(),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring is compliant",
        "restitution": "follows from alpha and the speed of approach, not a parameter",
        "sticking": "friction falls to zero with speed: a loaded contact creeps",
        "spring": "the force grows as depth^n",
    }

    n: Value = parameter(1.5, "[1]", "exponent of the depth; 1.5: sphere on plane", "(0, inf)")
    k: Value = stiffness(5e5, "N/m^n", "stiffness; 22 N give a depth of 1.2 mm")
    alpha: Value = parameter(1.5, "s/m", "restitution is 1 - alpha v at a low speed v", "[0, inf)")
    mu: Value = friction(0.8)
    v_s: Value = parameter(0.1, "m/s", "slip speed at which friction is 71 % of mu F", "(0, inf)")

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        depth = ca.fmax(-contact.gap, 0)
        gain = ca.fmax(
            1 - 1.5 * p.alpha * contact.velocity[0], 0
        )  # delta' = -gamma_N; the ground does not pull
        normal = p.k * depth**p.n * gain
        sliding = contact.velocity[1:]
        friction = -p.mu * normal / ca.sqrt(ca.dot(sliding, sliding) + p.v_s * p.v_s) * sliding
        return ca.vertcat(normal, friction), memory
