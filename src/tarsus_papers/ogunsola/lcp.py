"""The LCP of contact forces, Eqn. (3), held against an independent solution (Ogunsola)."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import numpy as np

from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drops import CASES, DT, FEET, Array, hyq, normal, normal_rows
from tarsus_papers.ogunsola.watch import QUICK, STANCE, DropRun, drops, watched

PROBE = 1e-4  # s: half the stencil by which T is differentiated along the motion
SMOOTH = tuple(k for k, case in enumerate(CASES) if case.mu == 0 and case.e == 0)
STEPS = (4 * DT, 2 * DT, DT)


class Lcp(Exhibit):
    """Complementarity of all steps, and the paper's problem solved by trying every set of feet."""

    name: ClassVar[str] = "lcp"
    title: ClassVar[str] = "The linear complementarity problem of contact forces"
    where: ClassVar[str] = "Eqn. (3)"
    about: ClassVar[str] = (
        "Eqn. (3): separation accelerations M lambda + d and forces lambda of the feet, both at"
        " least 0 and complementary. Every step without a strike is looked at again from the"
        " logged motion alone: the feet's normal velocity at the step's end, from Jacobians that"
        " are no part of the law, must vanish where a foot presses, and must not approach where"
        " it does not. Then (3) as printed is solved at the start of each step by trying all sets"
        " of pressing feet; the law's mean force over a step comes to it as dt shrinks."
    )

    def measure(self, task: Task) -> Finding:
        # complementarity in the run that all parts look at
        run = drops(task.quick)
        found = {k: _complementarity(run, k) for k in SMOOTH}
        # the printed problem, at several steps
        errors: dict[str, float] = {}
        for dt in STEPS[-2:] if task.quick else STEPS:
            task.tell(f"all sets of feet, dt {1e3 * dt:g} ms")
            errors[f"{1e3 * dt:g}"] = _against_all_sets(watched(QUICK, dt))
        # in words
        pulls = min(float(run.force.min()), 0.0)
        product = max(c["product"] for c in found.values())
        approach = max(c["approach"] for c in found.values())
        last = list(errors.values())
        checks = [
            Check("no contact ever pulls, in any case", pulls >= 0, f"least force {pulls:g} N"),
            Check("complementary to 1e-12 relative", product < 1e-12, f"{product:.1e}"),
            Check("no resting foot approaches, to 1e-12 relative", approach < 1e-12,
                  f"{approach:.1e}"),
            Check(
                "half the step, half the distance from (3) at an instant",
                1.7 < last[-2] / last[-1] < 2.3,
                f"{last[-2] / last[-1]:.2f} times less",
            ),
        ]  # fmt: skip
        columns = ("case", "steps with a pressing foot", "largest product", "largest approach")
        rows = [
            (f"{CASES[k].scenario.name}, {CASES[k].name}", c["steps"], c["product"], c["approach"])
            for k, c in found.items()
        ]
        tables = [
            Table(
                "Complementarity, relative to what cancels in a foot's velocity",
                columns,
                rows,
            ),
            Table(
                "Mean distance of forces from (3) at the step's start, of those forces",
                ("step / ms", "distance"),
                list(errors.items()),
            ),
        ]
        quiet = [row[0] for row in rows if not row[1]]
        notes = [
            f"{name}: no foot presses from one step to the next within {STANCE:g} s of the landing."
            for name in quiet
        ]
        return Finding({"complementarity": found, "errors": errors}, (), tables, checks, notes)


