"""The stepper interface.

To add a stepper, write one file in `stepping/methods/` with one frozen dataclass that derives from
`Stepper`; its name on the command line is the file's name. Override what differs from the defaults:
`order`, `instant`, `evaluation`, `supports_impulses`, `supports_constraints`, `supports_slots`; for
a stepper made of several steps also `inner_steps` and `solves_once`, for one that locates impacts
`empty_impacts`. Code that two steppers share belongs in `assemble`, or in `runge_kutta` if it is
about Runge-Kutta steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus import registry
from tarsus.algebra.blocks import triples
from tarsus.collision.geometry import EMPTY, Geometry
from tarsus.contact.base import Law
from tarsus.contact.problem import ContactSolution
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.model.solids import Pair
from tarsus.model.spans import Span
from tarsus.parameters import check
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.impacts import ImpactRecord
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints
from tarsus.terrain.base import Terrain

METHODS = "tarsus.stepping.methods"
FAST_TURN_ANGLE = 0.1  # rad in one step; a joint that turns farther is fast (`fast_motion`)
MOMENT_MEMORY = 4  # entries of `memory` per contact with torsional or rolling friction
SLOTS_DEFERRED = -1  # value of `overflow` while contacts in slots are yet to be solved


@dataclass(frozen=True, eq=False)
class Scene:
    """A mechanism whose candidates may touch a terrain under a contact law.

    Attributes
    ----------
    mechanism
        Bodies and joints.
    law
        Contact law.
    terrain
        The ground.
    candidates, secondary, slots, spans, pairs
        Shapes that may touch the ground or each other (`Geometry`).
    stabilization
        Fraction of a loop joint's gap that its constraint removes each step, 0 to 1.
    limits
        Whether joints stop at the ends of their ranges.
    bounce
        Coefficient of restitution at these ends.
    stiction
        Whether dry friction can hold a joint at rest; if not, it is modeled as a damper.
    fast_turn_angle
        Angle in rad beyond which a joint that turns in one step is fast (`fast_motion`).
    patches
        Names of the candidates of each sole of which only the deepest are solved (`patches`).
    rotational_inertias
        Inertia that rotations of the body of each of `moment_contacts` feel, kg m^2; empty if no
        torsional and rolling friction is simulated (`contact_moments`).
    """

    mechanism: Mechanism
    law: Law
    terrain: Terrain
    candidates: tuple[Candidate, ...]
    stabilization: float = 0.0
    secondary: tuple[int, ...] = ()
    slots: int = 0
    limits: bool = False
    bounce: float = 0.0
    stiction: bool = True
    pairs: tuple[Pair, ...] = ()
    fast_turn_angle: float = FAST_TURN_ANGLE
    spans: tuple[Span, ...] = ()
    patches: tuple[tuple[str, ...], ...] = ()
    rotational_inertias: tuple[float, ...] = ()

    @cached_property
    def geometry(self) -> Geometry:
        """Candidates, spans and pairs for collision detection."""
        return Geometry(
            self.mechanism,
            self.terrain,
            self.candidates,
            self.secondary,
            self.slots,
            self.spans,
            self.pairs,
            closes=self.law.closes_at,
        )

    @cached_property
    def moment_contacts(self) -> list[int]:
        """Indices among primary contacts of those that have torsional or rolling friction."""
        if not self.rotational_inertias:
            return []
        primary = [self.candidates[i] for i in self.geometry.primary]
        return [i for i, candidate in enumerate(primary) if candidate.resists_rotation]

    @property
    def slot_numbers(self) -> slice:
        """Part of the register `memory` with the contact numbers of the slots."""
        first = self.law.memory_size(self.geometry.report_count)
        return slice(first, first + self.slots)

    @property
    def moment_memory(self) -> slice:
        """Part of the register `memory` of `moment_contacts`."""
        first = self.slot_numbers.stop
        return slice(first, first + MOMENT_MEMORY * len(self.moment_contacts))

    def initial_memory(self) -> NDArray[np.float64]:
        """Create the register `memory` before the first step.

        It has the law's memory, the contact numbers of the slots, and the memory of the contacts
        with torsional or rolling friction.
        """
        numbers = np.full(self.slots, float(EMPTY))
        moments = np.zeros(MOMENT_MEMORY * len(self.moment_contacts))
        law = self.law.initial_memory(self.geometry.report_count)
        return np.concatenate([law, numbers, moments])


@dataclass(frozen=True, eq=False)
class Evaluation:
    """When and how a stepper evaluates the dynamics within a step.

    Parameters
    ----------
    instant : float or None
        Fraction of the step at which the dynamics are evaluated, the same in every step. None if it
        is not known; then joints that turn fast are not treated separately (`fast_motion`).
    impact : bool
        Whether velocities change while the coordinates stay as they are.
    mean_velocity : bool
        Whether steps in flight evaluate the velocity terms at their mean velocity (`flight`).
    subcycles : bool
        Whether a force law may integrate its forces in substeps (`subcycling`).
    overrides : SX or None
        Shape (n,): 1 treats a contact as open whatever its gap, -1 as closed although round-off
        shows a positive gap, 0 decides by its gap. None decides all contacts by their gaps.
    start_contacts : SX or None
        Contacts at the start of the step, for steppers that evaluate more than once
        (`instants.start_contacts`).
    """

    instant: float | None = None
    impact: bool = False
    mean_velocity: bool = False
    subcycles: bool = False
    overrides: SX | None = None
    start_contacts: SX | None = None


@dataclass(frozen=True, eq=False)
class StepStart:
    """State, inputs and parameters at the start of a step.

    Parameters
    ----------
    q, u : SX
        Coordinates (nq,) and velocities (nu,).
    memory : SX
        Memory of the law, contact numbers of the slots, memory of contact moments.
    tau : SX
        Applied generalized force (nu,), N or N m.
    dt : SX
        Length of the step, s.
    law, terrain : namespace
        Parameters by name.
    inertias : list of LinearInertia
        Inertias of all bodies.
    tau_loops : SX
        Force or moment of each loop joint, N or N m.
    bilateral : SX
        Impulses (nb,) of the constraints in the last step.
    impulse : SX or None
        Contact impulses (3 n,) that the last step reported; those of empty slots are zero. None if
        unknown.
    servos : ActuatorForce or None
        Actuators of a robot file whose forces depend on the state within the step; None if tau is
        the whole force.
    implicit_damping : SX or None
        Decrease of tau per change of the velocities over the step, N s/m or N m s/rad, as in
        `Drive`; None for zero.
    evaluation : Evaluation
        When and how the stepper evaluates the dynamics.
    """

    q: SX
    u: SX
    memory: SX
    tau: SX
    dt: SX
    law: Any
    terrain: Any
    inertias: list[LinearInertia]
    tau_loops: SX = field(default_factory=lambda: SX(0, 1))
    bilateral: SX = field(default_factory=lambda: SX(0, 1))
    impulse: SX | None = None
    servos: Any = None
    implicit_damping: SX | None = None
    evaluation: Evaluation = field(default_factory=Evaluation)


@dataclass(frozen=True, eq=False)
class Attempt:
    """Difference between one attempt at solving a step and the first.

    Parameters
    ----------
    locked : LockedJoints or None
        Joints locked at a limit or by dry friction; None if all are free.
    bounded : BoundedJoints or None
        The same joints as rows of the contact problem, none of them locked.
    restart : SX or None
        1 where the solver ignores the contact states of the last step (`ContactProblem.restart`).
    skip_correction : SX or None
        1 where the law drops its correction (`ContactProblem.skip_correction`).
    warm_start : SX or None
        Memory from which contacts in slots start (`ContactProblem.warm_start`); None for that of
        `StepStart`.
    defers_slots : bool
        Whether contacts in slots are left to a later attempt, which locks joints at their limits.
    """

    locked: LockedJoints | None = None
    bounded: BoundedJoints | None = None
    restart: SX | None = None
    skip_correction: SX | None = None
    warm_start: SX | None = None
    defers_slots: bool = False


@dataclass(frozen=True, eq=False)
class StepOutputs:
    """State and solution at the end of a step.

    Attributes
    ----------
    q, u
        Coordinates (nq,) and velocities (nu,).
    contact
        Solution of the contact law, impulses in N s.
    impacts
        Impacts that the step located; None if the stepper does not locate them.
    overflow
        Number of contacts that touch but got no slot (`slots`); SLOTS_DEFERRED while they are yet
        to be solved; None without secondary contacts.
    coordinate_velocity
        Velocity (nu,) that advances the coordinates after the evaluation, if the law subcycles;
        None if it is u.
    joints
        Impulses (m,) of the limits of all lockable joints, followed by those of dry friction in the
        joints that have it, N m s or N s; None if no joint can be locked.
    """

    q: SX
    u: SX
    contact: ContactSolution
    impacts: ImpactRecord | None = None
    overflow: SX | None = None
    joints: SX | None = None
    coordinate_velocity: SX | None = None

    @property
    def reports(self) -> Values:
        """Reports of the step besides its end, by register name."""
        return {} if self.impacts is None else self.impacts.to_registers()

    def to_registers(self) -> Values:
        """Return the outputs by register name.

        These are q, u, memory, impulse (3n,), bilateral, iterations and converged, and, where
        present, overflow, joints, coordinate_velocity and stage.
        """
        solved = self.contact
        optional = {"overflow": self.overflow, "joints": self.joints}
        optional |= {"coordinate_velocity": self.coordinate_velocity, "stage": solved.stage}
        return {name: value for name, value in optional.items() if value is not None} | {
            "q": self.q,
            "u": self.u,
            "memory": solved.memory,
            "impulse": solved.stack(),
            "bilateral": SX(0, 1) if solved.bilateral is None else solved.bilateral,
            "iterations": solved.iterations,
            "converged": solved.converged,
        }

    @classmethod
    def from_registers(cls, values: Values) -> StepOutputs:
        """Restore the outputs from their registers."""
        outcome = values["iterations"], values["converged"], values["bilateral"]
        solved = ContactSolution(triples(values["impulse"]), values["memory"], *outcome)
        solved = replace(solved, stage=values.get("stage"))
        optional = (values.get(name) for name in ("overflow", "joints", "coordinate_velocity"))
        return cls(values["q"], values["u"], solved, None, *optional)


@dataclass(frozen=True)
class Stepper(ABC):
    """Numerical method that advances a scene by one step.

    Attributes
    ----------
    velocity_level
        Whether the step is one balance of momentum, M (u^E - u^S) = dt h + W L at the coordinates
        `evaluation`. If not, for methods with several evaluations per step, the equation residual
        in the log is NaN.
    """

    citation: ClassVar[Citation] = ""
    velocity_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    @property
    def order(self) -> int | None:
        """Order in smooth motion without contact and damping; None if set by a tolerance."""
        return 1

    @property
    def instant(self) -> float | None:
        """Fraction of the step at which contacts are evaluated, 0 to 1; None if at several."""
        return 0.0 if self.velocity_level else None

    @property
    def mean_velocity(self) -> bool:
        """Whether steps in flight evaluate the velocity terms at their mean velocity (`flight`)."""
        return False

    @property
    def supports_impulses(self) -> bool:
        """Whether the stepper supports every law, not only laws that give a force at an instant."""
        return self.velocity_level

    @property
    def supports_constraints(self) -> bool:
        """Whether the stepper supports the constraints of cut joints and closed loops."""
        return self.velocity_level

    @property
    def supports_slots(self) -> bool:
        """Whether the stepper evaluates contacts once per step, as slots require."""
        return self.velocity_level

    @property
    def inner_steps(self) -> int:
        """Number of contact problems per step, one for each inner step."""
        return 1

    @property
    def solves_once(self) -> bool:
        """Whether the impulses of a step are one solution of the law, not a sum of several."""
        return self.inner_steps == 1

    @property
    def subcycles(self) -> bool:
        """Whether a law may integrate its forces in substeps (`contact/subcycle.py`)."""
        return False

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Compute the coordinates (nq,) at which a step from q, u first evaluates its contacts."""
        return q

    def empty_impacts(self, scene: Scene, start: StepStart) -> ImpactRecord | None:
        """Create the empty table of located impacts; None if the stepper locates none."""
        return None

    @abstractmethod
    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        """Trace one step as symbolic expressions; loops are traced by the builder."""


def stepper_names(fits: Callable[[Stepper], bool]) -> str:
    """List the names of the known steppers that fit, separated by commas, for a message."""
    steppers = registry.member_classes(METHODS, "stepper", Stepper)
    return ", ".join(name for name, make in steppers.items() if fits(make()))
