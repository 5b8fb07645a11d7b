"""Linear spring whose damper grows with dt, and kinetic friction (Sugihara 2006, section III-A).

The phase in which the damper acts depends on which of two signs is taken as correct: with (4) it is
compression, while (13) prints the force of release
(docs/decisions/0020-sign-of-the-micro-damper.md).

For slip slower than eps the paper has sigma = 0 (7) and leaves sticking to its macro model. Used
alone, that lets a loaded foot slide freely at up to eps, and friction that reverses the slip within
a step chatters. Here sigma grows linearly below max(eps, the slip that mu_K f_nu stops in one step,
all contacts together): Eqn. (12) above that speed, a damper that cannot overshoot below it.
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
from tarsus.contact.subcycle import SubcycleResult, subcycle
from tarsus.parameters import choice
from tarsus.program.ir.trace import Builder

Damper = Literal["timestep", "conventional"]
Phase = Literal["compression", "release"]


@dataclass(frozen=True)
class SpringDamper:
    """Variant of Eqns. (13)-(15) that a membrane uses.

    Attributes
    ----------
    damper
        "timestep", Eqn. (14), or "conventional", Eqn. (13).
    phase
        Phase in which the damping coefficient acts.
    thickness
        Depth at which the spring's force stops growing and the damper ends, m; None if nowhere.
    """

    damper: Damper
    phase: Phase
    thickness: SX | None = None


def damper_choice() -> Any:
    """Declare the field `damper` of laws with a membrane."""
    return choice(
        "timestep",
        "additional damping",
        timestep="k dt at all times, Eqn. (14)",
        conventional="none, Eqn. (13)",
    )


def phase_choice() -> Any:
    """Declare the field `phase` of laws with a membrane."""
    return choice(
        "compression",
        "phase in which the damping c acts",
        compression="while the depth increases, as in Eqn. (4)",
        release="while the depth decreases, by the sign of Eqn. (13)",
    )


def contact_impulses(
    problem: ContactProblem, inside: list[SX], grounds: list[Any], kind: SpringDamper
) -> list[SX]:
    """Compute the impulses (3,), N s, of contacts inside the membrane, by Eqns. (12)-(15).

    Parameters
    ----------
    problem : ContactProblem
        Contacts over a step or substep.
    inside : list of SX
        1 for each contact inside the membrane, else 0.
    grounds : list of namespace
        k, c, mu (kinetic) and eps at each contact.
    kind : SpringDamper
        Variant of the equations.
    """
    impulses = []
    for i, (contact, ground) in enumerate(zip(problem.contacts, grounds, strict=True)):
        mobility = [
            ca.if_else(inside[j], frobenius_norm(problem.G[i, j][1:, 1:]), 0)
            for j in range(problem.n)
        ]
        normal = problem.dt * normal_force(contact, ground, problem.dt, kind)
        impulse = ca.vertcat(normal, friction(contact, ground, normal, sum(mobility, SX(0))))
        impulses.append(inside[i] * impulse)
    return impulses


def step_impulses(
    problem: ContactProblem, grounds: list[Any], kind: SpringDamper, builder: Builder
) -> SubcycleResult:
    """Compute the impulses of a membrane over a step, in substeps as needed."""
    stored = builder.store_all("grounds", [vars(here) for here in grounds])
    grounds = [SimpleNamespace(**here) for here in stored]

    def evaluate(substep_problem: ContactProblem, memory: SX) -> tuple[list[SX], SX]:
        return contact_impulses(substep_problem, substep_problem.active, grounds, kind), memory

    def contact_slopes(i: int, contact: Contact, _: SX) -> tuple[SX, SX]:
        return slopes(contact, grounds[i], kind)

    return subcycle(problem, SX(0, 1), evaluate, contact_slopes, builder)


def largest_steps(k: ArrayLike, c: ArrayLike, damper: Damper, mass: float) -> dict[str, float]:
    """Compute the limit of stability for a mass that a contact feels, kg.

    It is (c + k dt) dt < 2 m with the time step's damper (14), k dt^2 + 2 c dt < 4 m without.
    """
    stiffness, damping = np.asarray(k), np.asarray(c)
    with_dt = 4 * mass / (np.sqrt(damping * damping + 8 * mass * stiffness) + damping)
    limit = with_dt if damper == "timestep" else stability.spring_limit(stiffness, damping, mass)
    return {"the ground's spring and damper": float(np.min(limit))}


def normal_force(contact: Contact, p: Any, dt: SX, kind: SpringDamper) -> SX:
    """Compute f_nu, N, of Eqns. (13)-(15), never pulling.

    depth = -gap and sinking = -velocity point into the ground.
    """
    depth, sinking = -contact.gap, -contact.velocity[0]
    spring, damping = p.k * depth, ca.if_else(_is_damper_active(sinking, kind.phase), p.c, 0)
    if kind.damper == "timestep":
        spring = spring + p.k * dt * sinking  # (15) minus (13)
    if kind.thickness is not None:
        spring = ca.fmin(spring, p.k * kind.thickness)
        damping = ca.if_else(depth < kind.thickness, damping, 0)
    return ca.fmax(spring + damping * sinking, 0)


def _is_damper_active(sinking: SX, phase: Phase) -> SX:
    return sinking > 0 if phase == "compression" else sinking < 0


def friction(contact: Contact, p: Any, normal: SX, mobility: SX) -> SX:
    """Compute the tangential impulse (2,), N s: Eqn. (12) with a continuous version of Eqn. (7).

    `mobility` bounds the slip per impulse, 1/kg.
    """
    slip, limit = contact.velocity[1:], p.mu * normal
    stopping_speed = ca.fmax(limit * mobility, p.eps)  # m/s
    speed = ca.sqrt(ca.fmax(ca.dot(slip, slip), stopping_speed * stopping_speed))
    return -limit / speed * slip


def slopes(contact: Contact, p: Any, kind: SpringDamper) -> tuple[SX, SX]:
    """Compute the stiffness (3,) and damping (3,) that limit a substep.

    Friction cannot overshoot, so it has neither. The time step's damper k h counts as stiffness:
    k h^2 / 4 + (k h) h / 2 = 3 k h^2 / 4.
    """
    soft = SX(0) if kind.thickness is None else -contact.gap >= kind.thickness
    stiffness = p.k * (3 if kind.damper == "timestep" else 1)
    C, D = (ca.if_else(soft, 0, value) for value in (stiffness, p.c))
    return ca.vertcat(C, 0, 0), ca.vertcat(D, 0, 0)


def frobenius_norm(block: SX) -> SX:
    """Compute the Frobenius norm of a block.

    The sum over a row of blocks bounds how much the slips grow together (Gershgorin).
    """
    return ca.sqrt(ca.sumsqr(block))
