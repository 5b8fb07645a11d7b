"""Input and output of a contact law: algebra over contacts, without a robot.

Components are ordered (normal, tangent 1, tangent 2). The normal points away from the ground, so
that a positive normal impulse pushes and a positive normal velocity separates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import Blocks

RegularizedSolve = Callable[[list[SX]], list[SX]]  # r -> z, (3,) of each contact
RegularizedSolver = Callable[[list[SX]], RegularizedSolve]  # blocks B (3, 3) -> r -> z


@dataclass(frozen=True)
class Roundness:
    """Shape of a body near its contact, by which a law tells rolling from sliding.

    Attributes
    ----------
    radius
        Radius of a ball, m.
    rotation
        Rotation (3, 3) from the body to the world.
    arm
        Vector (3,) from the tracked point of the body to the contact point, m, for a body that is
        not a ball; None if it follows from radius and normal.
    tracked
        Point (3,) of the body whose displacement measures sliding, m; None for the contact point.
    """

    radius: float | SX
    rotation: SX
    arm: SX | None = None
    tracked: SX | None = None

    def rolling_displacement(self, before: SX, normal: SX) -> SX:
        """Compute the displacement (3,) of the contact point by rolling, m, world axes.

        It is r theta x n, with theta = asin(|s|) s / |s| expanded to fifth order, for rotations of
        less than about one radian since the rotation was `before` (3, 3).
        """
        if self.arm is None and SX(self.radius).is_zero():
            return SX.zeros(3)
        turn = ca.mtimes(self.rotation, before.T)
        s = 0.5 * ca.vertcat(
            turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
        )
        squared = ca.dot(s, s)
        turned = 1 + squared * (1 / 6 + squared * 3 / 40)
        if self.arm is not None:
            return -turned * ca.cross(s, self.arm)
        return self.radius * turned * ca.cross(s, normal)


@dataclass(frozen=True)
class Contact:
    """One contact at one instant.

    Attributes
    ----------
    gap
        Signed distance, m; negative in penetration.
    velocity
        Velocity (3,), m/s, in the contact frame.
    point
        World position (3,), m; for two bodies that touch, in the frame of the second.
    frame
        Contact frame (3, 3) in the same coordinates: rows normal, tangent 1, tangent 2.
    friction
        Factor of the terrain on the law's friction coefficients.
    stiffness
        Factor of the terrain on the law's stiffness and damping.
    roundness
        Shape of the body, which determines how the contact point rolls over it.
    velocity_product
        Acceleration (3,) at u' = 0, m/s^2, in the contact frame: dW^T/dt u with constant frame.
        Zero where the coordinates do not move.
    max_gap
        Gap, m, above which the contact is open although it pressed in the last step; None if any
        gap may press.
    possible_sinking
        Distance, m, by which the contact may still approach in the rest of the step; 0 unless the
        law subcycles.
    dt
        Time, s, over which the force of a `ForceLaw` acts and its memory advances: that of the
        step, or of a substep.
    """

    gap: SX
    velocity: SX
    point: SX
    frame: SX
    friction: SX = field(default_factory=lambda: SX(1))
    stiffness: SX = field(default_factory=lambda: SX(1))
    roundness: Roundness = field(default_factory=lambda: Roundness(0.0, SX.eye(3)))
    velocity_product: SX = field(default_factory=lambda: SX.zeros(3))
    max_gap: float | SX | None = None
    possible_sinking: SX = field(default_factory=lambda: SX(0))
    dt: SX = field(default_factory=lambda: SX(0))

    @property
    def tracked(self) -> SX:
        """Point (3,), m, whose displacement, less that of rolling, measures sliding."""
        return self.point if self.roundness.tracked is None else self.roundness.tracked


@dataclass(frozen=True)
class VelocityForm:
    """Contact problem without its Delassus matrix (Gehring 2014, Eqns. (17)-(18)).

    Attributes
    ----------
    u_free
        Velocity (nu,) at the end of the step without contact.
    W
        Force directions (nu, 3n).
    response
        M^-1 W, shape (nu, 3n).
    """

    u_free: SX
    W: SX
    response: SX


@dataclass(frozen=True)
class SharedBodies:
    """Delassus matrix of contacts that few rigid bodies share: G_ij = A_i M_ab A_j^T.

    Attributes
    ----------
    body
        Index of the body of each contact, from 0; a and b above are those of i and j.
    arms
        A_i (3, 6): velocity of the contact per twist of its body.
    mobility
        M as rows of a symmetric matrix (6m, 6m): twists of all m bodies per wrench.
    """

    body: list[int]
    arms: list[SX]
    mobility: list[list[SX]]


@dataclass(frozen=True)
class Bilateral:
    """Bilateral constraints, for laws that also iterate over them.

    See Gehring 2014, Eqns. (12)-(15).

    xi_B = G_BU L_U + G_B L_B + c = 0.

    Attributes
    ----------
    free, G
        Free velocity (3,) of each contact and Delassus blocks (3, 3), without the constraints.
    coupling
        G_BU: `coupling[b][3 i + k]`.
    G_B, c
        Matrix and constant (nb,) of the constraints.
    start
        Impulses (nb,) of the last step.
    """

    free: list[SX]
    G: Blocks
    coupling: list[list[SX]]
    G_B: list[list[SX]]
    c: list[SX]
    start: SX


@dataclass(frozen=True)
class JointRows:
    """Joints with limits or dry friction, solved together with the contacts, one row per joint.

    Their rates are v = G_JU L_U + G p + free, m/s or rad/s, under impulses L_U of contacts and p of
    joints. Up to `friction`, an impulse is friction against the rate; the rest comes from a limit.

    Attributes
    ----------
    free
        Rates (m,) at the end of the step without contacts and impulses of these joints.
    coupling
        G_JU: `coupling[k][3 i + j]`, symmetric to the velocity of contact i per impulse of joint k.
    G
        Rates per impulse, of joints alone.
    lower, upper
        Least rates, not above 0, and greatest, not below 0; None if unbounded.
    friction
        Largest impulses of dry friction, N m s or N s; 0 without friction.
    """

    free: list[SX]
    coupling: list[list[SX]]
    G: list[list[SX]]
    lower: list[SX | None]
    upper: list[SX | None]
    friction: list[SX]


@dataclass(frozen=True)
class ContactProblem:
    """Contact problem of n contacts over one step of length dt.

    The Delassus matrix G = W^T M^-1 W (1/kg) and the velocity form are computed only when a law
    uses them. Bilateral constraints (cut joints, closed loops) are eliminated from all of these;
    `bilateral` has contacts and constraints separately.

    Attributes
    ----------
    contacts
        Contacts at the instant of evaluation, with the velocity gamma^S at the start of the step.
    active
        1 for each contact that the law calls closed, else 0.
    free
        Velocity (3,) of each contact at the end of the step without contact, m/s.
    dt
        Length of the step, s.
    make_delassus, make_velocity_form, make_bilateral, make_shared
        Functions behind the properties `G`, `velocity_form`, `bilateral` and `shared`.
    regularized_solver
        Maps blocks B[i] (3, 3) to a function r -> z with (G + B^-1) z = r, for r and z (3,) of each
        contact. Its cost grows with the number of contacts, not with its square. None if not
        available.
    restart
        1 where a solver starts with all contacts pressing and none sliding; 0 or None where it
        starts from the last step. Of several solutions it then finds one in which contacts stick,
        if there is one.
    skip_correction
        1 where a law whose correction is optional only requires contacts to rest, because friction,
        limits or other contacts may make its correction impossible; 0 or None where it applies it.
    warm_start
        Memory of the law with impulses to start from; None for those of the last step.
    loads_determined
        Whether the compliance of joints locked by dry friction determines how redundant contacts
        share a load. A solver must then not regularize by more than that compliance.
    free_mobility
        Normal velocity per normal impulse of each contact, 1/kg, with no joint locked and no loop
        closed; None if it is the diagonal of G. Computed for laws with `uses_free_mobility`.
    joints
        Limits and dry friction of joints as rows; None if joints are locked or have neither. Only
        for laws that `solves_joints`.
    instant
        Fraction of the step at which contacts are evaluated, if the law may subcycle; else None.
    """

    contacts: list[Contact]
    active: list[SX]
    free: list[SX]
    dt: SX
    make_delassus: Callable[[], Blocks]
    make_velocity_form: Callable[[], VelocityForm]
    make_bilateral: Callable[[], Bilateral] | None = None
    make_shared: Callable[[], SharedBodies] | None = None
    regularized_solver: RegularizedSolver | None = None
    restart: SX | None = None
    skip_correction: SX | None = None
    warm_start: SX | None = None
    loads_determined: bool = False
    free_mobility: list[SX] | None = None
    joints: JointRows | None = None
    instant: float | None = None

    @property
    def n(self) -> int:
        """Number of contacts."""
        return len(self.contacts)

    @cached_property
    def G(self) -> Blocks:
        """Delassus blocks (3, 3) by pair of contacts (i, j).

        Use it before a loop: if it is first used in a loop, every pass computes it.
        """
        return self.make_delassus()

    @cached_property
    def shared(self) -> SharedBodies | None:
        """Delassus matrix in terms of shared bodies; None if the contacts share none."""
        return self.make_shared() if self.make_shared else None

    @cached_property
    def velocity_form(self) -> VelocityForm:
        """Contact problem in velocities at the end of the step."""
        return self.make_velocity_form()

    @cached_property
    def bilateral(self) -> Bilateral | None:
        """Constraints, separate from the contacts; None if there are none."""
        return self.make_bilateral() if self.make_bilateral else None


@dataclass(frozen=True)
class ContactSolution:
    """Impulses over a step, next memory of the law, and how the solve went.

    Attributes
    ----------
    impulses
        Impulse (3,) of each contact, N s.
    memory
        Next memory of the law.
    iterations
        Number of sweeps; 0 for an explicit law.
    converged
        1 or 0.
    bilateral
        Impulses (nb,) of the constraints; None if the step is to compute them.
    joints
        Impulses (m,) of the problem's joint rows, N m s or N s; None without any.
    coordinate_impulses
        Impulse (3,) of each contact that advances the coordinates, if impulses act at other times
        than the instant of evaluation (`contact/subcycle.py`); None if that is `impulses`.
    free_share
        Share of the velocity gained in free motion that advances the coordinates; None for all.
    stage
        Index in `Law.stages` of the solver's stage that ended the solve; None without stages.
    """

    impulses: list[SX]
    memory: SX
    iterations: SX
    converged: SX
    bilateral: SX | None = None
    joints: SX | None = None
    coordinate_impulses: list[SX] | None = None
    free_share: SX | None = None
    stage: SX | None = None

    def with_coordinate_impulses(self) -> ContactSolution:
        """Add the impulses that advance the coordinates to the solution."""
        impulses = self.impulses if self.coordinate_impulses is None else self.coordinate_impulses
        return replace(self, impulses=impulses, bilateral=None)

    def stack(self) -> SX:
        """Stack all impulses in one column (3n,)."""
        return ca.vertcat(*self.impulses) if self.impulses else SX(0, 1)
