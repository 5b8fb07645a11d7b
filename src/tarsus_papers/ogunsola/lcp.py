"""The LCP of contact forces, Eqn. (3), compared with an independent solution (Ogunsola)."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import numpy as np

from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drop_runs import QUICK, STANCE, DropRun, drops, simulate_drops
from tarsus_papers.ogunsola.drops import CASES, DT, FEET, Array, load_hyq, normal, normal_rows

STENCIL = 1e-4  # s: step of the differences of T along the motion
FRICTIONLESS = tuple(k for k, case in enumerate(CASES) if case.mu == 0 and case.e == 0)
STEPS = (4 * DT, 2 * DT, DT)


class Lcp(Exhibit):
    """Complementarity of all steps, and the paper's problem solved by trying all sets of feet."""

    name: ClassVar[str] = "lcp"
    title: ClassVar[str] = "The linear complementarity problem of contact forces"
    location: ClassVar[str] = "Eqn. (3)"
    description: ClassVar[str] = (
        "Eqn. (3) requires separation accelerations M lambda + d and forces lambda of the feet that"
        " are not negative and complementary. Each step without an impact is checked with the"
        " logged motion only: the normal velocity of a foot at the end of the step, from"
        " Jacobians that are not part of the law, must vanish for a closed contact and must not"
        " approach for an open one. Then (3) is solved as printed at the start of each step by"
        " trying all sets of closed contacts; the law's mean force over a step converges to it as"
        " dt shrinks."
    )

    def measure(self, task: Task) -> Finding:
        # complementarity in the run shared by all parts
        run = drops(task.quick)
        results = {k: _complementarity(run, k) for k in FRICTIONLESS}
        # the printed problem, at several step sizes
        errors: dict[str, float] = {}
        for dt in STEPS[-2:] if task.quick else STEPS:
            task.on_progress(f"all sets of feet, dt {1e3 * dt:g} ms")
            errors[f"{1e3 * dt:g}"] = _distance_from_all_sets(simulate_drops(QUICK, dt))
        # checks
        pulls = min(float(run.force.min()), 0.0)
        product = max(c["product"] for c in results.values())
        approach = max(c["approach"] for c in results.values())
        last = list(errors.values())
        checks = [
            Check("no contact ever pulls, in any case", pulls >= 0, f"least force {pulls:g} N"),
            Check("complementary to 1e-12, relative", product < 1e-12, f"{product:.1e}"),
            Check("no resting foot approaches, to 1e-12, relative", approach < 1e-12,
                  f"{approach:.1e}"),
            Check(
                "half the step halves the distance from (3) at an instant",
                1.7 < last[-2] / last[-1] < 2.3,
                f"{last[-2] / last[-1]:.2f} times less",
            ),
        ]  # fmt: skip
        columns = ("case", "steps with a closed contact", "largest product", "largest approach")
        rows = [
            (f"{CASES[k].scenario.name}, {CASES[k].name}", c["steps"], c["product"], c["approach"])
            for k, c in results.items()
        ]
        tables = [
            Table(
                "Complementarity, relative to the terms that cancel in a foot's velocity",
                columns,
                rows,
            ),
            Table(
                "Mean relative distance of forces from (3) at the start of the step",
                ("step / ms", "distance"),
                list(errors.items()),
            ),
        ]
        quiet = [row[0] for row in rows if not row[1]]
        notes = [
            f"{name}: no contact stays closed for two steps within {STANCE:g} s of the landing."
            for name in quiet
        ]
        return Finding({"complementarity": results, "errors": errors}, (), tables, checks, notes)


