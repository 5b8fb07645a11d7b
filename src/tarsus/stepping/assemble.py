"""The hall where the wings meet: from a robot at a configuration to a contact problem, and back to velocities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw, Law, asked
from tarsus.contact.problem import Blocks, Contact, ContactProblem, ContactSolution, VelocityForm
from tarsus.dynamics import crba, factor, jacobian, rnea, tree
from tarsus.dynamics.factor import Factor
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics, with_unit_quaternions
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.program.symbolic import entries
from tarsus.program.trace import Builder
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene, StepInputs, StepOutputs

DRY_FRICTION_SPEED = 1e-2  # rad/s (m/s): below it a joint's dry friction acts as a damper


@dataclass(frozen=True, eq=False)
class Smooth:
    """The robot without contact: M + dt D factored, and the velocity (nu,) it would have at the end of the step."""

    factor: Factor
    u_free: SX


@dataclass(frozen=True, eq=False)
class Touch:
    """A contact candidate at the ground: rows (3, nu) with gamma = rows u, sparse."""

    contact: Contact
    rows: list[list[SX]]


@dataclass(frozen=True, eq=False)
class Coupling:
    """The factored robot, its free velocity, and L^-T w for each force direction w: half_solved[contact][component]."""

    factor: Factor
    u_free: SX
    half_solved: list[list[list[SX]]]


@dataclass(frozen=True, eq=False)
class Rate:
    """The smooth robot at an instant: q' (nq,), u' (nu,), contact forces[i] (3,) in N, and the law's next memory."""

    q: SX
    u: SX
    forces: list[SX]
    memory: SX