def _complementarity(run: DropRun, world: int) -> dict[str, float]:
    """The largest |zeta lambda| and -zeta of feet that pressed before, in steps without a strike
    (of free legs, soon after the landing).

    zeta: normal velocity at the step's end, from T at its middle and half a step of its change;
    relative to what cancels in it, |T u| of all joints and what all forces change of it.
    """
    # steps whose predecessor had no strike either
    feet = [run.contacts.index(foot) for foot in FEET]
    force, q, u = run.force[:, world][:, feet], run.q[:, world], run.u[:, world]
    early = run.time < CASES[world].scenario.fall + STANCE
    quiet = ~run.struck[:, world] & (early | CASES[world].held)
    steps = np.nonzero(quiet[1:] & quiet[:-1] & (force[:-1] > 0).any(axis=1))[0] + 1
    # the feet's normal velocities at their ends
    up = normal(CASES[world].scenario.ground)
    middle = hyq().integrate(q[steps - 1], u[steps - 1], run.dt / 2)
    T = normal_rows(hyq(), middle, up)
    ends = np.einsum("sij,sj->si", T, u[steps])
    ends += run.dt / 2 * _turning(middle, u[steps - 1], up)
    # held against the forces
    before, now = force[steps - 1] > 0, force[steps]
    M = T @ np.linalg.inv(hyq().mass_matrix(middle)) @ np.swapaxes(T, 1, 2)
    scale = np.einsum("sij,sj->si", np.abs(T), np.abs(u[steps]))
    scale += run.dt * np.einsum("sij,sj->si", np.abs(M), now)
    pressed, rests = before & (now > 0), before & (now == 0)
    return {
        "steps": len(steps),
        "product": float((np.abs(ends)[pressed] / scale[pressed]).max(initial=0.0)),
        "approach": float((-ends[rests] / scale[rests]).max(initial=0.0)),
    }


def _turning(q: Array, u: Array, up: Array) -> Array:
    """dT^T/dt u (steps, feet), m/s^2: T^T u differentiated along the motion with u held."""

    def velocity(after: float) -> Array:
        there = hyq().integrate(q, u, after)
        return np.einsum("sij,sj->si", normal_rows(hyq(), there, up), u)

    near = velocity(PROBE) - velocity(-PROBE)
    return (8 * near - velocity(2 * PROBE) + velocity(-2 * PROBE)) / (12 * PROBE)


def _against_all_sets(run: DropRun) -> float:
    """Distance of the mean forces of steps from Eqn. (3) at their starts, of those forces.

    Steps soon after the landing in which the same feet press as in the step before.
    """
    off, size = 0.0, 0.0
    for world in SMOOTH:
        # the steps
        force, up = run.force[:, world], normal(CASES[world].scenario.ground)
        same = ((force[1:] > 0) == (force[:-1] > 0)).all(axis=1) & (force[1:] > 0).any(axis=1)
        early = run.time[1:] < CASES[world].scenario.fall + STANCE
        calm = same & early & ~run.struck[1:, world] & ~run.struck[:-1, world]
        steps = np.nonzero(calm)[0] + 1
        # Eqn. (3) at their starts
        q, u = run.q[steps - 1, world], run.u[steps - 1, world]
        T, product = normal_rows(hyq(), q, up), _turning(q, u, up)
        inverse = np.linalg.inv(hyq().mass_matrix(q))
        rest = np.einsum("sij,sj->si", inverse, _applied(q, u, run.tau[steps, world]))
        M = T @ inverse @ np.swapaxes(T, 1, 2)
        d = np.einsum("sij,sj->si", T, rest) + product
        # its solutions, and the law's forces
        for k, step in enumerate(steps):
            on = force[step - 1] > 0
            wanted = all_sets(M[k][np.ix_(on, on)], d[k][on])
            off += float(np.abs(wanted - force[step, on]).sum())
            size += float(wanted.sum())
    return off / size


def _applied(q: Array, u: Array, tau: Array) -> Array:
    """tau - C (steps, nu): motors, joint damping, gravity and velocity terms."""
    robot, force = hyq(), -hyq().bias(q, u)
    for body, where in zip(robot.bodies, robot.u_slices, strict=True):
        force[:, where] -= body.joint.damping * u[:, where]
    for k, motor in enumerate(robot.actuators):
        force[:, robot.u_slices[robot.joint_index(motor.joint)].start] += tau[:, k]
    return force


def all_sets(M: Array, d: Array) -> Array:
    """Forces of Eqn. (3) by trying every set of pressing feet; the first that fits."""
    for chosen in product((True, False), repeat=len(d)):
        on, forces = np.array(chosen, bool), np.zeros(len(d))
        forces[on] = np.linalg.solve(M[np.ix_(on, on)], -d[on])
        if (forces >= 0).all() and (M @ forces + d >= -1e-9).all():
            return forces
    raise ArithmeticError("the problem has no solution.")