def _complementarity(run: DropRun, world: int) -> dict[str, float]:
    """Return the largest |zeta lambda| and -zeta of closed contacts, in steps without an impact.

    Free legs count only shortly after the landing. zeta is the normal velocity at the end of the
    step, from T at its middle and half a step of its change. It is relative to the terms that
    cancel in it: |T u| of all joints, and its change by all forces.
    """
    # steps without an impact, after a step without one
    feet = [run.contacts.index(foot) for foot in FEET]
    force, q, u = run.force[:, world][:, feet], run.q[:, world], run.u[:, world]
    early = run.time < CASES[world].scenario.fall_time + STANCE
    quiet = ~run.has_impact[:, world] & (early | CASES[world].legs_held)
    steps = np.nonzero(quiet[1:] & quiet[:-1] & (force[:-1] > 0).any(axis=1))[0] + 1
    # normal velocities of the feet at their ends
    up = normal(CASES[world].scenario.ground)
    middle = load_hyq().integrate(q[steps - 1], u[steps - 1], run.dt / 2)
    T = normal_rows(load_hyq(), middle, up)
    ends = np.einsum("sij,sj->si", T, u[steps])
    ends += run.dt / 2 * _velocity_product(middle, u[steps - 1], up)
    # compared with the forces
    before, now = force[steps - 1] > 0, force[steps]
    M = T @ np.linalg.inv(load_hyq().mass_matrix(middle)) @ np.swapaxes(T, 1, 2)
    scale = np.einsum("sij,sj->si", np.abs(T), np.abs(u[steps]))
    scale += run.dt * np.einsum("sij,sj->si", np.abs(M), now)
    pressed, rests = before & (now > 0), before & (now == 0)
    return {
        "steps": len(steps),
        "product": float((np.abs(ends)[pressed] / scale[pressed]).max(initial=0.0)),
        "approach": float((-ends[rests] / scale[rests]).max(initial=0.0)),
    }


def _velocity_product(q: Array, u: Array, up: Array) -> Array:
    """Return dT^T/dt u, (steps, feet), in m/s^2: T^T u differentiated with u constant."""

    def velocity(after: float) -> Array:
        moved = load_hyq().integrate(q, u, after)
        return np.einsum("sij,sj->si", normal_rows(load_hyq(), moved, up), u)

    difference = velocity(STENCIL) - velocity(-STENCIL)
    return (8 * difference - velocity(2 * STENCIL) + velocity(-2 * STENCIL)) / (12 * STENCIL)


def _distance_from_all_sets(run: DropRun) -> float:
    """Return the relative distance of mean forces of steps from Eqn. (3) at their starts.

    These are steps shortly after the landing, with the same closed contacts as in the step before.
    """
    distance, size = 0.0, 0.0
    for world in FRICTIONLESS:
        # steps
        force, up = run.force[:, world], normal(CASES[world].scenario.ground)
        same = ((force[1:] > 0) == (force[:-1] > 0)).all(axis=1) & (force[1:] > 0).any(axis=1)
        early = run.time[1:] < CASES[world].scenario.fall_time + STANCE
        valid = same & early & ~run.has_impact[1:, world] & ~run.has_impact[:-1, world]
        steps = np.nonzero(valid)[0] + 1
        # Eqn. (3) at their starts
        q, u = run.q[steps - 1, world], run.u[steps - 1, world]
        T, product = normal_rows(load_hyq(), q, up), _velocity_product(q, u, up)
        inverse = np.linalg.inv(load_hyq().mass_matrix(q))
        rest = np.einsum("sij,sj->si", inverse, _applied_forces(q, u, run.tau[steps, world]))
        M = T @ inverse @ np.swapaxes(T, 1, 2)
        d = np.einsum("sij,sj->si", T, rest) + product
        # its solutions, compared with the forces of the law
        for k, step in enumerate(steps):
            on = force[step - 1] > 0
            expected = solve_by_enumeration(M[k][np.ix_(on, on)], d[k][on])
            distance += float(np.abs(expected - force[step, on]).sum())
            size += float(expected.sum())
    return distance / size


def _applied_forces(q: Array, u: Array, tau: Array) -> Array:
    """Return tau - C, (steps, nu): motors, joint damping, gravity and velocity terms."""
    robot, force = load_hyq(), -load_hyq().bias(q, u)
    for body, indices in zip(robot.bodies, robot.u_slices, strict=True):
        force[:, indices] -= body.joint.damping * u[:, indices]
    for k, motor in enumerate(robot.actuators):
        force[:, robot.u_slices[robot.joint_index(motor.joint)].start] += tau[:, k]
    return force


def solve_by_enumeration(M: Array, d: Array) -> Array:
    """Return forces of Eqn. (3) by trying all sets of closed contacts; the first that fits."""
    for chosen in product((True, False), repeat=len(d)):
        on, forces = np.array(chosen, bool), np.zeros(len(d))
        forces[on] = np.linalg.solve(M[np.ix_(on, on)], -d[on])
        if (forces >= 0).all() and (M @ forces + d >= -1e-9).all():
            return forces
    raise ArithmeticError("the problem has no solution.")
