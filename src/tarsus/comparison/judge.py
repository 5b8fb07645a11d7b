"""`tarsus judge`: the report card of every law for a run made elsewhere, from its arrays and the
robot alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import xarray as xr
from casadi import SX
from numpy.typing import NDArray

from tarsus import robots
from tarsus.comparison.trajectory import Trajectory, arrays_of, read, trajectory
from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.contact.ledger import SHARES, ledger
from tarsus.dynamics import energy, energy_balance, jacobian, rnea
from tarsus.dynamics.free_motion import Drive, armature, residual_force
from tarsus.dynamics.kinematics import Kinematics, displaced, kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.program.ir.blocks import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.samples import evaluate
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
NEEDS_FRICTION = ("cone_Ns", "dissipation_J", "creep_m_per_s")


def judge(
    run: str | Path | Mapping[str, Any] | xr.Dataset,
    robot: Robot | str | None = None,
    friction: float | None = None,
) -> dict[str, Any]:
    """The report card of a run: a file (.npz, .nc), its arrays by name, or a log; docs/judge.md has
    the format.

    robot: a Robot, a built-in one's name or a model file; a log of ours knows its own. friction:
    mu, if the run does not say. Returns residuals by the yardstick (None: cannot be judged,
    `not_judged` says why), penetration_max (m), creep_max (m/s), normal_force_max (N) and the
    energy ledger (J). TarsusError in one sentence if the run is unfit.
    """
    given = read(Path(run)) if isinstance(run, str | Path) else run
    name = given.attrs.get("robot") if robot is None and isinstance(given, xr.Dataset) else robot
    if name is None:
        raise TarsusError(
            "say which robot this is a run of: a built-in one's name, or its MJCF or URDF file."
        )
    whose = name if isinstance(name, Robot) else robots.load(name)
    arrays = dict(arrays_of(given, whose) if isinstance(given, xr.Dataset) else given)
    if friction is not None:
        arrays["mu"] = friction
    return report(trajectory(arrays, whose))


def report(run: Trajectory) -> dict[str, Any]:
    """The report card of a checked run."""
    solved, seen = witnessed(run)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = float(seen["residual"].max())
    reasons: dict[str, str] = {}
    if run.mu is None:
        reasons |= dict.fromkeys(NEEDS_FRICTION, "no friction coefficient mu is given")
    if run.motors is None:
        reasons["equation_N"] = reasons["energy"] = (
            "no qfrc_actuator is given: the motors' forces are not known"
        )
    elif run.stages > 1:
        reasons["equation_N"] = "several evaluations a step: no single balance of momentum holds"
    residuals |= dict.fromkeys((name for name in reasons if name in residuals), None)
    return {
        "robot": run.robot.name,
        "steps": run.steps,
        "dt": run.dt,
        "duration": run.steps * run.dt,
        "contacts": len(run.bodies),
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "normal_force_max": float(solved.impulse[..., 0].max(initial=0.0)) / run.dt,
        "residuals": residuals,
        "energy": None if run.motors is None else _energy(run, solved, seen),
        "not_judged": reasons,
    }


def witnessed(run: Trajectory) -> tuple[Solved, dict[str, Array]]:
    """The contact problems and solutions of a run, and what else its robot tells of each step."""
    still = np.zeros((run.steps, run.robot.nu))
    given = {
        "q0": run.q[:-1],
        "q1": run.q[1:],
        "u0": run.u[:-1],
        "u1": run.u[1:],
        "dt": np.full((run.steps, 1), run.dt),
        "motors": still if run.motors is None else run.motors,
        "normal": run.normal,
        "force": run.force,
    }
    given |= {
        name: value
        for name, value in (("passive", run.passive), ("point", run.point))
        if value is not None
    }
    seen = evaluate(
        witness(run), {name: value.reshape(run.steps, -1) for name, value in given.items()}
    )
    frames = _frames(run.normal)
    shape = (run.steps, len(run.bodies), 3)
    contact = [run.dt * run.force, seen["before"].reshape(shape), seen["after"].reshape(shape)]
    impulse, before, after = (np.einsum("snij,snj->sni", frames, vectors) for vectors in contact)
    gap = seen["gap"] if run.gap is None else run.gap
    material = {"mu": 0.0 if run.mu is None else run.mu, "e_N": run.e_N, "e_T": run.e_T}
    return Solved(gap, impulse, before, after, tolerance=run.tolerance, dt=run.dt, **material), seen


def witness(run: Trajectory) -> Program:
    """From a step's start, end and forces to contact velocities (world), gaps, energies, works and
    the residual.
    """
    robot, n = run.robot, len(run.bodies)
    b = Builder(f"{robot.name}_witness")
    q0, u0 = b.parameter("q0", robot.nq), b.parameter("u0", robot.nu)
    q1, u1 = b.parameter("q1", robot.nq), b.parameter("u1", robot.nu)
    dt, motors = b.parameter("dt"), b.parameter("motors", robot.nu)
    normal, force = b.parameter("normal", 3 * n), b.parameter("force", 3 * n)
    point = None if run.point is None else b.parameter("point", 3 * n)
    inertias = rnea.body_inertias(robot)
    start, end = kinematics(robot, q0, u0), kinematics(robot, q1, u1)
    q = displaced(robot, q0, u0, run.instant * dt) if run.instant else q0
    kin = kinematics(robot, q, u0)

    rate = (u1 - u0) / dt
    needed = residual_force(kin, inertias, Drive(motors), u1, dt)
    joints = energy_balance.joint_work(kin, inertias, u1, dt)
    if run.passive is not None:
        passive = b.parameter("passive", robot.nu)
        needed = (
            rnea.inverse_dynamics(kin, inertias, rate) + armature(robot) * rate - motors - passive
        )
        joints = energy_balance.work(passive, kin, u1, dt)
    gaps, before, after = [SX(0, 1)], [SX(0, 1)], [SX(0, 1)]
    for i in range(n):
        at = slice(3 * i, 3 * i + 3)
        place, gap = _place(run, kin, i, normal[at], None if point is None else point[at])
        J = jacobian.dense(jacobian.point_jacobian(kin, run.bodies[i], place), robot.nu)
        gaps.append(gap)
        before.append(ca.mtimes(J, u0))
        after.append(ca.mtimes(J, u1))
        needed -= ca.mtimes(J.T, force[at])
    drift = energy_balance.integration_drift(kin, start, end, inertias, dt)
    return b.program(
        gap=ca.vertcat(*gaps),
        before=ca.vertcat(*before),
        after=ca.vertcat(*after),
        energy_before=energy.kinetic_energy(start, inertias)
        + energy.potential_energy(start, inertias),
        energy=energy.kinetic_energy(end, inertias) + energy.potential_energy(end, inertias),
        motors_work=energy_balance.work(motors, kin, u1, dt),
        joints_work=joints,
        drift=drift + (energy_balance.work(needed, kin, u1, dt) if run.stages > 1 else 0),
        residual=ca.norm_inf(needed),
    )


def _place(run: Trajectory, kin: Kinematics, i: int, normal: SX, point: SX | None) -> tuple[SX, SX]:
    """Where contact i stands in its body's frame (3,), and its gap to the ground z = 0 if it is a
    candidate.
    """
    body = run.bodies[i]
    if point is not None:
        from_body = point - jacobian.position(kin, body, SX.zeros(3))
        return jacobian.direction_in_body(kin, body, from_body), SX(0)
    candidate = run.robot.candidates[i]
    center = jacobian.position(kin, body, constant(candidate.position))
    lowest = constant(candidate.position) - candidate.radius * jacobian.direction_in_body(
        kin, body, normal
    )
    return lowest, ca.dot(normal, center) - candidate.radius


def _frames(normal: Array) -> Array:
    """Contact frames (..., 3, 3), rows normal and two tangents; no criterion depends on how the
    tangents turn.
    """
    helper = np.where(np.abs(normal[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = helper - np.sum(helper * normal, -1, keepdims=True) * normal
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = np.asarray(np.cross(normal, first), dtype=float)
    return np.stack([normal, first, second], -2)


def _energy(run: Trajectory, solved: Solved, seen: dict[str, Array]) -> dict[str, float]:
    """Totals of the energy ledger, J; what the run's forces leave of the change of energy is
    `unbalanced`.
    """
    entries = ledger(solved)
    shares = {share: getattr(entries, share).sum(1) for share in SHARES}
    shares |= {
        "motors": seen["motors_work"][:, 0],
        "joints": seen["joints_work"][:, 0],
        "drift": seen["drift"][:, 0],
    }
    change = seen["energy"][:, 0] - seen["energy_before"][0, 0]
    missed = np.abs(change - np.cumsum(sum(shares.values())))
    totals = {name: float(value.sum()) for name, value in shares.items()}
    return totals | {"change": float(change[-1]), "unbalanced": float(missed.max())}
