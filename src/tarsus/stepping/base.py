"""The stepper interface.

To add a stepper: one file in `stepping/methods/` with one frozen dataclass that derives from
`Stepper`; its name on the command line is the file's name. What two steppers share goes to
`assemble`, or to `explicit` if it is for Runge-Kutta steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from casadi import SX

from tarsus.contact.base import Law
from tarsus.contact.problem import ContactSolution
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.program.ir.trace import Builder, Values
from tarsus.references.reference import Citation
from tarsus.spatial.inertia import LinearInertia
from tarsus.terrain.base import Terrain


@dataclass(frozen=True, eq=False)
class Scene:
    """What is simulated: a mechanism whose candidates may touch a terrain under a contact law.

    stabilization: part of a loop joint's gap that its constraint takes back each step, 0 to 1, -;
    rare: numbers of the candidates that touch when the robot falls and not else: while none of
    them does, a step is solved without them.
    """

    mechanism: Mechanism
    law: Law
    terrain: Terrain
    candidates: tuple[Candidate, ...]
    stabilization: float = 0.0
    rare: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class StepInputs:
    """Symbols at the start of a step.

    q (nq,), u (nu,): coordinates and velocities; memory: the law's; tau (nu,): applied generalized
    force; dt: s; law, terrain: parameters by name; inertias: of all bodies; tau_loops: force or
    moment of each loop joint; bilateral (nb,): the constraints' impulses in the last step;
    overrides (n,): 1 for each contact that is open whatever its gap, -1 for one that stands on the
    ground although it may be shown above it, 0 for the others.
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
    contact_override: SX | None = None


@dataclass(frozen=True, eq=False)
class StepOutputs:
    """The end of the step."""

    q: SX
    u: SX
    contact: ContactSolution

    def values(self) -> Values:
        """By the names of a program's registers: q, u, memory, impulse (3n,), bilateral,
        iterations, converged.
        """
        solved = self.contact
        return {
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
        impulse = values["impulse"]
        impulses = [impulse[k : k + 3] for k in range(0, impulse.numel(), 3)]
        how = values["iterations"], values["converged"], values["bilateral"]
        solved = ContactSolution(impulses, values["memory"], *how)
        return cls(values["q"], values["u"], solved)


@dataclass(frozen=True)
class Stepper(ABC):
    """From the start of a step to its end.

    velocity_level: whether one balance of momentum, M (u^E - u^S) = dt h + W L at the coordinates
    `evaluation`, makes the step; if not (several evaluations a step), the log's equation residual
    is NaN.
    """

    citation: ClassVar[Citation] = ""
    velocity_level: ClassVar[bool] = True

    @property
    def inner_steps(self) -> int:
        """How many steps of a law one step is made of."""
        return 1

    @property
    def solves_once(self) -> bool:
        """Whether a step's impulses are one solution of the law, not a sum of several."""
        return self.inner_steps == 1

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Coordinates (nq,) at which a step from q, u first looks at its contacts: here those of
        its start.
        """
        return q

    @abstractmethod
    def step(self, scene: Scene, start: StepInputs, builder: Builder) -> StepOutputs:
        """One step as symbolic expressions; loops go through the builder."""
