"""Hertz contact with ramped damping and smooth stick-slip friction.

Teixeira de Paula 2024, section 5.
"""

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
from tarsus.errors import TarsusError
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation

NEVER_ZERO = 1e-12  # m/s: width of the fall from mu_s to mu_d where v_d = v_s


@dataclass(frozen=True)
class Hertz(ForceLaw):
    """F = K delta^e with a damper that grows from zero at touchdown, and friction that is a
    function of slip speed.

    e: force exponent, -, default 2.2; K: stiffness, N/m^e, default 1e4 N/m of Table I read with
    delta in mm, 10 N/mm^2.2 = 3.98e7; c_max: damping once deeper than the ramp, N s/m, default 10;
    w: ramp-up distance, m, default 1e-4; mu: friction coefficient mu_d of a contact that slides at
    v_d or faster, -, default 2; mu_ratio: mu_s / mu_d, where mu_s is the coefficient at v_s, -,
    default 1; v_s: stiction velocity, m/s, default 0.35; v_d: velocity from which mu_d holds, m/s,
    default 0.7.

    Below v_s friction is a damper of at most 1.5 mu_s f_n / v_s: a loaded foot creeps, it never
    sticks. A force taken at the start of a step needs dt < 4/3 v_s m / (mu_s f_n), m the mass felt
    at the foot: the defaults suit dt = 1e-4 s on a trotting Mini Cheetah (m = 0.08 kg, f_n up to
    190 N). Lower mu allows a lower v_s in proportion; the 1e-4 and 2e-4 m/s of Table I would need
    dt = 3e-8 s. Slip is isotropic where the paper takes x and y apart:
    docs/decisions/0010-isotropic-stick-slip.md.
    """

    citation: ClassVar[Citation] = (TEIXEIRA_DE_PAULA_2024.at("Eqns. (34)-(38), Table I"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring gives way",
        "restitution": "follows from damping, not a parameter",
        "sticking": "friction is a damper below v_s: a loaded contact creeps",
        "spring": "the force grows as depth^e",
    }

    stiff: ClassVar[tuple[str, ...]] = ("K", "c_max")

    e: float | NDArray[np.float64] = 2.2
    K: float | NDArray[np.float64] = 1e4 * 1e-3 ** (1 - 2.2)
    c_max: float | NDArray[np.float64] = 10.0
    w: float | NDArray[np.float64] = 1e-4
    mu: float | NDArray[np.float64] = 2.0
    mu_ratio: float | NDArray[np.float64] = 1.0
    v_s: float | NDArray[np.float64] = 0.35
    v_d: float | NDArray[np.float64] = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("e", "K", "w", "v_s"):
            if np.any(np.asarray(getattr(self, name)) <= 0):
                raise TarsusError(f"Hertz: {name} must be positive.")
        for name in ("c_max", "mu_ratio"):
            if np.any(np.asarray(getattr(self, name)) < 0):
                raise TarsusError(f"Hertz: {name} must not be negative.")
        if np.any(np.asarray(self.v_d) < np.asarray(self.v_s)):
            raise TarsusError(
                "Hertz: v_d, where sliding friction is reached, must not be below v_s."
            )

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        depth = ca.fmax(-contact.gap, 0)
        c = p.c_max * smoothstep(depth / p.w)  # (35)
        normal = ca.fmax(
            p.K * depth**p.e - c * contact.velocity[0], 0
        )  # (34) + (35); the ground does not pull
        sliding = contact.velocity[1:]
        speed2 = ca.dot(sliding, sliding)
        return ca.vertcat(normal, -normal * friction_per_speed(speed2, p) * sliding), memory


def smoothstep(x: SX) -> SX:
    """From 0 to 1 over x in [0, 1] with slope zero at both ends."""
    x = ca.fmin(ca.fmax(x, 0), 1)
    return x * x * (3 - 2 * x)


def friction_per_speed(speed2: SX, p: Any) -> SX:
    """Effective friction coefficient over slip speed (38), s/m; finite at rest."""
    mu_s = p.mu_ratio * p.mu
    ratio2 = speed2 / (p.v_s * p.v_s)
    sticking = (
        mu_s * 0.5 * (3 - ratio2) / p.v_s
    )  # smoothstep from -mu_s at -v_s to mu_s at v_s, over v
    speed = ca.sqrt(ca.fmax(speed2, p.v_s * p.v_s))
    fall = smoothstep((speed - p.v_s) / ca.fmax(p.v_d - p.v_s, NEVER_ZERO))
    slipping = (mu_s + (p.mu - mu_s) * fall) / speed
    return ca.if_else(ratio2 < 1, sticking, slipping)
