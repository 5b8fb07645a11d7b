"""Rigid contact with Coulomb friction and restitution.

Moreau's time-stepping: Signorini's condition and spatial friction as normal-cone inclusions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import casadi as ca
from casadi import SX

from tarsus import registry
from tarsus.algebra.blocks import triples
from tarsus.contact.base import HardLaw
from tarsus.contact.criteria import SLIDING
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._last_step import with_slope
from tarsus.contact.solvers._with_joints import with_joints
from tarsus.contact.solvers.base import (
    STAGES,
    ConstraintSolver,
    HardProblem,
    Outcome,
    Solver,
    finite,
    one_by_one,
)
from tarsus.errors import IncompatibleOptions
from tarsus.parameters import (
    Value,
    absolute_tolerance,
    choice,
    friction,
    kinetic_ratio,
    parameter,
    relative_tolerance,
    restitution,
)
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import ALART_1991, DE_SAXCE_1998, GEHRING_2014, NESTEROV_1997
from tarsus.references.reference import Citation

METHODS = "tarsus.contact.solvers"
TOUCH = 1e-8  # m: no deeper is a contact whose touch was located, which has just landed
SOLVERS: dict[str, Solver] = {
    name: make() for name, make in registry.member_classes(METHODS, "solver", Solver).items()
}
ITERATED = {
    name: method for name, method in SOLVERS.items() if isinstance(method, ConstraintSolver)
}
AUTOMATIC = "newton", "exact"  # for few contacts, for many


def _meaning(method: Solver) -> str:
    """The first line of its docstring, as the rest of a sentence."""
    first = (type(method).__doc__ or "").partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


@dataclass(frozen=True)
class Moreau(HardLaw):
    """Inclusions (2)-(5) of Gehring 2014 solved over the step, Eqns. (12)-(18).

    A contact takes part if its gap is closed at the midpoint, or if it pressed in the last step:
    round-off of the positions then cannot drop a standing foot for one step
    (docs/decisions/0009-contacts-that-pressed-stay.md). Friction has one coefficient a contact and
    step, known before it: mu_K where the contact slides faster than 1 mm/s as the step begins, else
    mu_S (stick and slip differ by speed, as in Sugihara 2006, Eqn. (7), not by the impulse: of
    redundant contacts one may be on its cone at rest). So each step is a problem with fixed cones,
    as solvable as the paper's; breaking away and sticking again come a step late, an error of
    order dt.

    A contact that does not just land shall rest at the end of the step, half a step after the
    midpoint, and what lies deeper than `slop` comes up by `recovery` a step: so feet neither creep
    nor sink (docs/decisions/0017-standing-contacts-rest-at-the-end.md). That is one that pressed in
    the last step or was closed a step ago, as are all corners of a sole that stands
    (docs/decisions/0024-soles.md). With `standing` "midpoint" and `recovery` 0 the law is that of
    the paper: a contact stays as deep as it closed. A step that has no solution, as of a leg wedged
    between two others, is solved as the paper's (docs/decisions/0052-jammed-limbs.md).
    """

    citation: ClassVar[Citation] = (
        GEHRING_2014.at("Eqns. (2)-(18)"),
        DE_SAXCE_1998.at("steps that the solvers newton and exact cannot settle otherwise"),
        NESTEROV_1997.at("their interior points"),
        ALART_1991.at("steps that newton takes on the cones' edges"),
    )
    not_modeled: ClassVar[Mapping[str, str]] = {
        "spring": "hard contact does not give way",
    }

    asks_less: ClassVar[bool] = True
    contact_memory: ClassVar[int] = 4  # the last impulse (3,) and sliding root: the warm start

    mu: Value = friction(0.8, "friction coefficient of a contact that sticks", "mu_S")
    kinetic: Value = kinetic_ratio(1.0)
    e_N: Value = restitution(0.0, "normal")
    e_T: Value = restitution(0.0, "tangential")
    recovery: Value = parameter(
        0.005, "[1]", "part of a depth beyond slop taken back each step", "[0, 1]"
    )
    slop: Value = parameter(5e-4, "m", "depth that is left as it is", "[0, inf)")
    alpha: Value = parameter(0.6, "[1]", "relaxation of jor and sor", "[0, inf)")
    T_rel: Value = relative_tolerance(1e-6)
    T_abs: Value = absolute_tolerance(1e-6)
    solver: str = choice(
        "auto",
        "how the inclusions are solved",
        auto="newton up to twelve contacts, to 24 of robots that lie, else exact",
        **{name: _meaning(method) for name, method in SOLVERS.items()},
    )
    standing: Literal["end", "midpoint"] = choice(
        "end",
        "where in the step a contact that pressed in the last one shall rest",
        end="at its end, the midpoint's velocity carried on",
        midpoint="at its midpoint, Eqn. (8)",
    )
    bilateral: Literal["direct", "prox"] = choice(
        "direct",
        "how the constraints of cut joints and loops are solved",
        direct="directly, Eqn. (20)",
        prox="iterated over, Eqn. (19)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bilateral == "prox" and self.solver not in ITERATED:
            known = " or ".join(repr(name) for name in ITERATED)
            raise IncompatibleOptions(
                f"bilateral='prox' needs solver={known}, not {self.solver!r}.", "solver"
            )

    @property
    def solves_joints(self) -> bool:
        """Not by an iteration of the paper: whether that converges is told as it is."""
        return self.solver in ("auto", *AUTOMATIC)

    @property
    def stages(self) -> tuple[str, ...]:
        """Those of newton and exact, and of contacts solved together with joints."""
        return STAGES if self.solves_joints else ()

    def correction(self, contact: Contact, p: Any, memory: SX, dt: SX) -> SX:
        """Of a contact that stood: its velocity is carried on to the step's end, and a part of its
        depth is taken back; the latter also where others carry the load and it lies still. All
        corners of a sole are told the same, whoever pressed.
        """
        pressed, rise = memory[0] > 0, p.recovery * ca.fmin(contact.gap + p.slop, 0) / dt
        lies = ca.logic_or(pressed, contact.velocity[0] > rise)  # it has not just landed
        added = ca.vertcat(ca.if_else(lies, rise, 0), 0, 0)
        if self.standing == "end":
            stood = ca.logic_or(pressed, contact.gap <= ca.fmin(dt * contact.velocity[0], -TOUCH))
            added += ca.if_else(stood, self.carried_on(contact, dt), 0)
        return added

    def friction(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        """The friction coefficient of contact i in this step."""
        return coefficient(problem.contacts[i], p)

    def _solved(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        """By the method asked for, from the last step's impulses and sliding roots."""
        if hard.problem.joints is not None:
            return with_joints(hard, hard.problem.joints)
        if hard.problem.bilateral is not None and self.bilateral == "prox":
            return ITERATED[self.solver].solve_with_constraints(hard, start)
        few, many = AUTOMATIC
        automatic = many if one_by_one(hard) else few
        name = automatic if self.solver == "auto" else self.solver
        return with_slope(hard, SOLVERS[name].solve(hard, start, roots))

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # the inclusions of the closed contacts
        n = problem.n
        active = entries(builder.store("closed", ca.vertcat(*problem.active)))
        c = builder.store(
            "c", ca.vertcat(SX(0, 1), *(self._constant(problem, i, p, memory) for i in range(n)))
        )
        mu = entries(
            builder.store(
                "mu", ca.vertcat(*(self.friction(problem, i, p, memory) for i in range(n)))
            )
        )
        hard = HardProblem(
            replace(problem, active=active),
            triples(c),
            mu,
            p,
            builder,
        )
        # from the last step's impulses and sliding roots to those of this one
        near = memory if problem.warm_start is None else problem.warm_start
        last = [ca.if_else(active[i], self.memory_of(near, i), 0) for i in range(n)]
        outcome = self._solved(hard, [own[:3] for own in last], [own[3] for own in last])
        # what the law remembers
        warm = ca.vertcat(
            *(ca.vertcat(L, s) for L, s in zip(outcome.impulses, outcome.roots, strict=True))
        )
        # solved if the solver says so and all is finite
        told = [entry for impulse in outcome.impulses for entry in entries(impulse)]
        numbers = finite(told + [c_i[0] for c_i in hard.c])
        good = ca.logic_and(outcome.converged, numbers)
        solution = ContactSolution(
            outcome.impulses, warm, outcome.iterations, good, outcome.bilateral, outcome.joints
        )
        return replace(solution, stage=outcome.stage) if self.stages else solution

    def _constant(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        """c_i (3,) with xi_i = sum_j G_ij L_j + c_i (Eqn. (15)); a contact above the ground may
        first close its gap.
        """
        contact = problem.contacts[i]
        added = self.correction(contact, p, self.memory_of(memory, i), problem.dt)
        if problem.at_rest is not None:
            added = ca.if_else(problem.at_rest, 0, added)
        return (
            problem.free[i]
            + added
            + ca.vertcat(p.e_N, p.e_T, p.e_T) * contact.velocity
            + ca.vertcat(ca.fmax(contact.gap, 0) / problem.dt, 0, 0)
        )


def coefficient(contact: Contact, p: Any) -> SX:
    """mu_K of a contact that slides where the step begins, else mu_S."""
    slip = contact.velocity[1:]
    return contact.friction * p.mu * ca.if_else(ca.dot(slip, slip) > SLIDING**2, p.kinetic, 1)
