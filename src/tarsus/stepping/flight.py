"""Second order and exact momentum where nothing touches the robot.

Where no contact is closed, the step is the implicit midpoint rule: its velocity terms are those of
the mean velocity, c(q_mid, (u^S + u^E) / 2), found by fixed-point iteration. In contact they are
those of the start, as in Gehring 2014, because the mean velocity depends on the impulses sought.
Afterwards each floating robot is moved as a whole, by a correction of third order in dt, so that
its momentum changes exactly by the impulse of gravity and pushes, and its center of mass stays on
its parabola (docs/decisions/0081-second-order-flight.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.dynamics import crba, energy, loop_constraints, rnea, tree
from tarsus.dynamics.free_motion import free_motion
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import WORLD, Mechanism
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import is_float64
from tarsus.program.ir.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.base import Scene, StepOutputs, StepStart
from tarsus.stepping.contact_moments import split_memory
from tarsus.stepping.coupling import couple_without_contacts, free_velocity_after
from tarsus.stepping.fast_motion import (
    FastMotion,
    carried_inertias,
    drive,
    free_bodies,
    rigid_velocity,
)

TERMS_VELOCITY = "terms_velocity"  # report register: velocity (nu,) of the velocity terms
MAX_PASSES = 20  # of the fixed-point iteration; the error shrinks by about |omega| dt in each
TOLERANCE, TOLERANCE_FLOAT32 = 1e-12, 1e-5  # relative change of the velocity that ends it


@dataclass(frozen=True, eq=False)
class MeanTerms:
    """Velocity terms of the mean velocity of a step, in worlds in flight.

    Attributes
    ----------
    solved
        1 where the mean velocity was found; elsewhere the terms are those of the start.
    velocity
        Velocity (nu,) of the velocity terms.
    force
        Generalized force (nu,) by which they differ from those of the start, N or N m.
    """

    solved: SX
    velocity: SX
    force: SX


def mean_terms(
    scene: Scene,
    q: SX,
    start: StepStart,
    flight: SX,
    braking: SX | None,
    builder: Builder,
) -> MeanTerms:
    """Find the mean velocity of the step in worlds in flight by fixed-point iteration.

    Joint limits are ignored. The iteration does not converge where a joint turns too far in a step.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    q : SX
        Coordinates (nq,) at the middle of the step.
    start : StepStart
        State and inputs at the start of the step.
    flight : SX
        1 in worlds in flight.
    braking : SX or None
        Damping (nu,) that stands for dry friction which the scene's mechanism lacks.
    builder : Builder
        Traces the loops.
    """
    dt = start.dt
    tolerance = ca.if_else(is_float64(dt), TOLERANCE, TOLERANCE_FLOAT32)
    unsolved = {"solved": SX(0), "mean": start.u, "force": SX.zeros(start.u.numel())}

    def in_flight(_: Values) -> tuple[Values, SX]:
        # computed from q again, so that other worlds need not store what this reads
        kin = kinematics(scene.mechanism, q, start.u)
        free = free_motion(kin, start.inertias, drive(start), dt)
        if braking is not None:
            free = free.with_damping(braking, kin.u, dt)
        before = velocity_terms(kin, start.inertias)
        none_fast = FastMotion(SX(0), kin.u)
        robot = couple_without_contacts(scene, kin, free, start, None, none_fast, builder)

        def next_velocity(state: Values) -> tuple[Values, SX]:
            mean = (kin.u + state["u_end"]) / 2
            force = before - velocity_terms(replace(kin, u=mean), start.inertias)
            u_end = free_velocity_after(robot, dt * force)
            error = ca.norm_inf(u_end - state["u_end"])
            solved = error <= tolerance * (1 + ca.norm_inf(u_end))
            new = {"solved": solved, "mean": mean, "force": force, "u_end": u_end}
            return new, ca.logic_not(solved)

        begin = unsolved | {"u_end": free_velocity_after(robot, unsolved["force"])}
        end = builder.loop(begin, next_velocity, MAX_PASSES)
        new = {name: ca.if_else(end["solved"], end[name], old) for name, old in unsolved.items()}
        return new, SX(0)

    end = builder.cold_loop(unsolved, in_flight, 1, flight)
    return MeanTerms(end["solved"], end["mean"], end["force"])


def velocity_terms(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute the forces (nu,) quadratic in u, of the bodies and of the rotors of loop joints."""
    return rnea.velocity_terms(kin, inertias) + loop_constraints.rotor_forces(kin)


