"""MuJoCo's soft contact: a convex problem with friction cones and exact inertia at the contacts.

Its parameters are MuJoCo's: a reference acceleration and a regularizer. It differs from MuJoCo in
the regularizer, in implicit joint damping and in the instant, as the class explains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.contact.base import Law
from tarsus.contact.problem import ContactProblem, ContactSolution
from tarsus.contact.solvers import _convex
from tarsus.contact.solvers.base import HardProblem
from tarsus.parameters import (
    Value,
    absolute_tolerance,
    friction,
    parameter,
    relative_tolerance,
)
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.references.books import MUJOCO
from tarsus.references.papers import TODOROV_2014
from tarsus.references.reference import Citation

MIN_IMPEDANCE, MAX_IMPEDANCE = 1e-4, 0.9999  # as in MuJoCo


@dataclass(frozen=True)
class SoftConvex(Law):
    """Forces in friction cones that minimize a convex cost over the step, as in MuJoCo.

    Forces f in the cones |f_T| <= mu f_N minimize 1/2 f^T (A + R) f + f^T (a_0 - a_ref). A is the
    inverse inertia at the contacts (the Delassus matrix), a_0 the acceleration without contact, and
    a_ref = -b v - k d r with r the gap (no r for friction), b = 2 / (d_max timeconst), k = 1 /
    (d_max timeconst dampratio)^2. The impedance d grows with depth from d_min to d_max; R_N = (1 -
    d) / d A_NN, R_T = R_N / impratio. With impulses L = dt f: 1/2 L^T (A + R) L + L^T (v_free - v +
    dt b v + dt k d r). The defaults are MuJoCo's.

    Consequences for a robot: feet sink by what timeconst allows, whatever their mass. Friction is a
    damper and creeps, the less the larger impratio. A contact that slides also lifts by mu times
    its slip speed, because the cone is convex in all three components; this is not Coulomb
    friction.

    R uses the exact A_NN of the robot with no joint locked and no loop closed, as MuJoCo does with
    the flag `diagexact`; without it MuJoCo uses 1/m of the body alone at the robot's reference
    pose. solref of the form (-stiffness, -damping) is not supported. MuJoCo evaluates the start of
    the step, which is stepper "symplectic_euler"; its forces leave out implicit joint damping,
    these do not. Newton's method solves the problem, see `contact/solvers/_convex.py`.
    """

    citation: ClassVar[Citation] = (
        TODOROV_2014.at(),
        MUJOCO.at(),
    )
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "timeconst and impedance make contacts compliant",
        "restitution": "follows from dampratio, not a parameter",
        "sticking": "friction is regularized: a loaded contact creeps",
        "no lift": "the cone is convex in all three components: sliding lifts",
        "spring": "stiffness is an acceleration per depth, scaled by impedance",
    }

    uses_free_mobility: ClassVar[bool] = True
    contact_memory: ClassVar[int] = 3  # the last impulse: the warm start

    mu: Value = friction(1.0)
    timeconst: Value = parameter(0.02, "s", "time constant of a_ref, at least 2 dt", "(0, inf)")
    dampratio: Value = parameter(1.0, "[1]", "damping ratio of a_ref", "(0, inf)")
    d_min: Value = parameter(0.9, "[1]", "impedance at depth zero", "(0, 1)")
    d_max: Value = parameter(0.95, "[1]", "impedance at the depth `width` and beyond", "(0, 1)")
    width: Value = parameter(1e-3, "m", "depth at which the impedance is d_max", "(0, inf)")
    midpoint: Value = parameter(
        0.5, "[1]", "fraction of the width at which the impedance grows fastest", "(0, 1)"
    )
    power: Value = parameter(2.0, "[1]", "exponent of the impedance's curve", "[1, inf)")
    impratio: Value = parameter(1.0, "[1]", "ratio of the regularizations R_N and R_T", "(0, inf)")
    T_rel: Value = relative_tolerance(1e-10)
    T_abs: Value = absolute_tolerance(1e-12)

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Return timeconst / 2: for a longer step, timeconst is raised to 2 dt."""
        return {"timeconst, which is raised to 2 dt instead": float(np.min(self.timeconst)) / 2}

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        n = problem.n
        problem = replace(
            problem, active=entries(builder.store("closed", ca.vertcat(*problem.active)))
        )
        d = [impedance(contact.gap, p) for contact in problem.contacts]
        c = [missing_velocity(problem, i, d[i], p) for i in range(n)]
        # an inactive contact may be unable to move, with zero mobility
        mobility = problem.free_mobility or [problem.G[i, i][0, 0] for i in range(n)]
        mobility = [ca.if_else(problem.active[i], mobility[i], 1) for i in range(n)]
        R = [regularization(mobility[i], d[i], p) for i in range(n)]
        mu = [contact.friction * p.mu for contact in problem.contacts]
        start = [ca.if_else(problem.active[i], self.memory_of(memory, i), 0) for i in range(n)]
        outcome = _convex.minimize(HardProblem(problem, c, mu, p, builder), R, start)
        return ContactSolution(
            outcome.impulses, ca.vertcat(*outcome.impulses), outcome.iterations, outcome.converged
        )


def impedance(gap: SX, p: Any) -> SX:
    """Compute d(r), from d_min to d_max by two powers that meet at the midpoint."""
    x = ca.fmin(ca.fabs(gap) / p.width, 1)
    rising = x**p.power / p.midpoint ** (p.power - 1)
    leveling = 1 - (1 - x) ** p.power / (1 - p.midpoint) ** (p.power - 1)
    share = ca.if_else(x <= p.midpoint, rising, leveling)
    return clip_impedance(p.d_min + share * (p.d_max - p.d_min))


def missing_velocity(problem: ContactProblem, i: int, d: SX, p: Any) -> SX:
    """Compute dt (a_0 - a_ref) (3,), m/s, which the impulses of contact i must compensate."""
    contact, dt = problem.contacts[i], problem.dt
    time = clip_impedance(p.d_max) * ca.fmax(p.timeconst, 2 * dt)
    stiffness = 1 / (time * p.dampratio) ** 2
    reference = -dt * (2 / time * contact.velocity + ca.vertcat(stiffness * d * contact.gap, 0, 0))
    return problem.free[i] - contact.velocity - reference


def regularization(A_NN: SX, d: SX, p: Any) -> SX:
    """Compute R_N and R_T (2,), 1/kg."""
    R = (1 - d) / d * A_NN
    return ca.vertcat(R, R / p.impratio)


def clip_impedance(d: SX) -> SX:
    """Clip an impedance to the bounds that keep R positive and finite."""
    return ca.fmin(ca.fmax(d, MIN_IMPEDANCE), MAX_IMPEDANCE)
