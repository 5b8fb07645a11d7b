"""Rigid floor under a thin elastic membrane: micro and macro in one step.

Sugihara 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.contact.base import Law, parameters_at
from tarsus.contact.membrane import (
    Damper,
    Phase,
    SpringDamper,
    damper_choice,
    largest_steps,
    phase_choice,
    step_impulses,
)
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._error_norm import minimize, set_up
from tarsus.contact.solvers._single_pass import Passes, passes_choice, single_pass, with_kinetic
from tarsus.parameters import (
    Value,
    choice,
    friction,
    kinetic_friction,
    parameter,
    restitution,
    stiffness,
)
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class MicroMacro(Law):
    """Sugihara 2006 as a whole: spring and damper of a membrane, then the rigid floor under it.

    These are Eqns. (13)-(15), then (16)-(36). The surface of the ground is that of the membrane. A
    contact feels the membrane alone until it is `thickness` deep; from there on the rigid floor
    acts as well. The impulses of the membrane are known at the start of the step and are part of
    u_E for the floor (17)-(18); the law returns the sum of both.

    With `spring="ends"` the membrane pushes no harder below its thickness and damps no more; lambda
    may then be too large for the floor to carry the robot.

    The larger lambda, the smoother the impulses of the floor and the more of the load is left to
    the membrane: lambda leaves a foot the velocity lambda f / G_NN, so that it creeps, and sinks
    until the membrane carries all of the load. The law `macro` lists the differences from
    (16)-(36), `micro` those from (7); the membrane's damper limits the step as it does there.
    """

    citation: ClassVar[Citation] = (SUGIHARA_2006.at(),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "the membrane is compliant, and lambda leaves a part of a velocity at the floor",
        "restitution": "e_N is the floor's; the membrane's follows from its damping",
        "sticking": "lambda leaves a part of the slip: a loaded contact creeps",
        "spring": "deeper than the membrane the rigid floor carries",
    }
    subcycles: ClassVar[bool] = True
    contact_memory: ClassVar[int] = 1  # the floor's last normal impulse: whether it pressed

    thickness: Value = parameter(5e-4, "m", "thickness of the membrane", "[0, inf)")
    k: Value = stiffness(5512.0, "N/m", "stiffness of the membrane")
    c: Value = parameter(
        158.0,
        "N s/m",
        "damping of the membrane in the phase of the parameter `phase`",
        "[0, inf)",
        role="damping",
    )
    eps: Value = parameter(1e-3, "m/s", "slip speed above which friction is kinetic", "(0, inf)")
    damper: Damper = damper_choice()
    phase: Phase = phase_choice()
    spring: Literal["endless", "ends"] = choice(
        "endless",
        "force of the membrane at depths beyond its thickness",
        endless="spring and damper act at any depth",
        ends="the spring force stays constant, and damping is zero",
    )
    mu: Value = friction(0.8, "coefficient of static friction", "mu_S")
    mu_K: Value | None = kinetic_friction()
    e_N: Value = restitution(0.0, "normal", "coefficient of restitution of the floor")
    v_0: Value = parameter(
        1e-2, "m/s", "speed above which a contact slides, or rebounds", "[0, inf)"
    )
    damping: Value = parameter(
        1e-2, "1/kg^2", "damping of the least squares, 0.01 to 4 in the paper", "[0, inf)", "lambda"
    )
    passes: Passes = passes_choice()

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Compute the limit of the membrane's spring and damper."""
        return largest_steps(self.k, self.c, self.damper, masses[0])

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # the membrane
        p, grounds = with_kinetic(p), []
        for contact in problem.contacts:
            scaled = parameters_at(self, contact, p)
            grounds.append(SimpleNamespace(k=scaled.k, c=scaled.c, eps=p.eps, mu=scaled.mu_K))
        end = p.thickness if self.spring == "ends" else None
        kind = SpringDamper(self.damper, self.phase, end)
        membrane = step_impulses(problem, grounds, kind, builder)
        soft = triples(builder.store("membrane", ca.vertcat(*membrane.impulses)))

        # the floor under it; as in the paper, "once" ignores which contacts pressed before
        once = self.passes == "once"
        pressed = [SX(0) if once else self.memory_of(memory, i)[0] > 0 for i in range(problem.n)]
        floor = create_floor_problem(problem, soft, pressed, p.thickness)
        if once:
            minimized = single_pass(floor, p, builder)
        else:
            minimized = minimize(*set_up(floor, pressed, p, builder), builder)
        normals = ca.vertcat(*(impulse[0] for impulse in minimized.impulses))
        both = [a + b for a, b in zip(soft, minimized.impulses, strict=True)]
        coordinate_impulses = membrane.coordinate_impulses
        if coordinate_impulses is not None:
            coordinate_impulses = [
                a + b for a, b in zip(coordinate_impulses, minimized.impulses, strict=True)
            ]
        good = ca.logic_and(minimized.converged, membrane.stable)
        return ContactSolution(
            both,
            normals,
            minimized.passes,
            good,
            coordinate_impulses=coordinate_impulses,
            free_share=membrane.free_share,
        )


def create_floor_problem(
    problem: ContactProblem, soft: list[SX], pressed: list[SX], thickness: SX
) -> ContactProblem:
    """Set up the problem of the rigid floor, Eqns. (17)-(18).

    Its gaps are those to the floor, its free velocities include the membrane's impulses.
    """
    contacts: list[Contact] = [replace(c, gap=c.gap + thickness) for c in problem.contacts]
    reached = [ca.logic_or(c.gap <= 0, before) for c, before in zip(contacts, pressed, strict=True)]
    free = []
    for i, velocity in enumerate(problem.free):
        for j, push in enumerate(soft):
            velocity = velocity + ca.mtimes(problem.G[i, j], push)
        free.append(velocity)
    active = [ca.logic_and(a, b) for a, b in zip(problem.active, reached, strict=True)]
    return replace(
        problem, contacts=contacts, active=active, free=free, make_delassus=lambda: problem.G
    )
