"""`tarsus judge`: a run made elsewhere, measured by the criteria that judge every law.

It needs the run's arrays and the robot alone. The expressions are those of Tarsus's own logs,
`simulation.recording.step_observables`.
"""

from __future__ import annotations

import hashlib
import json
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
from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.free_motion import Drive
from tarsus.dynamics.kinematics import Kinematics, displaced, kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, shortened
from tarsus.model.files import file_bytes, is_file
from tarsus.program.ir.blocks import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.samples import evaluate
from tarsus.simulation.recording.step_observables import (
    Acting,
    ObservedContact,
    ObservedStep,
    energy_totals,
    step_observables,
)
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
NEEDS_FRICTION = ("cone_Ns", "dissipation_J", "creep_m_per_s")


def judge(
    run: str | Path | Mapping[str, Any] | xr.Dataset,
    robot: Robot | str | Path | None = None,
    friction: float | None = None,
) -> dict[str, Any]:
    """The report card of a run: a file (.npz, .nc), its arrays by name, or a log.

    docs/judge.md has the format.

    robot: a Robot, the name of a built-in one, or a model file; not needed for a log of
        Tarsus, which names its own.
    friction: coefficient mu [1], if the run does not hold it.

    Returns a dictionary:

    residuals: violations of the contact conditions; None: cannot be judged.
    not_judged: why not, by the name of the residual.
    penetration_max: m.
    creep_max: m/s.
    normal_force_max: N.
    energy: the energy ledger, J.

    Raises TarsusError, in one sentence, if the arrays are inconsistent.
    """
    # whose run is it?
    given = read(Path(run)) if isinstance(run, str | Path) else run
    whose = robot if isinstance(robot, Robot) else robots.load(robot) if robot else _robot_of(given)
    # the run in the format of the report
    arrays = dict(arrays_of(given, whose) if isinstance(given, xr.Dataset) else given)
    if friction is not None:
        arrays["mu"] = friction
    return report(trajectory(arrays, whose))


def _robot_of(run: Mapping[str, Any] | xr.Dataset) -> Robot:
    """The robot that a log names; TarsusError if its file is no longer what it was."""
    attrs = run.attrs if isinstance(run, xr.Dataset) else {}
    name, file = str(attrs.get("robot", "")), Path(str(attrs.get("robot_file", "")))
    if not name:
        raise TarsusError(
            "say which robot this is a run of: a built-in one's name, or its MJCF or URDF file."
        )
    if file == Path():
        return _loaded(name, attrs)
    if not is_file(file):
        raise TarsusError(f"the log's robot file {file} is not there: name it (--robot FILE).")
    digest = attrs.get("robot_sha256")
    if digest and hashlib.sha256(file_bytes(file)).hexdigest() != digest:
        raise TarsusError(
            f"{file} has changed since the run: name the file that was simulated (--robot FILE)."
        )
    return _loaded(file, attrs)


def _loaded(source: str | Path, attrs: Mapping[str, Any]) -> Robot:
    """The robot with the options that a log names."""
    told = str(attrs.get("robot_options", "{}"))
    try:
        return robots.load(source, **json.loads(told))
    except TarsusError:
        raise
    except (TypeError, ValueError):  # no JSON object, or no option of this robot
        raise TarsusError(
            f"the log's robot_options are none of {source}, {shortened(told)}: name the robot"
            " (--robot)."
        ) from None


def report(run: Trajectory) -> dict[str, Any]:
    """The report card of a checked run."""
    # everything that can be computed
    solved, seen = solved_steps(run)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = float(seen["residual"].max())

    # what the run does not hold cannot be judged
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
        "energy": None if run.motors is None else _energy(solved, seen),
        "not_judged": reasons,
    }


