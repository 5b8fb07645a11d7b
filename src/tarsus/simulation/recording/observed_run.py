"""Observe the run of another engine step by step, from its states and contact forces.

`tarsus judge` and the logs of MuJoCo runs use it. The expressions are those of our own logs
(`step_observables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.criteria import SolvedContacts
from tarsus.dynamics import jacobian, loop_constraints, rnea, support_points
from tarsus.dynamics.free_motion import Drive
from tarsus.dynamics.kinematics import Kinematics, displace, kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import WORLD
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.evaluation import evaluate
from tarsus.simulation.recording.step_observables import (
    ObservedContact,
    ObservedStep,
    StepForces,
    conserved_momentum,
    step_observables,
)
from tarsus.simulation.step_program import CACHE_SIZE
from tarsus.spatial.rotation import constant
from tarsus.stepping.flight import TERMS_VELOCITY

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A checked run of S steps with n contacts."""

    robot: Robot
    """The robot that moves."""
    dt: float
    """Length of a step, s."""
    q: Array
    """Coordinates (S + 1, nq)."""
    u: Array
    """Velocities (S + 1, nu)."""
    force: Array
    """Contact forces (S, n, 3) on the robot, world, N."""
    contact_bodies: tuple[tuple[int, int], ...]
    """Body of each contact, and the body that it touches; WORLD stands for the ground."""
    normal: Array
    """Unit normals (S, n, 3), world, out of the ground."""
    point: Array | None
    """Contact points (S, n, 3), world, m; None: those of the robot's candidates."""
    correction: Array | None
    """Velocities (S, n, 3) that a hard law adds after a step, contact frame, m/s; None: zero."""
    gap: Array | None
    """Distances (S, n), m; None: those of the robot's candidates to the ground z = 0."""
    motors: Array | None
    """Generalized forces (S, nu) of the motors, N or N m; None: unknown."""
    passive: Array | None
    """Generalized forces (S, nu) of joint friction and limits; None: the robot's own damping."""
    constraint: Array | None
    """Forces (S, nb) of loop joints and mimic joints, along the rows of `loop_constraints`, N or
    N m; None: the passive forces include them."""
    mu: Array | None
    """Friction coefficients (S, n) [1]; None: unknown."""
    e_N: float
    """Normal coefficient of restitution [1]."""
    e_T: float
    """Tangential coefficient of restitution [1]."""
    tolerance: float
    """Solver tolerance of the impulses, N s."""
    instant: float
    """Fraction of the step at which the dynamics were evaluated: 0 start, 1 end [1]."""
    stages: int
    """Number of evaluations of the dynamics per step."""
    terms_velocity: Array | None = None
    """Velocities (S, nu) at which the velocity terms were evaluated; None: those before the
    steps."""
    row_interval: int = 1
    """Steps from one row to the next; above 1, the state before a step is not recorded."""

    @property
    def steps(self) -> int:
        """Number of steps S."""
        return len(self.force)


def solved_steps(run: Trajectory) -> tuple[SolvedContacts, dict[str, Array]]:
    """Compute contact problems and solutions of a run, and reports of `observer_program`.

    If the state before a step is not recorded, the velocities after it are used as those before it.
    """
    # forces in contact frames
    n, frame = len(run.contact_bodies), contact_frames(run.normal)
    impulse = np.einsum("snij,snj->sni", frame, run.dt * run.force)
    unknown = np.zeros((run.steps, run.robot.nu))
    q0, u0 = run.q[:-1], run.u[:-1]
    if run.row_interval > 1:
        q0, u0 = run.robot.integrate(run.q[1:], run.u[1:], -run.dt), run.u[1:]
    given = {
        "q0": q0,
        "q1": run.q[1:],
        "u0": u0,
        "u1": run.u[1:],
        "dt": np.full((run.steps, 1), run.dt),
        "motors": unknown if run.motors is None else run.motors,
        "frame": frame,
        "impulse": impulse,
    }
    optional = {"passive": run.passive, "point": run.point, "constraint": run.constraint}
    optional[TERMS_VELOCITY] = run.terms_velocity
    given |= {name: value for name, value in optional.items() if value is not None}

    # observe every step
    samples = {name: value.reshape(run.steps, -1) for name, value in given.items()}
    recorded = frozenset(name for name, value in optional.items() if value is not None)
    program = observer_program(run.robot, run.contact_bodies, recorded, run.instant, run.stages)
    observed = evaluate(program, samples)
    before, after = (observed[name].reshape(run.steps, n, 3) for name in ("before", "after"))
    gap = observed["gap"] if run.gap is None else run.gap
    material = {"mu": 0.0 if run.mu is None else run.mu, "e_N": run.e_N, "e_T": run.e_T}
    if run.correction is not None:
        material["correction"] = run.correction
    return SolvedContacts(
        gap, impulse, before, after, tolerance=run.tolerance, dt=run.dt, **material
    ), observed


