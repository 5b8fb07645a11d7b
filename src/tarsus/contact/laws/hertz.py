"""Hertz spring with ramped damping and smooth stick-slip friction.

Teixeira de Paula 2024, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact
from tarsus.errors import InvalidValue
from tarsus.parameters import Value, choice, damping, friction, parameter, stiffness
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation

K_TABLE = 1e4 * 1e-3 ** (1 - 2.2)  # N/m^e
MIN_SPEED_RANGE = 1e-12  # m/s: width of the transition from mu_s to mu_d where v_d = v_s


@dataclass(frozen=True)
class Hertz(ForceLaw):
    """Hertzian spring F = K delta^e with ramped damping, and friction that depends on slip speed.

    The damper grows from zero at touchdown. Below v_s friction is a damper of at most 1.5 mu_s f_n
    / v_s: a loaded foot creeps, it never sticks. A force evaluated once per step needs dt < 4/3 v_s
    m / (mu_s f_n), with m the mass felt at the foot: the defaults suit dt = 1e-4 s on a trotting
    Mini Cheetah (m = 0.08 kg, f_n up to 190 N). A lower mu allows a proportionally lower v_s. The
    1e-4 and 2e-4 m/s of Table I would need dt = 3e-8 s; at 1e-4 s they run with chattering feet.
    Slip is isotropic, while the paper treats x and y separately, as `axes="separate"` does
    (docs/decisions/0010-isotropic-stick-slip.md).
    """

    citation: ClassVar[Citation] = (TEIXEIRA_DE_PAULA_2024.at("Eqns. (34)-(38), Table I"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring is compliant",
        "restitution": "follows from damping, not a parameter",
        "sticking": "friction is a damper below v_s: a loaded contact creeps",
        "spring": "the force grows as depth^e",
    }

    e: Value = parameter(2.2, "[1]", "exponent of the depth in the force", "(0, inf)")
    K: Value = stiffness(
        K_TABLE, "N/m^e", "stiffness; by default 10 N/mm^2.2, from Table I with the depth in mm"
    )
    c_max: Value = damping(10.0, "N s/m", "damping at depths beyond w")
    w: Value = parameter(1e-4, "m", "depth over which damping grows to c_max", "(0, inf)")
    mu: Value = friction(2.0, "friction coefficient at slip speeds above v_d", "mu_d")
    mu_ratio: Value = parameter(
        1.0, "[1]", "ratio of mu_s, the friction coefficient at v_s, to mu_d", "[0, inf)"
    )
    v_s: Value = parameter(0.35, "m/s", "slip speed at which friction is mu_s", "(0, inf)")
    v_d: Value = parameter(
        0.7, "m/s", "slip speed above which friction is mu_d; at least v_s", "(0, inf)"
    )
    axes: Literal["together", "separate"] = choice(
        "together",
        "slip speed that friction depends on",
        together="magnitude of the slip velocity; friction opposes it",
        separate="its component along each tangent, Eqn. (38)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.asarray(self.v_d) < np.asarray(self.v_s)):
            raise InvalidValue(
                "v_d must be at least v_s, the slip speed at which friction peaks.", "v_d"
            )

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        depth = ca.fmax(-contact.gap, 0)
        c = p.c_max * smoothstep(depth / p.w)  # (35)
        normal = ca.fmax(
            p.K * depth**p.e - c * contact.velocity[0], 0
        )  # (34) + (35); the ground does not pull
        sliding = contact.velocity[1:]
        if self.axes == "separate":
            factor = ca.vertcat(*(friction_per_speed(sliding[k] ** 2, p) for k in range(2)))
        else:
            factor = friction_per_speed(ca.dot(sliding, sliding), p)
        return ca.vertcat(normal, -normal * factor * sliding), memory


def smoothstep(x: SX) -> SX:
    """Evaluate a transition from 0 to 1 over x in [0, 1], with zero slope at both ends."""
    x = ca.fmin(ca.fmax(x, 0), 1)
    return x * x * (3 - 2 * x)


def friction_per_speed(speed2: SX, p: Any) -> SX:
    """Compute the friction coefficient divided by slip speed (38), s/m; finite at rest."""
    mu_s = p.mu_ratio * p.mu
    ratio2 = speed2 / (p.v_s * p.v_s)
    sticking = (
        mu_s * 0.5 * (3 - ratio2) / p.v_s
    )  # smoothstep from -mu_s at -v_s to mu_s at v_s, over v
    speed = ca.sqrt(ca.fmax(speed2, p.v_s * p.v_s))
    fall = smoothstep((speed - p.v_s) / ca.fmax(p.v_d - p.v_s, MIN_SPEED_RANGE))
    slipping = (mu_s + (p.mu - mu_s) * fall) / speed
    return ca.if_else(ratio2 < 1, sticking, slipping)
