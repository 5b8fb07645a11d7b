"""The stepper interface.

To add a stepper: one file in `stepping/` with one frozen dataclass that derives from `Stepper`; its name on the
command line is the file's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from casadi import SX

from tarsus.contact.base import Law
from tarsus.contact.problem import ContactSolution
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.program.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.terrain.base import Terrain


@dataclass(frozen=True, eq=False)
class Scene:
    """What is simulated: a mechanism whose candidates may touch a terrain under a contact law."""

    mechanism: Mechanism
    law: Law
    terrain: Terrain
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, eq=False)
class StepInputs:
    """Symbols at the start of a step.

    q (nq,), u (nu,): coordinates and velocities; memory: the law's; tau (nu,): applied generalised force;
    dt: s; law, terrain: parameters by name; inertias: of all bodies.
    """

    q: SX
    u: SX
    memory: SX
    tau: SX
    dt: SX
    law: Any
    terrain: Any
    inertias: list[LinearInertia]


@dataclass(frozen=True, eq=False)
class StepOutputs:
    """The end of the step."""

    q: SX
    u: SX
    contact: ContactSolution


@dataclass(frozen=True)
class Stepper(ABC):
    """From the start of a step to its end."""

    citation: ClassVar[str]

    @abstractmethod
    def step(self, scene: Scene, start: StepInputs, builder: Builder) -> StepOutputs:
        """One step as symbolic expressions; loops go through the builder."""