def displaced(mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
    """q + dt F(q) u with unit quaternions."""
    return with_unit_quaternions(mechanism, q + dt * coordinate_rate(mechanism, q, u))


def velocity_step(scene: Scene, q: SX, start: StepInputs, builder: Builder) -> tuple[SX, ContactSolution]:
    """u^E (nu,) from u^S and the law's percussions, with everything that depends on coordinates taken at q."""
    kin = kinematics(scene.mechanism, q, start.u)
    smooth = smooth_dynamics(scene, kin, start)
    touching = touches(scene, kin, start.terrain)
    coupling = couple(smooth, touching, builder)
    problem = contact_problem(scene.law, coupling, touching, start, builder)
    contact = scene.law.solve(problem, start.law, start.memory, builder)
    return velocity_after(coupling, contact.impulses), contact


def rate(scene: Scene, at: StepInputs) -> Rate:
    """u' = M^-1 (tau - c - g - D u + W f) at an instant: the damping is explicit, unlike in `smooth_dynamics`."""
    mechanism, kin = scene.mechanism, kinematics(scene.mechanism, at.q, at.u)
    touching = touches(scene, kin, at.terrain)
    forces, memory = contact_forces(scene, touching, at)
    h = at.tau - rnea.bias(kin, at.inertias) - joint_dissipation(scene, at.u) * at.u
    for touch, force in zip(touching, forces, strict=True):
        h += ca.mtimes(ca.vertcat(*(ca.horzcat(*row) for row in touch.rows)).T, force)
    factored = factor.factorise(crba.mass_matrix(kin, at.inertias), tree.velocity_parents(mechanism))
    change = ca.vertcat(*factored.solve(entries(h)))
    return Rate(coordinate_rate(mechanism, at.q, at.u), change, forces, memory)


def contact_forces(scene: Scene, touching: list[Touch], at: StepInputs) -> tuple[list[SX], SX]:
    """The law's force (3,) on every contact at an instant, zero where it is open, and the law's next memory."""
    if not isinstance(scene.law, ForceLaw):
        raise TarsusError(
            f"the law {_name(scene.law)!r} gives percussions, not forces: use the stepper 'midpoint' or "
            "'symplectic_euler', or a force law such as 'compliant'."
        )
    forces, memories = [], [SX(0, 1)]
    for i, touch in enumerate(touching):
        own = scene.law.own(at.memory, i)
        closed = scene.law.closed(touch.contact, own)
        force, pressed = asked(scene.law, touch.contact, at.law, own)
        forces.append(ca.if_else(closed, force, 0))
        memories.append(ca.if_else(closed, pressed, scene.law.released(touch.contact, at.law, own)))
    return forces, ca.vertcat(*memories)


def stage(scene: Scene, start: StepInputs, first: Rate, slope: Rate, dt: SX) -> StepInputs:
    """The instant dt later along `slope`; the law remembers what the step's `first` instant left."""
    q = with_unit_quaternions(scene.mechanism, start.q + dt * slope.q)
    return replace(start, q=q, u=start.u + dt * slope.u, memory=first.memory)


def weighted(scene: Scene, start: StepInputs, weights: list[float], rates: list[Rate]) -> StepOutputs:
    """The end of an explicit step: percussions are dt times the weighted forces, the memory is the first instant's."""
    pairs = list(zip(weights, rates, strict=True))
    q, u = sum((w * k.q for w, k in pairs), SX(0)), sum((w * k.u for w, k in pairs), SX(0))
    forces = [sum((w * k.forces[i] for w, k in pairs), SX(0)) for i in range(len(scene.candidates))]
    mean = Rate(q, u, forces, rates[0].memory)
    end = stage(scene, start, rates[0], mean, start.dt)
    impulses = [start.dt * force for force in mean.forces]
    return StepOutputs(end.q, end.u, ContactSolution(impulses, mean.memory, SX(0), SX(1)))


def joint_dissipation(scene: Scene, u: SX) -> SX:
    """D (nu,) with friction torque -D u: viscous damping, and dry friction f as f / max(|u|, u_s)."""
    values = []
    for body, where in zip(scene.mechanism.bodies, scene.mechanism.u_slices, strict=True):
        joint = body.joint
        for k in range(where.start, where.stop):
            dry = joint.dry_friction / ca.fmax(ca.fabs(u[k]), DRY_FRICTION_SPEED) if joint.dry_friction else SX(0)
            values.append(joint.damping + dry)
    return ca.vertcat(*values)


def armature(mechanism: Mechanism) -> SX:
    """Reflected rotor inertia (nu,) on the diagonal of M."""
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    return ca.vertcat(*(SX(body.joint.armature) for body, at in bodies for _ in range(at.start, at.stop)))


def smooth_dynamics(scene: Scene, kin: Kinematics, start: StepInputs) -> Smooth:
    """(M + dt D)(u_free - u) = dt (tau - c - g - D u): damping acts at the end of the step and cannot blow up."""
    D = joint_dissipation(scene, start.u)
    M = crba.mass_matrix(kin, start.inertias) + ca.diag(start.dt * D)
    h = start.tau - rnea.bias(kin, start.inertias) - D * start.u
    factored = factor.factorise(M, tree.velocity_parents(scene.mechanism))
    change = factored.solve(entries(start.dt * h))
    return Smooth(factored, start.u + ca.vertcat(*change))


def touches(scene: Scene, kin: Kinematics, terrain: object) -> list[Touch]:
    """Gap, frame, Jacobian and velocity of every candidate."""
    found = []
    centres = [jacobian.position(kin, c.body, constant(c.position)) for c in scene.candidates]
    surfaces = scene.terrain.surfaces(centres, terrain)
    for candidate, centre, (distance, frame) in zip(scene.candidates, centres, surfaces, strict=True):
        normal = jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
        lowest = constant(candidate.position) - candidate.radius * normal
        columns = jacobian.point_jacobian(kin, candidate.body, lowest)
        rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
        point = centre - candidate.radius * frame[0, :].T
        contact = Contact(distance - candidate.radius, ca.mtimes(rows, kin.u), point, frame)
        found.append(Touch(contact, [[rows[k, j] for j in range(scene.mechanism.nu)] for k in range(3)]))
    return found


def couple(smooth: Smooth, touching: list[Touch], builder: Builder) -> Coupling:
    """How contacts move the robot, held for use before and after the law's iterations."""
    factored = smooth.factor
    L = _held(builder, "L", list(factored.L.values()))
    pivots = _held(builder, "inverse_pivots", factored.inverse_pivots)
    held = Factor(factored.parents, dict(zip(factored.L, L, strict=True)), pivots)
    rows = [held.backward(row) for t in touching for row in t.rows]
    flat = _held(builder, "half_solved", [entry for row in rows for entry in row])
    n = len(held.parents)
    half = [flat[k * n : (k + 1) * n] for k in range(len(rows))]
    return Coupling(held, builder.keep("u_free", smooth.u_free), [half[k : k + 3] for k in range(0, len(half), 3)])


def contact_problem(
    law: Law, coupling: Coupling, touching: list[Touch], start: StepInputs, builder: Builder
) -> ContactProblem:
    """Gaps, velocities and Delassus matrix as a law wants them."""
    u_free = entries(coupling.u_free)
    free = [ca.vertcat(*(_dot(row, u_free) for row in t.rows)) for t in touching]
    return ContactProblem(
        contacts=[t.contact for t in touching],
        active=[law.closed(t.contact, law.own(start.memory, i)) for i, t in enumerate(touching)],
        free=free,
        dt=start.dt,
        make_delassus=lambda: _delassus(coupling, builder),
        make_velocity_form=lambda: _velocity_form(coupling, touching, builder),
    )


def velocity_after(coupling: Coupling, impulses: list[SX]) -> SX:
    """u_end (nu,) = u_free + M^-1 W L, from the leaves to the root and back."""
    y = [SX(0)] * len(coupling.factor.parents)
    for rows, impulse in zip(coupling.half_solved, impulses, strict=True):
        for row, component in zip(rows, entries(impulse), strict=True):
            y = [a + b * component for a, b in zip(y, row, strict=True)]
    scaled = [d * a for d, a in zip(coupling.factor.inverse_pivots, y, strict=True)]
    return coupling.u_free + ca.vertcat(*coupling.factor.forward(scaled))


def _name(thing: object) -> str:
    """The name of the file that a law stands in."""
    return type(thing).__module__.rpartition(".")[2]


def _held(builder: Builder, name: str, values: list[SX]) -> list[SX]:
    """The values kept in one register; constants stay constants."""
    full = [k for k, value in enumerate(values) if not value.is_constant()]
    symbols = entries(builder.keep(name, ca.vertcat(SX(0, 1), *(values[k] for k in full))))
    held = list(values)
    for k, symbol in zip(full, symbols, strict=True):
        held[k] = symbol
    return held


def _dot(a: list[SX], b: list[SX]) -> SX:
    return sum((x * y for x, y in zip(a, b, strict=True) if not x.is_zero()), SX(0))


def _delassus(coupling: Coupling, builder: Builder) -> Blocks:
    half, pivots = coupling.half_solved, coupling.factor.inverse_pivots
    scaled = [[[d * a for d, a in zip(pivots, row, strict=True)] for row in rows] for rows in half]
    lower: list[SX] = []
    places: dict[tuple[int, int, int, int], int] = {}
    for i, rows in enumerate(half):
        for j in range(i + 1):
            for k in range(3):
                for m in range(k + 1 if i == j else 3):
                    places[i, j, k, m] = len(lower)
                    lower.append(_dot(rows[k], scaled[j][m]))
    held = builder.keep("G", ca.vertcat(*lower))
    n = len(half)

    def entry(i: int, j: int, k: int, m: int) -> SX:
        return held[places[(i, j, k, m) if (i, j, k, m) in places else (j, i, m, k)]]

    return {
        (i, j): ca.vertcat(*(ca.horzcat(*(entry(i, j, k, m) for m in range(3))) for k in range(3)))
        for i in range(n)
        for j in range(n)
    }


def _velocity_form(coupling: Coupling, touching: list[Touch], builder: Builder) -> VelocityForm:
    W = ca.horzcat(*(ca.vertcat(*row) for t in touching for row in t.rows))
    columns = []
    for rows in coupling.half_solved:
        for row in rows:
            scaled = [d * a for d, a in zip(coupling.factor.inverse_pivots, row, strict=True)]
            columns.append(ca.vertcat(*coupling.factor.forward(scaled)))
    nu, full = len(coupling.factor.parents), [entry for column in columns for entry in entries(column)]
    response = ca.reshape(ca.vertcat(*_held(builder, "response", full)), nu, len(columns))
    directions = ca.reshape(ca.vertcat(*_held(builder, "W", entries(ca.vec(ca.densify(W))))), nu, len(columns))
    return VelocityForm(coupling.u_free, directions, response)
