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
from tarsus.contact.solvers._last_step import with_derivative
from tarsus.contact.solvers._with_joints import solve_with_joints
from tarsus.contact.solvers.base import (
    STAGES,
    ConstraintSolver,
    HardProblem,
    Outcome,
    Solver,
    exceeds_dense,
    is_finite,
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
LANDING_DEPTH = 1e-8  # m: a contact that is not deeper may have just landed at a located event
SOLVERS: dict[str, Solver] = {
    name: make() for name, make in registry.member_classes(METHODS, "solver", Solver).items()
}
ITERATED = {
    name: method for name, method in SOLVERS.items() if isinstance(method, ConstraintSolver)
}
AUTOMATIC = "newton", "exact"  # for few contacts, for many


def _read_summary(method: Solver) -> str:
    """Read the first line of a method's docstring, as the rest of a sentence."""
    first = (type(method).__doc__ or "").partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


@dataclass(frozen=True)
class Moreau(HardLaw):
    """Rigid contact with Coulomb friction and restitution, solved as inclusions over a step.

    The law solves inclusions (2)-(5) of Gehring 2014 over the step, Eqns. (12)-(18). A contact is
    active if its gap is closed at the midpoint, or if it pressed in the last step, so that
    round-off of the positions cannot drop a standing foot
    (docs/decisions/0009-active-contacts-persist.md).

    Friction has one coefficient per contact and step, chosen before the step: the kinetic one where
    the contact slides faster than 1 mm/s at its start, else the static one. As in Sugihara 2006,
    Eqn. (7), stick and slip are distinguished by speed, not by impulse, because one of several
    redundant contacts may be on its cone at rest. Each step is therefore a problem with constant
    cones, as solvable as that of the paper; breaking away and sticking come one step late, an error
    of order dt.

    A contact that does not just land is required to rest at the end of the step, half a step after
    the midpoint, and a depth beyond `slop` is reduced by `recovery` per step; so feet neither creep
    nor sink (docs/decisions/0017-standing-contacts-rest-at-the-end.md). This holds for contacts
    that pressed in the last step or were closed one step ago, as are all corners of a standing sole
    (docs/decisions/0024-sole-contacts.md). A step without solution, such as one with a leg wedged
    between two others, is solved without this correction (docs/decisions/0052-wedged-limbs.md).
    With `standing="midpoint"` and `recovery=0` the law is that of the paper, and a contact stays as
    deep as it closed.

    Parameters
    ----------
    mu : float or array_like
        Static friction coefficient.
    kinetic : float or array_like
        Kinetic friction coefficient, relative to `mu`.
    e_N, e_T : float or array_like
        Coefficients of restitution, normal and tangential, 0 to 1.
    recovery : float or array_like
        Share of the depth beyond `slop` that is removed per step, 0 to 1.
    slop : float or array_like
        Depth up to which penetration is not corrected, m.
    alpha : float or array_like
        Relaxation of the solvers "jor" and "sor".
    T_rel, T_abs : float or array_like
        Relative and absolute tolerance of the solver, the latter in N s.
    solver : str
        Method: "auto", or one of `tarsus list solvers`.
    standing : {"end", "midpoint"}
        Instant of the step at which persistent contacts must be at rest.
    bilateral : {"direct", "prox"}
        How constraints of cut joints and closed loops are solved; "prox" needs solver "jor" or
        "sor".

    References
    ----------
    Gehring 2014; De Saxcé and Feng 1998; Nesterov and Todd 1997; Alart and Curnier 1991.

    Examples
    --------
    >>> from tarsus import Moreau, Simulation
    >>> simulation = Simulation("mini_cheetah", law=Moreau(mu=0.6, e_N=0.1))
    >>> simulation.law.mu
    0.6

    An array gives every world its own value:

    >>> import numpy as np
    >>> law = Moreau(mu=np.linspace(0.2, 1.0, 5))
    >>> Simulation("mini_cheetah", law=law, worlds=5).worlds
    5
    """

    citation: ClassVar[Citation] = (
        GEHRING_2014.at("Eqns. (2)-(18)"),
        DE_SAXCE_1998.at("steps that the solvers newton and exact cannot settle otherwise"),
        NESTEROV_1997.at("their interior points"),
        ALART_1991.at("steps that newton takes on the cones' edges"),
    )
    not_modeled: ClassVar[Mapping[str, str]] = {
        "spring": "hard contact is not compliant",
    }

    correction_is_optional: ClassVar[bool] = True
    contact_memory: ClassVar[int] = 4  # the last impulse (3,) and sliding root: the warm start

    mu: Value = friction(0.8, "static friction coefficient", "mu_S")
    kinetic: Value = kinetic_ratio(1.0)
    e_N: Value = restitution(0.0, "normal")
    e_T: Value = restitution(0.0, "tangential")
    recovery: Value = parameter(
        0.005, "[1]", "share of the depth beyond slop that is removed per step", "[0, 1]"
    )
    slop: Value = parameter(5e-4, "m", "depth up to which penetration is not corrected", "[0, inf)")
    alpha: Value = parameter(0.6, "[1]", "relaxation of jor and sor", "[0, inf)")
    T_rel: Value = relative_tolerance(1e-6)
    T_abs: Value = absolute_tolerance(1e-6)
    solver: str = choice(
        "auto",
        "how the inclusions are solved",
        auto="newton for up to 12 contacts (24 where the robot has fallen), else exact",
        **{name: _read_summary(method) for name, method in SOLVERS.items()},
    )
    standing: Literal["end", "midpoint"] = choice(
        "end",
        "instant of the step at which persistent contacts must be at rest",
        end="the end of the step, extrapolated with the midpoint velocity",
        midpoint="the midpoint of the step, Eqn. (8)",
    )
    bilateral: Literal["direct", "prox"] = choice(
        "direct",
        "how the constraints of cut joints and loops are solved",
        direct="directly, Eqn. (20)",
        prox="iteratively, Eqn. (19)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bilateral == "prox" and self.solver not in ITERATED:
            supported = " or ".join(repr(name) for name in ITERATED)
            raise IncompatibleOptions(
                f"bilateral='prox' needs solver={supported}, not {self.solver!r}.", "solver"
            )

    @property
    def solves_joints(self) -> bool:
        """True for the solvers "auto", "newton" and "exact".

        The paper's iterations report their own convergence.
        """
        return self.solver in ("auto", *AUTOMATIC)

    @property
    def stages(self) -> tuple[str, ...]:
        """Stages of the solvers newton and exact, and of contacts solved together with joints."""
        return STAGES if self.solves_joints else ()

    def correction(self, contact: Contact, p: Any, memory: SX, dt: SX) -> SX:
        """Compute the correction of a contact that stood.

        Its velocity is carried on to the end of the step, and a share of its depth is removed; the
        latter also where other contacts carry the load and it lies still. All corners of a sole get
        the same correction, whichever of them pressed.
        """
        pressed, rise = memory[0] > 0, p.recovery * ca.fmin(contact.gap + p.slop, 0) / dt
        has_landed = ca.logic_or(pressed, contact.velocity[0] > rise)
        added = ca.vertcat(ca.if_else(has_landed, rise, 0), 0, 0)
        if self.standing == "end":
            closed_before = contact.gap <= ca.fmin(dt * contact.velocity[0], -LANDING_DEPTH)
            stood = ca.logic_or(pressed, closed_before)
            added += ca.if_else(stood, self.half_step_change(contact, dt), 0)
        return added

    def friction(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        """Select the friction coefficient of contact i in this step."""
        return friction_coefficient(problem.contacts[i], p)

    def _solve_inclusions(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        """Solve with the chosen method, from the impulses and sliding roots of the last step."""
        if hard.problem.joints is not None:
            return solve_with_joints(hard, hard.problem.joints)
        if hard.problem.bilateral is not None and self.bilateral == "prox":
            return ITERATED[self.solver].solve_with_constraints(hard, start)
        few, many = AUTOMATIC
        automatic = many if exceeds_dense(hard) else few
        name = automatic if self.solver == "auto" else self.solver
        return with_derivative(hard, SOLVERS[name].solve(hard, start, roots))

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        # the inclusions of the closed contacts
        n = problem.n
        active = entries(builder.store("closed", ca.vertcat(*problem.active)))
        c = builder.store(
            "c",
            ca.vertcat(
                SX(0, 1), *(self._constant_velocity(problem, i, p, memory) for i in range(n))
            ),
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
        initial = memory if problem.warm_start is None else problem.warm_start
        last = [ca.if_else(active[i], self.memory_of(initial, i), 0) for i in range(n)]
        outcome = self._solve_inclusions(
            hard, [values[:3] for values in last], [values[3] for values in last]
        )
        # memory: impulses and roots for the next warm start
        warm = ca.vertcat(
            *(ca.vertcat(L, s) for L, s in zip(outcome.impulses, outcome.roots, strict=True))
        )
        # converged if the solver has and all values are finite
        impulses = [entry for impulse in outcome.impulses for entry in entries(impulse)]
        finite = is_finite(impulses + [c_i[0] for c_i in hard.c])
        good = ca.logic_and(outcome.converged, finite)
        solution = ContactSolution(
            outcome.impulses, warm, outcome.iterations, good, outcome.bilateral, outcome.joints
        )
        return replace(solution, stage=outcome.stage) if self.stages else solution

    def _constant_velocity(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        """Compute c_i (3,) with xi_i = sum_j G_ij L_j + c_i (Eqn. (15)).

        A contact above the ground may first close its gap.
        """
        contact = problem.contacts[i]
        added = self.correction(contact, p, self.memory_of(memory, i), problem.dt)
        if problem.skip_correction is not None:
            added = ca.if_else(problem.skip_correction, 0, added)
        return (
            problem.free[i]
            + added
            + ca.vertcat(p.e_N, p.e_T, p.e_T) * contact.velocity
            + ca.vertcat(ca.fmax(contact.gap, 0) / problem.dt, 0, 0)
        )


def friction_coefficient(contact: Contact, p: Any) -> SX:
    """Select the kinetic coefficient if the contact slides at the start, else the static one."""
    slip = contact.velocity[1:]
    return contact.friction * p.mu * ca.if_else(ca.dot(slip, slip) > SLIDING**2, p.kinetic, 1)
