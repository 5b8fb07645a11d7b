"""Micro contact model: a linear spring whose damper grows with the time step (document 001, section III-A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import Law, on_ground
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.errors import TarsusError, unknown
from tarsus.program.trace import Builder

DAMPERS = ("timestep", "conventional")


@dataclass(frozen=True)
class Micro(Law):
    """Spring, damper in compression alone, and kinetic friction; not a `ForceLaw`, because (14) needs dt.

    k: spring coefficient, N/m, default 5512 (the document's membrane); c: damping coefficient in compression, N s/m,
    default 158 (the membrane); mu: kinetic friction coefficient mu_K, -, default 0.4;
    eps: slip speed from which friction is kinetic, m/s, default 1e-3;
    damper: "timestep" adds k dt to the damping at all times (14), "conventional" does not (13).

    Slower than eps the document has sigma = 0 (7) and leaves holding to its macro model; alone that lets a loaded foot
    slide freely at up to eps, and a friction that reverses the slip within a step dithers. Here sigma grows linearly
    below max(eps, the slip that mu_K f_nu stops in one step, all contacts together): Eqn. (12) above, a damper that
    cannot overshoot below. A loaded foot creeps at about what one step of the load adds; it never sticks.
    The normal damper is taken at the start of a step: it is stable up to about dt = 2 m / (c + k dt), m the mass felt
    at the foot, 3 ms on Mini Cheetah, and reverses a single foot in one step from half of that on, (14) more than (13).
    The ground never pulls.
    """

    citation: ClassVar[str] = (
        "Sugihara, Nakamura: Balanced micro/macro contact model for forward dynamics of rigid multibody. "
        "IEEE ICRA 2006, pp. 1880-1885, Eqns. (7), (12)-(15)"
    )
    not_modelled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring gives way",
        "restitution": "follows from damping, not a parameter",
        "sticking": "friction is a damper below eps: a loaded contact creeps",
    }

    stiff: ClassVar[tuple[str, ...]] = ("k", "c")

    k: float | NDArray[np.float64] = 5512.0
    c: float | NDArray[np.float64] = 158.0
    mu: float | NDArray[np.float64] = 0.4
    eps: float | NDArray[np.float64] = 1e-3
    damper: Literal["timestep", "conventional"] = "timestep"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.damper not in DAMPERS:
            raise unknown("damper", self.damper, DAMPERS)
        for name in ("k", "eps"):
            if np.any(np.asarray(getattr(self, name)) <= 0):
                raise TarsusError(f"Micro: {name} must be positive.")
        if np.any(np.asarray(self.c) < 0):
            raise TarsusError("Micro: c must not be negative.")

    def solve(self, problem: ContactProblem, p: Any, memory: SX, builder: Builder) -> ContactSolution:
        n = problem.n
        extra = p.k * problem.dt if self.damper == "timestep" else SX(0)  # (15) against (13)
        impulses = []
        for i, contact in enumerate(problem.contacts):
            yielding = [ca.if_else(problem.active[j], frobenius(problem.G[i, j][1:, 1:]), 0) for j in range(n)]
            here = on_ground(self, contact, p)
            normal = problem.dt * normal_force(contact, here, contact.stiffness * extra)
            impulse = ca.vertcat(normal, friction(contact, here, normal, sum(yielding, SX(0))))
            impulses.append(ca.if_else(problem.active[i], impulse, 0))
        return ContactSolution(impulses, memory, SX(0), SX(1))


def normal_force(contact: Contact, p: Any, extra: SX) -> SX:
    """f_nu in N with `extra` damping, (13)-(15); the document's d is positive in the ground and its f_nu pushes."""
    sinking = -contact.velocity[0]
    damping = extra + ca.if_else(sinking > 0, p.c, 0)
    return ca.fmax(-p.k * contact.gap + damping * sinking, 0)


def friction(contact: Contact, p: Any, normal: SX, yielding: SX) -> SX:
    """Tangential percussion (2,), N s: (12) with (7) made continuous; `yielding` bounds slip per percussion, 1/kg."""
    slip, limit = contact.velocity[1:], p.mu * normal
    stopped = ca.fmax(limit * yielding, p.eps)  # m/s
    speed = ca.sqrt(ca.fmax(ca.dot(slip, slip), stopped * stopped))
    return -limit / speed * slip


def frobenius(block: SX) -> SX:
    """Norm of a matrix: with its row's other blocks it bounds how much the slips grow together (Gershgorin)."""
    return ca.sqrt(ca.sumsqr(block))
