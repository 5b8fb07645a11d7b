"""Torsional and rolling friction: moments at contacts.

A contact resists spin about its normal with a moment of up to mu_t f_N, and rolling with up to
mu_r f_N; both coefficients are lengths. As in model C of Ai et al. 2011, the moment is that of a
spring that slips: it grows with the angle turned, up to this bound, so a body at rest does not
creep. Separately for spin and for rolling, with the angular velocity w at the start (S) and at the
end (E) of a step,

    m^E = s (m^S + k dt w^S) + b s k dt (w^E - w^S),    s = min(1, mu f_N / |m^S + k dt w^S|).

While the spring holds, s = b = 1 and the moment is m^S + k dt w^E. While it slips, the second term
only keeps it from reversing the motion: b = min(1, 4 s) is small where the body turns fast. The
moment is linear in w^E, so it adds to the mass matrix as implicit damping does, under any law
(docs/decisions/0086-moments-at-contacts.md). The stiffness k = I / dt^2, with I the inertia that
rotations of the body feel where the robot stands, stops a body within few steps; it grows as dt
shrinks, toward Coulomb's law. The load f_N is that of the last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.algebra.projections import TINY
from tarsus.dynamics import effective_mass, jacobian
from tarsus.dynamics.free_motion import FreeMotion
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import MOMENT_MEMORY, Scene, StepOutputs, StepStart

SLIP_DAMPING = 4.0  # b / s while friction slips


@dataclass(frozen=True, eq=False)
class ContactMoment:
    """Moment of one contact over a step, linear in the change of velocity.

    Attributes
    ----------
    frame
        Contact frame (3, 3): rows normal, tangent 1, tangent 2, world axes.
    rows
        Rows (3, nu) that map u to the angular velocity in the contact frame, rad/s.
    moment
        Moment (3,) against the motion if the velocity does not change, contact frame, N m.
    damping
        Increase (3,) of the moment per increase of the angular velocity, N m s/rad.
    """

    frame: SX
    rows: SX
    moment: SX
    damping: SX

    def after(self, change: SX) -> SX:
        """Compute the moment (3,) over a step with this change (nu,) of the velocity."""
        return self.moment + self.damping * ca.mtimes(self.rows, change)


def contact_moments(
    scene: Scene,
    kin: Kinematics,
    frames: dict[int, SX],
    start: StepStart,
    builder: Builder,
) -> list[ContactMoment]:
    """Compute the moments of all primary contacts that have torsional or rolling friction.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    kin : Kinematics
        Pose and velocity at which the step is evaluated.
    frames : dict
        Frame (3, 3) of each contact, by its index among primary contacts.
    start : StepStart
        State and inputs at the start of the step.
    builder : Builder
        Traces the program.
    """
    indices = scene.moment_contacts
    if not indices or start.evaluation.impact:
        return []
    candidates = [scene.candidates[scene.geometry.primary[i]] for i in indices]
    moments = []
    for k, (candidate, (last, load)) in enumerate(
        zip(candidates, split_memory(scene, start.memory), strict=True)
    ):
        frame = frames[indices[k]]
        columns = jacobian.angular_jacobian(kin, candidate.body)
        rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
        stiffness = scene.rotational_inertias[k] / start.dt  # k dt
        held = ca.mtimes(frame, last) + stiffness * ca.mtimes(rows, kin.u)
        share = ca.vertcat(
            _transmitted(candidate.torsional_friction * load, ca.fabs(held[0])),
            *[_transmitted(candidate.rolling_friction * load, ca.norm_2(held[1:]))] * 2,
        )
        damping = ca.fmin(SLIP_DAMPING * share, 1) * share * stiffness
        moments.append(ContactMoment(frame, rows, share * held, damping))
    return builder.store_all("moments", moments)


def split_memory(scene: Scene, memory: SX) -> list[tuple[SX, SX]]:
    """Split the memory of all moments into moments (3,), N m, and loads, N."""
    own = memory[scene.moment_memory]
    starts = range(0, own.numel(), MOMENT_MEMORY)
    return [(own[k : k + 3], own[k + 3]) for k in starts]


def last_loads(scene: Scene, start: StepStart) -> list[SX]:
    """Return the normal forces of the last step at contacts that have moments, N."""
    return [load for _, load in split_memory(scene, start.memory)]


def _transmitted(bound: SX, moment: SX) -> SX:
    """Compute the share of a moment, N m, that is at most the bound; 0 without friction."""
    return SX(0) if bound.is_zero() else ca.fmin(bound / ca.fmax(moment, TINY), 1)


def with_moments(free: FreeMotion, moments: list[ContactMoment], dt: SX) -> FreeMotion:
    """Add moments to the motion without contact."""
    M, h = free.M, free.h
    for moment in moments:
        M += ca.mtimes(moment.rows.T, ca.mtimes(ca.diag(dt * moment.damping), moment.rows))
        h -= ca.mtimes(moment.rows.T, moment.moment)
    return FreeMotion(M, h)


def without_moment_memory(scene: Scene, start: StepStart) -> StepStart:
    """Remove the memory of all moments, which laws and slots do not know."""
    if not scene.moment_contacts:
        return start
    return replace(start, memory=start.memory[: scene.moment_memory.start])


def with_moment_memory(
    scene: Scene, moments: list[ContactMoment], start: StepStart, end: StepOutputs
) -> StepOutputs:
    """Append the memory of all moments to that of the law at the end of a step.

    It is the moment (3,) in world axes, N m, and the normal force, N, of each contact. An impact
    leaves it as it is.
    """
    if not scene.moment_contacts:
        return end
    memory = [end.contact.memory]
    if start.evaluation.impact:
        memory.append(start.memory[scene.moment_memory])
    for i, moment in zip(scene.moment_contacts, moments, strict=False):
        load = end.contact.impulses[i][0] / start.dt
        memory += [ca.mtimes(moment.frame.T, moment.after(end.u - start.u)), load]
    return replace(end, contact=replace(end.contact, memory=ca.vertcat(*memory)))


def rotational_inertias(mechanism: Mechanism, candidates: Sequence[Candidate]) -> tuple[float, ...]:
    """Compute the inertia that rotations of a candidate's body feel where the robot stands, kg m^2.

    It is 3 / tr(J M^-1 J^T), with J of the body's angular velocity, for each candidate that has
    torsional or rolling friction.
    """
    bodies = [candidate.body for candidate in candidates if candidate.resists_rotation]
    if not bodies:
        return ()
    kin = kinematics(mechanism, SX(mechanism.keyframes.get("stand", mechanism.neutral())))
    M, W = (np.array(ca.DM(part)) for part in effective_mass.inertia_and_constraints(kin))
    inverse = effective_mass.mobility(M, W)
    inertia = dict[int, float]()
    for body in set(bodies):
        J = np.array(ca.DM(jacobian.dense(jacobian.angular_jacobian(kin, body), mechanism.nu)))
        inertia[body] = 3 / float(np.trace(J @ inverse @ J.T))
    return tuple(inertia[body] for body in bodies)


def recorded_moments(scene: Scene, memory: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Read moments (..., 3), N m, by candidate from a recorded register `memory` (..., size)."""
    names = [scene.candidates[scene.geometry.primary[i]].name for i in scene.moment_contacts]
    values = memory[..., scene.moment_memory]
    return {name: values[..., MOMENT_MEMORY * k :][..., :3] for k, name in enumerate(names)}
