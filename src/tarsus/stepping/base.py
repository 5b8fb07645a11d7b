"""The stepper interface.

To add a stepper: one file in `stepping/methods/` with one frozen dataclass that derives from
`Stepper`; its name on the command line is the file's name. It overrides what it can do where that
differs: `order`, `instant`, `evaluation`, `takes_impulses`, `holds_constraints`, `takes_slots`; one
of several steps of a law `inner_steps` and `solves_once`, one that locates impacts `no_strikes`.
What two steppers share goes to `assemble`, or to `runge_kutta` if it is for Runge-Kutta steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from casadi import SX
from numpy.typing import NDArray

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
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints
from tarsus.stepping.strikes import Strikes
from tarsus.terrain.base import Terrain

METHODS = "tarsus.stepping.methods"
FAST = 0.1  # rad in one step: below it c(q, u^S) does (`fast_motion`)
WAITING = -1  # in place of how many contacts found no slot: none was looked at yet


@dataclass(frozen=True, eq=False)
class Scene:
    """The simulated system: a mechanism whose candidates may touch a terrain under a contact law.

    candidates, secondary, slots, spans, pairs: what may touch what (`Geometry`)
    stabilization: part of a loop joint's gap that its constraint takes back each step, 0 to 1 [1]
    limits: whether joints stop at the ends of their ranges
    bounce: restitution coefficient there [1]
    stiction: whether dry friction holds joints at rest; if not it is a damper
    fast: rad, beyond which a joint that turns in a step is fast (`fast_motion`)
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
    fast: float = FAST
    spans: tuple[Span, ...] = ()

    @cached_property
    def geometry(self) -> Geometry:
        """What may touch what, as collision detection sees it."""
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

    def initial_memory(self) -> NDArray[np.float64]:
        """The law's memory of these before the first step, then the number of the candidate that
        each slot holds.
        """
        empty = np.full(self.slots, float(EMPTY))
        return np.concatenate([self.law.initial_memory(self.geometry.reported), empty])


@dataclass(frozen=True, eq=False)
class Evaluation:
    """When and how a stepper evaluates the dynamics within a step.

    Parameters
    ----------
    instant : float or None
        Fraction of the step at which it evaluates them, as it did in the last step; None: not
        known, and joints that turn fast are not treated separately (`fast_motion`).
    impact : bool
        Whether the coordinates stand still while velocities change.
    subcycles : bool
        Whether a force law may integrate its forces with shorter steps (`subcycling`).
    overrides : SX or None
        (n,): 1 treats a contact as open whatever its gap, -1 as closed although round-off shows a
        positive gap, 0 decides by its gap; None: all by their gaps.
    begun : SX or None
        What the step began with, if a stepper evaluates more than once (`instants.begun`).
    """

    instant: float | None = None
    impact: bool = False
    subcycles: bool = False
    overrides: SX | None = None
    begun: SX | None = None


