"""JOR and SOR over contacts and constraints together (Gehring 2014, Eqns. (12)-(16) and (19))."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import list_triples, triples
from tarsus.algebra.products import dot
from tarsus.contact.problem import Bilateral
from tarsus.contact.solvers._prox import project_contact
from tarsus.contact.solvers.base import HardProblem, Outcome, has_changed, is_finite, step_sizes
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries

MAX_SWEEPS = 2000  # sweeps


def iterate_with_constraints(hard: HardProblem, start: list[SX], *, successive: bool) -> Outcome:
    """Iterate over contacts and constraints, starting from the impulses of the last step.

    r = alpha / G_ll of the whole Delassus matrix. If `successive`, new impulses are used at once,
    contacts first (SOR), else all together in the next sweep (JOR).
    """
    form, n = hard.problem.bilateral, len(start)
    assert form is not None
    # the contact problem without constraints, and a step size for each unknown
    c = [hard.c[i] - hard.problem.free[i] + form.free[i] for i in range(n)]
    unconstrained = replace(hard, c=hard.builder.store_all("c_unconstrained", c))
    sizes = [size for i in range(n) for size in step_sizes(form.G[i, i], hard.p.alpha)]
    r = entries(
        hard.builder.store(
            "r", ca.vertcat(*sizes, *(hard.p.alpha / row[b] for b, row in enumerate(form.G_B)))
        )
    )
    # sweep over both until nothing changes
    begin = {
        "impulse": ca.vertcat(*start),
        "bilateral": form.start,
        "sweeps": SX(0),
        "moving": SX(1),
    }

    def sweep(values: Values) -> tuple[Values, SX]:
        old_U, old_B = entries(values["impulse"]), entries(values["bilateral"])
        new_U, new_B = _sweep(unconstrained, form, r, (old_U, old_B), successive)
        old, new = ca.vertcat(*old_U, *old_B), ca.vertcat(*new_U, *new_B)
        more = has_changed(old, new, hard.p)
        counted = {"sweeps": values["sweeps"] + 1, "moving": more}
        return {"impulse": ca.vertcat(*new_U), "bilateral": ca.vertcat(*new_B)} | counted, more

    # the result
    last = hard.builder.loop(begin, sweep, MAX_SWEEPS)
    impulses = triples(last["impulse"])
    done = ca.logic_and(ca.logic_not(last["moving"]), is_finite(entries(last["bilateral"])))
    return Outcome(impulses, last["sweeps"], done, [SX(0)] * n, last["bilateral"])


def _sweep(
    hard: HardProblem,
    form: Bilateral,
    r: list[SX],
    old: tuple[list[SX], list[SX]],
    successive: bool,
) -> tuple[list[SX], list[SX]]:
    """Compute new impulses (3n,), (nb,) given the old ones."""
    n, nb = len(hard.c), len(form.c)
    new_U, new_B = list(old[0]), list(old[1])
    L_U, L_B = (new_U, new_B) if successive else old
    for i in range(n):
        rows = slice(3 * i, 3 * i + 3)
        xi = hard.c[i] + ca.vertcat(
            *(_velocity_from_constraints(form, 3 * i + k, L_B) for k in range(3))
        )
        for j, impulse in enumerate(list_triples(L_U)):
            xi = xi + ca.mtimes(form.G[i, j], impulse)
        new_U[rows] = entries(
            project_contact(hard, i, ca.vertcat(*old[0][rows]), xi, (r[2 * i], r[2 * i + 1]))
        )
    for b in range(nb):
        # impulses that were updated last are added last: a row then waits for one product of the
        # row before it, not for a whole row of them
        others = form.c[b] + dot(form.G_B[b][b:], L_B[b:]) + dot(form.coupling[b], L_U)
        xi_b = dot(form.G_B[b][:b], L_B[:b], others)
        new_B[b] = old[1][b] - r[2 * n + b] * xi_b
    return new_U, new_B


def _velocity_from_constraints(form: Bilateral, k: int, L_B: list[SX]) -> SX:
    """Compute component k of the contacts' velocities due to the constraints' impulses."""
    return dot([row[k] for row in form.coupling], L_B)
