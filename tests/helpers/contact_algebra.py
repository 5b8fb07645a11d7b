"""Contact laws on contact problems that are given as numbers, without a robot."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import Law, symbols
from tarsus.contact.problem import Contact, ContactProblem, VelocityForm
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds

Array = NDArray[np.float64]


@cache
def algebra(law: Law, n: int, lying: bool = False) -> Program:
    """The law on one problem of n contacts a world; lying: as of a robot that has fallen.

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
        active=[
            law.considers_closed(contact, law.memory_of(memory, i))
            for i, contact in enumerate(contacts)
        ],
        free=[free[a] for a in at],
        dt=dt,
        make_delassus=lambda: {(i, j): delassus[at[i], at[j]] for i in range(n) for j in range(n)},
        make_velocity_form=lambda: VelocityForm(SX(0), SX(0), SX(0)),
    )
    if lying:
        return _lying(law, problem, p, memory, b)
    found = law.solve(problem, p, memory, b)
    return b.program(
        impulse=found.stack(),
        memory=found.memory,
        iterations=found.iterations,
        converged=found.converged,
    )


def _lying(law: Law, problem: ContactProblem, p: Any, memory: SX, b: Builder) -> Program:
    """Solve by the law in cold code."""
    empty = {"impulse": SX.zeros(3 * problem.n), "iterations": SX(0), "converged": SX(0)}

    def step(_: Values) -> tuple[Values, SX]:
        found = law.solve(problem, p, memory, b)
        last = {"iterations": found.iterations, "converged": found.converged}
        return {"impulse": found.stack(), "memory": found.memory, **last}, SX(0)

    return b.program(**b.cold_loop(empty | {"memory": memory}, step, 1, SX(1)))


def solved(
    law: Law, delassus: Array, free: Array, before: Array, lying: bool = False
) -> tuple[Array, NDArray[np.bool_]]:
    """Impulses (worlds, n, 3) of closed contacts, and whether each world was settled; lying: as of
    robots that have fallen.
    """
    count, size = free.shape
    worlds = Worlds(algebra(law, size // 3, lying), count)
    values: dict[str, Array] = {"G": delassus.reshape(count, -1), "free": free, "before": before}
    values |= {
        f"law.{name}": np.full((count, 1), value) for name, value in law.parameters().items()
    }
    for name, value in (
        values | {"gap": np.full((count, size // 3), -1e-3), "dt": np.full((count, 1), 1e-3)}
    ).items():
        worlds.set(name, value)
    worlds.advance()
    return worlds.get("impulse").reshape(count, -1, 3).copy(), worlds.get("converged")[:, 0] > 0


def problems(seed: int, count: int, n: int, rank: int) -> tuple[Array, Array]:
    """Delassus matrices (count, 3n, 3n) and free velocities (count, 3n) of bodies with `rank`
    degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 3 * n, rank)) / np.sqrt(rank)
    return np.einsum("wik,wjk->wij", A, A), np.einsum(
        "wik,wk->wi", A, rng.normal(size=(count, rank))
    )