@lru_cache(maxsize=CACHE_SIZE)
def observer_program(
    robot: Robot,
    ends: tuple[tuple[int, int], ...],
    recorded: frozenset[str],
    instant: float,
    stages: int,
) -> Program:
    """Trace the program that observes one step; its reports are those of `step_observables`.

    Parameters
    ----------
    robot
        The robot.
    contact_bodies, instant, stages
        Fields of the `Trajectory`.
    recorded
        Recorded quantities of the run: "point", "passive" and "constraint".

    Notes
    -----
    Parameters of the program: q0, u0 at the start; q1, u1 at the end; motors (nu,) in N or N m;
    frame (9n,), the contact frames row by row; impulse (3n,) in them, in N s. Those of `recorded`
    are point (3n,) in m, passive (nu,) and constraint (nb,) in N or N m.
    """
    n = len(ends)

    # parameters
    b = Builder(f"{robot.name}_observed")
    q0, u0 = b.parameter("q0", robot.nq), b.parameter("u0", robot.nu)
    q1, u1 = b.parameter("q1", robot.nq), b.parameter("u1", robot.nu)
    dt, motors = b.parameter("dt"), b.parameter("motors", robot.nu)
    frame, impulse = b.parameter("frame", 9 * n), b.parameter("impulse", 3 * n)
    sizes = {
        "point": 3 * n,
        "passive": robot.nu,
        "constraint": loop_constraints.count_constraints(robot),
    }
    sizes[TERMS_VELOCITY] = robot.nu
    given = {name: b.parameter(name, size) for name, size in sizes.items() if name in recorded}
    point, closing = given.get("point"), given.get("constraint")

    # kinematics and contacts where the step evaluated them
    q = displace(robot, q0, u0, instant * dt) if instant else q0
    kin, contacts = kinematics(robot, q, u0), []
    for i, (body, other) in enumerate(ends):
        axes = ca.reshape(frame[9 * i : 9 * i + 9], 3, 3).T
        at_point = None if point is None else point[3 * i : 3 * i + 3]
        position, gap = _contact_point(kin, i, body, axes[0, :].T, at_point)
        world = jacobian.dense(jacobian.point_jacobian(kin, body, position), robot.nu)
        if other != WORLD:
            position, _ = _contact_point(kin, i, other, axes[0, :].T, at_point)
            world -= jacobian.dense(jacobian.point_jacobian(kin, other, position), robot.nu)
        rows = ca.mtimes(axes, world)
        contacts.append(ObservedContact(gap, rows, ca.mtimes(rows, u0)))

    # the criteria
    nothing, drive = SX.zeros(robot.nu), Drive(motors, SX.zeros(len(robot.loops)))
    closing_force = nothing if closing is None else loop_constraints.force(kin, closing)
    start, end = kinematics(robot, q0, u0), kinematics(robot, q1, u1)
    acting = StepForces(drive, impulse, nothing, closing_force, given.get("passive"))
    inertias, conserved = rnea.body_inertias(robot), None
    if TERMS_VELOCITY in given:
        conserved = conserved_momentum((start, end), inertias, acting, dt)
    step = ObservedStep(
        start=start,
        evaluated=kin,
        end=end,
        inertias=inertias,
        dt=dt,
        contacts=contacts,
        acting=acting,
        one_balance=SX(stages <= 1),
        terms_velocity=given.get(TERMS_VELOCITY),
        conserved=conserved,
    )
    return b.program(**step_observables(step))


def _contact_point(
    kin: Kinematics, i: int, body: int, normal: SX, point: SX | None
) -> tuple[SX, SX]:
    """Compute the point (3,) of contact i in its body's frame, and its gap to z = 0, in m.

    The gap is that of the robot's candidate; 0 if the run has its own contact points.
    """
    if point is not None:
        from_body = point - jacobian.position(kin, body, SX.zeros(3))
        return jacobian.direction_in_body(kin, body, from_body), SX(0)
    candidate = kin.mechanism.candidates[i]
    center, toward = candidate.position, -jacobian.direction_in_body(kin, body, normal)
    lowest = constant(center) + candidate.radius * toward
    if candidate.outline is not None:
        lowest += support_points.support_point(support_points.parameters(candidate.outline), toward)
        return lowest, ca.dot(normal, jacobian.position(kin, body, lowest))
    height = ca.dot(normal, jacobian.position(kin, body, constant(center)))
    return lowest, height - candidate.radius


def contact_frames(normal: Array) -> Array:
    """Compute contact frames (..., 3, 3): rows normal and two tangents.

    No criterion depends on how the tangents are rotated about the normal.
    """
    helper = np.where(np.abs(normal[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = helper - np.sum(helper * normal, -1, keepdims=True) * normal
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = np.asarray(np.cross(normal, first), dtype=float)
    return np.stack([normal, first, second], -2)