def conserve_momentum(
    scene: Scene, start: StepStart, end: StepOutputs, builder: Builder
) -> StepOutputs:
    """Correct the motion of floating robots without contact so that they conserve momentum.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    start : StepStart
        State and inputs at the start of the step.
    end : StepOutputs
        End of the step, before the correction.
    builder : Builder
        Traces the loop.
    """
    roots = isolated_bases(scene.mechanism)
    if not roots:
        return end
    moments = [moment for moment, _ in split_memory(scene, end.contact.memory)]
    touched = ca.norm_1(ca.vertcat(SX(0), *end.contact.impulses, *moments)) > 0

    def in_flight(state: Values) -> tuple[Values, SX]:
        mechanism, q, momentum = scene.mechanism, state["q_end"][:, :], SX.zeros(start.u.numel())
        before = kinematics(mechanism, start.q, start.u)
        after = kinematics(mechanism, state["q_end"], state["u_end"])
        for root in roots:
            at = mechanism.u_slices[root]
            carried = carried_inertias(mechanism, root, start.inertias)
            missing = missing_momentum(carried, root, (before, after), start.tau[at], start.dt)
            momentum[at] = missing.about_base(after, root)
            position = mechanism.q_slices[root].start
            q[position : position + 3] += missing.displacement
        M = crba.mass_matrix(after, start.inertias)
        return {"q_end": q, "u_end": state["u_end"] + rigid_velocity(mechanism, M, momentum)}, SX(0)

    last = {"q_end": end.q, "u_end": end.u}
    after = builder.cold_loop(last, in_flight, 1, ca.logic_not(touched))
    return replace(end, q=after["q_end"], u=after["u_end"])


@dataclass(frozen=True, eq=False)
class MissingMomentum:
    """Error of a step in the momentum of a floating robot and in the path of its center of mass.

    Attributes
    ----------
    momentum
        Missing linear momentum, N s, and angular momentum about the center of mass, N m s, (6,).
    displacement
        Missing displacement of the center of mass (3,), m.
    center
        Center of mass (3,) at the end of the step, m.
    """

    momentum: SX
    displacement: SX
    center: SX

    def about_base(self, end: Kinematics, root: int) -> SX:
        """Convert the momentum to the base's origin and axes at the end of the step, (6,)."""
        linear, angular = ca.vertsplit(self.momentum, 3)
        lever = self.center - end.world_position[root]
        return ca.vertcat(
            linear, ca.mtimes(end.world_rotation[root].T, angular + ca.cross(lever, linear))
        )


def missing_momentum(
    inertias: list[LinearInertia],
    root: int,
    states: tuple[Kinematics, Kinematics],
    wrench: SX,
    dt: SX,
) -> MissingMomentum:
    """Compute what a step lacks of the momentum and displacement that gravity and pushes cause.

    Parameters
    ----------
    inertias : list of LinearInertia
        Inertias of the bodies that the base carries, zero for others.
    root : int
        Index of the floating base.
    states : tuple of Kinematics
        At the start and at the end of the step.
    wrench : SX
        Pushes (6,) as generalized force of the base at the start: force in world axes, N, and
        moment about its origin in its own axes, N m.
    dt : SX
        Step size, s.
    """
    before, after = states
    mass = sum((inertia.m for inertia in inertias), SX(0))
    last_center, center = (energy.center_of_mass(kin, inertias) for kin in (before, after))
    arm, force = before.world_position[root] - last_center, wrench[:3]
    moment = ca.mtimes(before.world_rotation[root], wrench[3:]) + ca.cross(arm, force)
    force += mass * SX(list(before.mechanism.gravity_acceleration))
    first, last = (
        energy.momentum(kin, inertias, about=at)
        for kin, at in ((before, last_center), (after, center))
    )
    target = first + dt * ca.vertcat(force, moment)
    reached = last_center + dt * (first + target)[:3] / (2 * mass)
    return MissingMomentum(target - last, reached - center, center)


def isolated_bases(mechanism: Mechanism) -> list[int]:
    """Find the floating bases on which only contacts, gravity and pushes act."""
    bodies = mechanism.bodies
    roots = [tree.support_path(mechanism, i)[-1] for i in range(len(bodies))]
    joined = set[int]()
    for loop in mechanism.loops:
        ends = {WORLD if body == WORLD else roots[body] for body in (loop.parent, loop.child)}
        joined |= ends if len(ends) > 1 else set()
    for segment in (segment for tendon in mechanism.tendons for segment in tendon.segments):
        ends = {WORLD if b == WORLD else roots[b] for b, _ in (segment.start, segment.end)}
        joined |= ends if len(ends) > 1 else set()
    return [
        root
        for root in free_bodies(mechanism)
        if root not in joined
        and not bodies[root].joint.damping
        and not bodies[root].joint.has_dry_friction
    ]