def solved_steps(run: Trajectory) -> tuple[Solved, dict[str, Array]]:
    """The contact problems and solutions of a run, and the reports of `judged_program`."""
    # the run's forces and normals, in contact frames
    n, frames = len(run.bodies), _frames(run.normal)
    impulse = np.einsum("snij,snj->sni", frames, run.dt * run.force)
    unknown = np.zeros((run.steps, run.robot.nu))
    given = {
        "q0": run.q[:-1],
        "q1": run.q[1:],
        "u0": run.u[:-1],
        "u1": run.u[1:],
        "dt": np.full((run.steps, 1), run.dt),
        "motors": unknown if run.motors is None else run.motors,
        "frame": frames,
        "impulse": impulse,
    }
    optional = {"passive": run.passive, "point": run.point}
    given |= {name: value for name, value in optional.items() if value is not None}

    # what the robot tells of every step
    samples = {name: value.reshape(run.steps, -1) for name, value in given.items()}
    seen = evaluate(judged_program(run), samples)
    before, after = (seen[name].reshape(run.steps, n, 3) for name in ("before", "after"))
    gap = seen["gap"] if run.gap is None else run.gap
    material = {"mu": 0.0 if run.mu is None else run.mu, "e_N": run.e_N, "e_T": run.e_T}
    if run.correction is not None:
        material["correction"] = run.correction
    return Solved(gap, impulse, before, after, tolerance=run.tolerance, dt=run.dt, **material), seen


def judged_program(run: Trajectory) -> Program:
    """The program that observes one step of a run; its reports are those of `step_observables`.

    Parameters: q0, u0 at the start; q1, u1 at the end; motors, and passive if the run has them,
    (nu,), N or N m; frame (9n,), the contact frames row by row; impulse (3n,) in them, N s; point
    (3n,), m, if the run has them.
    """
    robot, n = run.robot, len(run.bodies)

    # parameters
    b = Builder(f"{robot.name}_judged")
    q0, u0 = b.parameter("q0", robot.nq), b.parameter("u0", robot.nu)
    q1, u1 = b.parameter("q1", robot.nq), b.parameter("u1", robot.nu)
    dt, motors = b.parameter("dt"), b.parameter("motors", robot.nu)
    frame, impulse = b.parameter("frame", 9 * n), b.parameter("impulse", 3 * n)
    point = None if run.point is None else b.parameter("point", 3 * n)
    passive = None if run.passive is None else b.parameter("passive", robot.nu)

    # the robot where the step looked, and its contacts there
    q = displaced(robot, q0, u0, run.instant * dt) if run.instant else q0
    seen, contacts = kinematics(robot, q, u0), []
    for i in range(n):
        axes = ca.reshape(frame[9 * i : 9 * i + 9], 3, 3).T
        at = None if point is None else point[3 * i : 3 * i + 3]
        place, gap = _place(run, seen, i, axes[0, :].T, at)
        world = jacobian.dense(jacobian.point_jacobian(seen, run.bodies[i], place), robot.nu)
        rows = ca.mtimes(axes, world)
        contacts.append(ObservedContact(gap, rows, ca.mtimes(rows, u0)))

    # the criteria
    nothing = SX.zeros(robot.nu)
    step = ObservedStep(
        start=kinematics(robot, q0, u0),
        seen=seen,
        end=kinematics(robot, q1, u1),
        inertias=rnea.body_inertias(robot),
        dt=dt,
        contacts=contacts,
        acting=Acting(Drive(motors), impulse, nothing, nothing, passive),
        one_balance=SX(run.stages <= 1),
    )
    return b.program(**step_observables(step))


def _place(run: Trajectory, kin: Kinematics, i: int, normal: SX, point: SX | None) -> tuple[SX, SX]:
    """The point (3,) of contact i in its body's frame, m, and its gap to the ground z = 0, m.

    The gap is that of the robot's candidate; 0 if the run has its own contact points.
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
    """Contact frames (..., 3, 3): rows normal and two tangents.

    No criterion depends on how the tangents are turned.
    """
    helper = np.where(np.abs(normal[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = helper - np.sum(helper * normal, -1, keepdims=True) * normal
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = np.asarray(np.cross(normal, first), dtype=float)
    return np.stack([normal, first, second], -2)


def _energy(solved: Solved, seen: dict[str, Array]) -> dict[str, float]:
    """The energy ledger of the run, J; `unbalanced` is what its forces do not explain."""
    entries = ledger(solved)
    shares = {share: getattr(entries, share) for share in SHARES}
    shares |= {share: seen[f"work_{share}"] for share in ("motors", "joints", "drift")}
    change = seen["kinetic"] + seen["potential"] - seen["energy_before"][0]
    return energy_totals(shares, change[:, 0])