@dataclass(frozen=True, eq=False)
class StepStart:
    """What a step begins with.

    Parameters
    ----------
    q, u : SX
        Coordinates (nq,) and velocities (nu,).
    memory : SX
        The law's memory, and the contact numbers of the slots.
    tau : SX
        Applied generalized force (nu,), N or N m.
    dt : SX
        Length of the step, s.
    law, terrain : namespace
        Parameters by name.
    inertias : list of LinearInertia
        Of all bodies.
    tau_loops : SX
        Force or moment of each loop joint, N or N m.
    bilateral : SX
        Impulses (nb,) of the constraints in the last step.
    impulse : SX or None
        Contact impulses (3 n,) that the last step reported; empty slots keep theirs, which are
        zero. None: not known.
    servos : ActuatorForce or None
        Actuators of a file whose forces depend on the state within the step; None: tau is all.
    give : SX or None
        What tau loses (nu,) per change of the velocities over the step; None: nothing.
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
    give: SX | None = None
    evaluation: Evaluation = field(default_factory=Evaluation)


@dataclass(frozen=True, eq=False)
class Attempt:
    """How one attempt at solving a step differs from the first.

    Parameters
    ----------
    locked : LockedJoints or None
        Joints held at a limit or by dry friction; None: all are free.
    bounded : BoundedJoints or None
        Such joints as rows of the contact problem, none being locked.
    restart : SX or None
        1 where a solver ignores the last step's contact states (`ContactProblem.restart`).
    at_rest : SX or None
        1 where contacts must rest, and no more (`ContactProblem.at_rest`).
    warm_start : SX or None
        Memory to begin contacts in slots from (`ContactProblem.warm_start`); None: the start's.
    defers_slots : bool
        Whether contacts in slots wait for an attempt with joints locked at their limits.
    """

    locked: LockedJoints | None = None
    bounded: BoundedJoints | None = None
    restart: SX | None = None
    at_rest: SX | None = None
    warm_start: SX | None = None
    defers_slots: bool = False


@dataclass(frozen=True, eq=False)
class StepOutputs:
    """The end of a step.

    q, u: coordinates (nq,) and velocities (nu,)
    contact: the law's solution, impulses in N s
    strikes: the impacts that the step located; None if it locates none
    left_out: how many contacts touch but found no slot (`slots`), WAITING where they wait for the
        limits of joints; None where none is rare
    carried: velocity (nu,) that carries the coordinates on from where contacts are seen, of a law
        that subcycles; None: u does
    joints: impulses of the limits of all joints that may be held (m,), then of dry friction in
        those that have it, N m s or N s; None where none may be held
    """

    q: SX
    u: SX
    contact: ContactSolution
    strikes: Strikes | None = None
    left_out: SX | None = None
    joints: SX | None = None
    carried: SX | None = None

    @property
    def reports(self) -> Values:
        """What the step tells beside its end, by the names of report registers."""
        return {} if self.strikes is None else self.strikes.values()

    def values(self) -> Values:
        """By the names of a program's registers: q, u, memory, impulse (3n,), bilateral,
        iterations, converged; left_out, joints and stage, if it has them.
        """
        solved = self.contact
        others = {"left_out": self.left_out, "joints": self.joints, "carried": self.carried}
        others |= {"stage": solved.stage}
        return {name: value for name, value in others.items() if value is not None} | {
            "q": self.q,
            "u": self.u,
            "memory": solved.memory,
            "impulse": solved.stacked(),
            "bilateral": SX(0, 1) if solved.bilateral is None else solved.bilateral,
            "iterations": solved.iterations,
            "converged": solved.converged,
        }

    @classmethod
    def of(cls, values: Values) -> StepOutputs:
        """The inverse of `values`."""
        how = values["iterations"], values["converged"], values["bilateral"]
        solved = ContactSolution(triples(values["impulse"]), values["memory"], *how)
        solved = replace(solved, stage=values.get("stage"))
        others = (values.get(name) for name in ("left_out", "joints", "carried"))
        return cls(values["q"], values["u"], solved, None, *others)


@dataclass(frozen=True)
class Stepper(ABC):
    """From the start of a step to its end.

    velocity_level: whether one balance of momentum, M (u^E - u^S) = dt h + W L at the coordinates
        `evaluation`, makes the step; if not (several evaluations a step), the log's equation
        residual is NaN
    """

    citation: ClassVar[Citation] = ""
    velocity_level: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self)

    @property
    def order(self) -> int | None:
        """Order of convergence in smooth motion; None where a tolerance, not dt, sets the error."""
        return 1

    @property
    def instant(self) -> float | None:
        """Fraction of the step at which contacts are seen, 0 to 1 [1]; None if at several."""
        return 0.0 if self.velocity_level else None

    @property
    def takes_impulses(self) -> bool:
        """Whether it takes every law; if not, those with forces at an instant alone."""
        return self.velocity_level

    @property
    def holds_constraints(self) -> bool:
        """Whether it holds the constraints of cut joints and closed loops."""
        return self.velocity_level

    @property
    def takes_slots(self) -> bool:
        """Whether it looks at its contacts once a step, and so can gather those that touch."""
        return self.velocity_level

    @property
    def inner_steps(self) -> int:
        """How many steps of a law one step is made of."""
        return 1

    @property
    def solves_once(self) -> bool:
        """Whether a step's impulses are one solution of the law, not a sum of several."""
        return self.inner_steps == 1

    @property
    def subcycles(self) -> bool:
        """Whether it lets a law integrate its forces with shorter steps (`contact/subcycle.py`)."""
        return False

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Coordinates (nq,) at which a step from q, u first looks at its contacts: here those of
        its start.
        """
        return q

    def no_strikes(self, scene: Scene, start: StepStart) -> Strikes | None:
        """The table of located impacts before the first; None if the stepper locates none."""
        return None

    @abstractmethod
    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        """One step as symbolic expressions; loops go through the builder."""
