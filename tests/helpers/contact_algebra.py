"""A contact law on contact problems that are given as numbers, without a robot."""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from tarsus.contact.base import Law, symbols
from tarsus.contact.problem import Contact, ContactProblem, VelocityForm
from tarsus.program.ir.blocks import Program
from tarsus.program.ir.trace import Builder


@cache
def algebra(law: Law, n: int) -> Program:
    """The law on one problem of n contacts a world.

    Parameters: G (9 n^2,), free (3n,), before (3n,), gap (n,), dt, and the law's as law.*; results:
    impulse (3n,), memory, iterations, converged.
    """
    b = Builder("algebra")
    flat = b.parameter("G", 9 * n * n)
    delassus = ca.reshape(flat, 3 * n, 3 * n)
    free, before, gap = (
        b.parameter(name, size) for name, size in (("free", 3 * n), ("before", 3 * n), ("gap", n))
    )
    memory, dt = b.declare("memory", law.memory_size(n)), b.parameter("dt")
    p = symbols({name: b.parameter(f"law.{name}") for name in law.parameters()})
    at = [slice(3 * i, 3 * i + 3) for i in range(n)]
    contacts = [Contact(gap[i], before[at[i]], SX.zeros(3), SX.eye(3)) for i in range(n)]
    problem = ContactProblem(
        contacts=contacts,
        active=[law.closed(contact, law.own(memory, i)) for i, contact in enumerate(contacts)],
        free=[free[a] for a in at],
        dt=dt,
        make_delassus=lambda: {(i, j): delassus[at[i], at[j]] for i in range(n) for j in range(n)},
        make_velocity_form=lambda: VelocityForm(SX(0), SX(0), SX(0)),
    )
    found = law.solve(problem, p, memory, b)
    return b.program(
        impulse=found.stacked(),
        memory=found.memory,
        iterations=found.iterations,
        converged=found.converged,
    )
