"""A linear spring whose damper grows with dt, and kinetic friction (Sugihara 2006, section III-A).

Which phase the damper acts in depends on which of two signs one believes: with (4) it is
compression, as (13) prints its force release (docs/decisions/0020-the-sign-of-the-micro-damper.md).

Slower than eps the paper has sigma = 0 (7) and leaves holding to its macro model; alone that
lets a loaded foot slide freely at up to eps, and a friction that reverses the slip within a step
dithers. Here sigma grows linearly below max(eps, the slip that mu_K f_nu stops in one step, all
contacts together): Eqn. (12) above, a damper that cannot overshoot below.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike

from tarsus.contact import stability
from tarsus.contact.problem import Contact, ContactProblem
from tarsus.contact.subcycle import Subcycled, subcycle
from tarsus.parameters import choice
from tarsus.program.ir.trace import Builder

Damper = Literal["timestep", "conventional"]
Phase = Literal["compression", "release"]


@dataclass(frozen=True)
class SpringDamper:
    """Which of the readings of (13)-(15) a membrane has."""

    damper: Damper
    """"timestep", (14), or "conventional", (13)."""
    phase: Phase
    """When the damping coefficient acts."""
    thickness: SX | None = None
    """Depth at which the spring's force no longer grows and the damper ends, m; None: nowhere."""


def damper_choice() -> Any:
    """The field `damper` of the laws with a membrane."""
    return choice(
        "timestep",
        "what is added to the damping",
        timestep="k dt at all times, Eqn. (14)",
        conventional="nothing, Eqn. (13)",
    )


def phase_choice() -> Any:
    """The field `phase` of the laws with a membrane."""
    return choice(
        "compression",
        "the phase in which c acts",
        compression="the point goes deeper: d counts into the ground, Eqn. (4)",
        release="it comes out: d counts out of the ground, as Eqn. (13) pushes",
    )


def contact_impulses(
    problem: ContactProblem, inside: list[SX], grounds: list[Any], kind: SpringDamper
) -> list[SX]:
    """Impulses (3,) in N s of the contacts that are `inside` (1 or 0), by (12)-(15).

    grounds[i]: k, c, mu (kinetic) and eps at contact i
    """
    impulses = []
    for i, (contact, here) in enumerate(zip(problem.contacts, grounds, strict=True)):
        yielding = [
            ca.if_else(inside[j], frobenius(problem.G[i, j][1:, 1:]), 0) for j in range(problem.n)
        ]
        normal = problem.dt * normal_force(contact, here, problem.dt, kind)
        impulse = ca.vertcat(normal, friction(contact, here, normal, sum(yielding, SX(0))))
        impulses.append(inside[i] * impulse)
    return impulses


def pushed(
    problem: ContactProblem, grounds: list[Any], kind: SpringDamper, builder: Builder
) -> Subcycled:
    """Impulses of a membrane over the step, as `contact_impulses` has them over a substep."""
    held = builder.store_all("grounds", [vars(here) for here in grounds])
    grounds = [SimpleNamespace(**here) for here in held]

    def evaluate(now: ContactProblem, memory: SX) -> tuple[list[SX], SX]:
        return contact_impulses(now, now.active, grounds, kind), memory

    def steepness(i: int, contact: Contact, _: SX) -> tuple[SX, SX]:
        return slopes(contact, grounds[i], kind)

    return subcycle(problem, SX(0, 1), evaluate, steepness, builder)


def largest_steps(k: ArrayLike, c: ArrayLike, damper: Damper, mass: float) -> dict[str, float]:
    """(c + k dt) dt < 2 m with the timestep's damper (14), k dt^2 + 2 c dt < 4 m without; m: what a
    contact feels.
    """
    stiffness, damping = np.asarray(k), np.asarray(c)
    with_dt = 4 * mass / (np.sqrt(damping * damping + 8 * mass * stiffness) + damping)
    limit = with_dt if damper == "timestep" else stability.spring_limit(stiffness, damping, mass)
    return {"the ground's spring and damper": float(np.min(limit))}


def normal_force(contact: Contact, p: Any, dt: SX, kind: SpringDamper) -> SX:
    """f_nu in N, (13)-(15), never pulling; depth = -gap, sinking = -velocity, into the ground."""
    depth, sinking = -contact.gap, -contact.velocity[0]
    spring, damping = p.k * depth, ca.if_else(_acts(sinking, kind.phase), p.c, 0)
    if kind.damper == "timestep":
        spring = spring + p.k * dt * sinking  # (15) against (13)
    if kind.thickness is not None:
        spring = ca.fmin(spring, p.k * kind.thickness)
        damping = ca.if_else(depth < kind.thickness, damping, 0)
    return ca.fmax(spring + damping * sinking, 0)


def _acts(sinking: SX, phase: Phase) -> SX:
    return sinking > 0 if phase == "compression" else sinking < 0


def friction(contact: Contact, p: Any, normal: SX, yielding: SX) -> SX:
    """Tangential impulse (2,), N s: (12) with (7) made continuous; `yielding` bounds slip per
    impulse, 1/kg.
    """
    slip, limit = contact.velocity[1:], p.mu * normal
    stopped = ca.fmax(limit * yielding, p.eps)  # m/s
    speed = ca.sqrt(ca.fmax(ca.dot(slip, slip), stopped * stopped))
    return -limit / speed * slip


def slopes(contact: Contact, p: Any, kind: SpringDamper) -> tuple[SX, SX]:
    """Stiffness (3,) and damping (3,) that bound a substep: friction cannot overshoot.

    The timestep's damper k h counts as stiffness: k h^2 / 4 + (k h) h / 2 = 3 k h^2 / 4.
    """
    soft = SX(0) if kind.thickness is None else -contact.gap >= kind.thickness
    stiffness = p.k * (3 if kind.damper == "timestep" else 1)
    C, D = (ca.if_else(soft, 0, value) for value in (stiffness, p.c))
    return ca.vertcat(C, 0, 0), ca.vertcat(D, 0, 0)


def frobenius(block: SX) -> SX:
    """Norm of a matrix: with its row's other blocks it bounds how much the slips grow together
    (Gershgorin).
    """
    return ca.sqrt(ca.sumsqr(block))
