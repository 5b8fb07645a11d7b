"""The input and output of a contact law: algebra over contacts, without a robot.

Components are ordered (normal, tangent 1, tangent 2), the normal pointing away from the ground, so
that a positive normal impulse pushes and a positive normal velocity separates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import Blocks

Solved = Callable[[list[SX]], list[SX]]
Softened = Callable[[list[SX]], Solved]


@dataclass(frozen=True)
class Roundness:
    """A body that is a ball where it touches: its radius, m, and rotation (3, 3) to the world.

    arm (3,): from the tracked point of the body to the contact point, m, of a body that is no ball;
        None: follows from radius and normal
    tracked (3,): point of the body by whose travel sliding is measured, m; None: the contact point
    """

    radius: float | SX
    rotation: SX
    arm: SX | None = None
    tracked: SX | None = None

    def rolled(self, before: SX, normal: SX) -> SX:
        """How far (3,) the contact point rolled, m, world, since the rotation was `before` (3, 3).

        By turns of less than about one radian: r theta x n, with theta = asin(|s|) s / |s| to the
        fifth power.
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
    """One contact at one instant, for laws that need no more than that.

    gap: m, negative when it penetrates.
    velocity (3,): m/s in the contact frame.
    point (3,): world position, m; of two bodies that touch, as seen from the second.
    frame (3, 3): rows normal, tangent 1, tangent 2 in the same coordinates.
    friction: terrain factor on the law's friction coefficients [1].
    stiffness: terrain factor on the law's stiffness and damping [1].
    roundness: how the contact point travels over the body.
    velocity_product (3,): m/s^2 in the contact frame, the contact's acceleration at u' = 0, that
        is dW^T/dt u with the frame held; zero where the coordinates stand still.
    away: m, a gap above which it is open although it pressed in the last step; None: any may press.
    sinks: m, by which it may come closer in the rest of the step; 0 unless the law subcycles.
    """

    gap: SX
    velocity: SX
    point: SX
    frame: SX
    friction: SX = field(default_factory=lambda: SX(1))
    stiffness: SX = field(default_factory=lambda: SX(1))
    roundness: Roundness = field(default_factory=lambda: Roundness(0.0, SX.eye(3)))
    velocity_product: SX = field(default_factory=lambda: SX.zeros(3))
    away: float | SX | None = None
    sinks: SX = field(default_factory=lambda: SX(0))

    @property
    def tracked(self) -> SX:
        """Point (3,), m, by whose travel, less what it rolled, a law measures sliding."""
        return self.point if self.roundness.tracked is None else self.roundness.tracked


@dataclass(frozen=True)
class VelocityForm:
    """The same problem without its Delassus matrix (Gehring 2014, Eqns. (17)-(18)).

    u_free (nu,): velocity at the end of the step without contact
    W (nu, 3n): force directions
    response (nu, 3n): M^-1 W
    """

    u_free: SX
    W: SX
    response: SX


@dataclass(frozen=True)
class SharedBodies:
    """Contacts that few rigid bodies share: G_ij = A_i M_ab A_j^T, a and b the bodies of i and j.

    body[i]: of contact i, counted from 0
    arms[i] (3, 6): A_i, the contact's velocity by its body's twist
    mobility: M, the rows of (6m, 6m): what wrenches do to the twists of all m bodies, symmetric
    """

    body: list[int]
    arms: list[SX]
    mobility: list[list[SX]]


@dataclass(frozen=True)
class Bilateral:
    """Bilateral constraints, for laws that iterate over them too (Gehring 2014, Eqns. (12)-(15)).

    xi_B = G_BU L_U + G_B L_B + c = 0.

    free[i] (3,), G[i, j] (3, 3): free velocity and Delassus matrix without the constraints
    coupling[b][3 i + k]: G_BU
    G_B[b][b'], c (nb,): of the constraints
    start (nb,): the last step's impulses
    """

    free: list[SX]
    G: Blocks
    coupling: list[list[SX]]
    G_B: list[list[SX]]
    c: list[SX]
    start: SX


@dataclass(frozen=True)
class JointRows:
    """m joints with stops or dry friction, solved for together with the contacts, one row each.

    Rates v = G_JU L_U + G p + free, m/s or rad/s, under impulses L_U of contacts and p of joints.
    Of p as much as `friction` lets it, is friction against the rate; the rest pushes from a stop.

    free (m,): rates at the end of the step without contacts and these joints' impulses
    coupling[k][3 i + j]: G_JU, symmetric to what contact i feels of joint k
    G[k][k']: of the joints
    lower, upper (m,): least rates, not above 0, and greatest, not below 0; None: any
    friction (m,): largest impulse of dry friction, N m s or N s; 0 without any
    """

    free: list[SX]
    coupling: list[list[SX]]
    G: list[list[SX]]
    lower: list[SX | None]
    upper: list[SX | None]
    friction: list[SX]


