"""The contact law interface.

To add a law:
1. write one file in `contact/laws/`; its name is the law's name on the command line;
2. in it, a frozen dataclass that derives from `ForceLaw` (a force at an instant, one contact at a
   time: springs, Hertz) or from `Law` (impulses over a step, all contacts together: prox, LCP);
3. its float fields are the law's parameters: give each a default, and a line with unit and symbol
   in the docstring; every one of them may be an array with one value a world;
4. say where it comes from in `citation`;
5. done: list, command line, contract tests, comparison and benchmark find it by its file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact import stability
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.errors import TarsusError, unknown
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation

NON_NEGATIVE = (
    "mu",
    "e_N",
    "e_T",
    "recovery",
    "c_N",
    "c_T",
    "d_N",
    "d_T",
    "T_rel",
    "T_abs",
    "alpha",
)


@dataclass(frozen=True)
class Law(ABC):
    """Impulses over one step for all contacts together.

    not_modeled: effect (of `tarsus validate`) -> why this law does not have it; contact_memory:
    numbers that the law keeps of each contact from step to step, one contact after the other;
    stiff: parameters that the ground's own stiffness scales (all named mu are scaled by its
    friction).
    """

    citation: ClassVar[Citation] = ""
    not_modeled: ClassVar[Mapping[str, str]] = {}
    contact_memory: ClassVar[int] = 0
    stiff: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, value in self.parameters().items():
            if np.isnan(value).any():
                raise TarsusError(f"{type(self).__name__}: {name} is NaN.")
            if name in NON_NEGATIVE and (value < 0).any():
                raise TarsusError(
                    f"{type(self).__name__}: {name} must not be negative, not {value.min():g}."
                )

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Every numeric field as an array (), or (worlds,) if it differs from world to world."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: np.asarray(value, dtype=float)
            for name, value in values.items()
            if not isinstance(value, (str, bool))
        }

    def memory_size(self, contacts: int) -> int:
        """Numbers a world that the law keeps from step to step."""
        return self.contact_memory * contacts

    def initial_memory(self, contacts: int) -> NDArray[np.float64]:
        """What the memory holds before the first step."""
        return np.zeros(self.memory_size(contacts))

    def own(self, memory: SX, i: int) -> SX:
        """The part (contact_memory,) of a memory that is contact i's."""
        return memory[i * self.contact_memory : (i + 1) * self.contact_memory]

    def closed(self, contact: Contact, memory: SX) -> SX:
        """1 where a contact with this memory (contact_memory,) takes part in the step, else 0."""
        return contact.gap <= 0

    def released(self, contact: Contact, p: Any, memory: SX) -> SX:
        """The next memory (contact_memory,) of a contact that takes no part."""
        return SX.zeros(self.contact_memory)

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """What bounds the step -> the longest stable one, s.

        masses: kg, that a contact feels along the normal, and the least in any direction; load: N,
        that it carries.
        """
        return {}

    @abstractmethod
    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        """Impulses of a problem; p has the parameters as symbols under their field names."""


@dataclass(frozen=True)
class ForceLaw(Law):
    """A force at an instant, one contact at a time; over a step its impulse is dt * force."""

    @abstractmethod
    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        """Force (3,) in N in the contact frame of a closed contact, and the contact's next
        memory.
        """

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """From the force's own slopes where it carries the load: see `contact/stability.py`."""
        return stability.of_force(
            self.force, self.parameters(), self.initial_memory(1), masses, load
        )

    def released(self, contact: Contact, p: Any, memory: SX) -> SX:
        """The contact's next memory while it is open."""
        return memory

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        impulses, memories = [], []
        for i, contact in enumerate(problem.contacts):
            own = self.own(memory, i)
            force, closed = asked(self, contact, p, own)
            impulses.append(ca.if_else(problem.active[i], problem.dt * force, 0))
            memories.append(ca.if_else(problem.active[i], closed, self.released(contact, p, own)))
        return ContactSolution(impulses, ca.vertcat(*memories), SX(0), SX(1))


def asked(law: ForceLaw, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
    """law.force(...), with the mistakes of a new law told in one sentence (TarsusError)."""
    name = type(law).__name__
    try:
        answer = law.force(contact, on_ground(law, contact, p), memory)
    except AttributeError as error:
        if error.obj is not p:
            raise
        raise unknown(f"parameter of {name}", str(error.name), vars(p)) from None
    except RuntimeError as error:
        if "truth value" not in str(error):
            raise
        raise TarsusError(
            f"{name}.force branches with Python's `if`, `and` or `max` on a symbol: use ca.if_else,"
            " ca.logic_and or ca.fmax."
        ) from None
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TarsusError(
            f"{name}.force must give back two things, the force (3,) and the next memory."
        )
    force, kept = (SX(part) for part in answer)
    for what, part, size in (("force", force, 3), ("next memory", kept, law.contact_memory)):
        if part.numel() != size:
            raise TarsusError(
                f"{name}.force gave a {what} of shape {part.shape}; it must be ({size},)."
            )
    return ca.vec(force), ca.vec(kept)


def on_ground(law: Law, contact: Contact, p: Any) -> Any:
    """The parameters as they are at a contact: the ground has its own share of friction and
    stiffness.
    """
    if contact.friction.is_one() and contact.stiffness.is_one():
        return p
    here = dict(vars(p))
    for name in here:
        if name == "mu":
            here[name] = contact.friction * here[name]
        elif name in law.stiff:
            here[name] = contact.stiffness * here[name]
    return SimpleNamespace(**here)


def symbols(values: dict[str, SX]) -> SimpleNamespace:
    """Parameters under their names, as `solve` and `force` take them."""
    return SimpleNamespace(**values)