@dataclass(frozen=True)
class ContactProblem:
    """n contacts over one step of length dt.

    contacts: each at the step's midpoint with the velocity before, gamma^S
    active[i]: 1 where the law calls it closed, else 0
    free[i] (3,): velocity at the end of the step without contact, m/s
    dt: s

    The Delassus matrix G = W^T M^-1 W (1/kg) and the velocity form are made only when a law asks
    for them. Bilateral constraints (cut joints, closed loops) are solved for in all of these;
    `bilateral` has both apart.
    """

    contacts: list[Contact]
    active: list[SX]
    free: list[SX]
    dt: SX
    make_delassus: Callable[[], Blocks]
    make_velocity_form: Callable[[], VelocityForm]
    make_bilateral: Callable[[], Bilateral] | None = None
    make_shared: Callable[[], SharedBodies] | None = None
    softened: Softened | None = None
    """(B, r) -> z with (G + B^-1) z = r for blocks B[i] (3, 3) and r[i] (3,) of each contact, at a
    cost that grows with the contacts, not with their square; None where it is not to be had."""
    restart: SX | None = None
    """1 where a solver begins with all contacts pressing, none sliding; 0 or None: as in the last
    step. Of several solutions it then finds one where contacts stick, if there is one."""
    at_rest: SX | None = None
    """1 where a law that `asks_less` asks of a contact no more than that it rest: what it adds as a
    correction may be more than friction, limits and other contacts let it have; 0 or None: all."""
    warm_start: SX | None = None
    """Memory of the law with impulses to begin from; None: those of the last step."""
    loads_determined: bool = False
    """Whether the give of joints held by dry friction determines how redundant contacts share a
    load. A solver then must not regularize by more than that give."""
    loose: list[SX] | None = None
    """What a normal impulse does to its contact's normal velocity, 1/kg, were no joint held and no
    loop closed; None: what G says of it. Only of a law that `looks_loose`."""
    joints: JointRows | None = None
    """Stops and dry friction of joints that are rows beside the contacts; None: they are held, or
    there are none. Only a law that `solves_joints` is given any."""
    instant: float | None = None
    """Fraction of the step at which contacts are seen, where a law may subcycle; None: it may
    not."""

    @property
    def n(self) -> int:
        """Number of contacts."""
        return len(self.contacts)

    @cached_property
    def G(self) -> Blocks:
        """Delassus blocks G[i, j] (3, 3) for all pairs of contacts; first asked for in a loop, made
        in every pass.
        """
        return self.make_delassus()

    @cached_property
    def shared(self) -> SharedBodies | None:
        """The Delassus matrix by the bodies that the contacts share; None if some lie apart."""
        return self.make_shared() if self.make_shared else None

    @cached_property
    def velocity_form(self) -> VelocityForm:
        """The problem in end-of-step velocities."""
        return self.make_velocity_form()

    @cached_property
    def bilateral(self) -> Bilateral | None:
        """The constraints beside the contacts, None if there are none."""
        return self.make_bilateral() if self.make_bilateral else None


@dataclass(frozen=True)
class ContactSolution:
    """Impulses over the step: impulses[i] (3,) in N s; memory of the law; how the solve went.

    iterations: number of sweeps (0 for an explicit law)
    converged: 1 or 0
    bilateral (nb,): the constraints' impulses, None from a law that leaves them to the step
    joints (m,): impulses of the problem's joint rows, N m s or N s; None without any
    stage: place in `Law.stages` of the solver's stage that ended the solve; None without stages
    carrying[i] (3,): impulses that carry the coordinates over the step, where the impulses act at
        other times than the stepper's one instant (`contact/subcycle.py`); None: the impulses do
    """

    impulses: list[SX]
    memory: SX
    iterations: SX
    converged: SX
    bilateral: SX | None = None
    joints: SX | None = None
    carrying: list[SX] | None = None
    stage: SX | None = None

    def as_carried(self) -> ContactSolution:
        """The same with the impulses that carry the coordinates, the constraints' answer open."""
        impulses = self.impulses if self.carrying is None else self.carrying
        return replace(self, impulses=impulses, bilateral=None)

    def stacked(self) -> SX:
        """All impulses as one column (3n,)."""
        return ca.vertcat(*self.impulses) if self.impulses else SX(0, 1)
