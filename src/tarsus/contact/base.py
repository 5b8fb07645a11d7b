"""The contact law interface.

To add a law:
1. write one file in `contact/laws/`; its name is the law's name on the command line;
2. in it, a frozen dataclass that derives from one of
   `ForceLaw`: a force at an instant, one contact at a time (springs, Hertz),
   `HardLaw`: impulses over a step, all contacts together, velocities may jump (prox, LCP),
   `Law`: impulses over a step of ground that gives way;
3. declare its parameters, one line each (`tarsus.parameters`); every number may be an array with
   one value per world;
4. say where it comes from in `citation`;
5. done: list, command line, contract tests, comparison and benchmark find it by its file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact import stability
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.subcycle import force_slopes, subcycle
from tarsus.errors import InvalidValue, python_branching, unknown_name
from tarsus.parameters import check, check_all_declared, declared, roles
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation

ROUND_OFF = 1e-12  # m: of a gap, some kilometers from the origin


@dataclass(frozen=True)
class Law(ABC):
    """Impulses over one step for all contacts together."""

    citation: ClassVar[Citation] = ""
    """The published source."""

    not_modeled: ClassVar[Mapping[str, str]] = {}
    """Effect (of `tarsus validate`) -> why this law does not have it."""

    impulsive: ClassVar[bool] = False
    """Whether it changes velocities at an instant; a law that gives way needs time."""

    at_instants: ClassVar[bool] = False
    """Whether its impulses over dt, divided by it, are forces at an instant: steppers that look at
    several instants of a step then take it (`stepping/instants.py`)."""

    asks_less: ClassVar[bool] = False
    """Whether it leaves its correction out when a step cannot be solved with it
    (`ContactProblem.at_rest`)."""

    looks_loose: ClassVar[bool] = False
    """Whether it gives way by how mobile a contact is (`ContactProblem.loose`): which must not
    depend on who holds a joint, for that changes from step to step."""

    subcycles: ClassVar[bool] = False
    """Whether it integrates its forces with shorter steps where one is too long for them
    (`contact/subcycle.py`)."""

    contact_memory: ClassVar[int] = 0
    """Numbers that it keeps of each contact from step to step, one contact after the other."""

    def __post_init__(self) -> None:
        check_all_declared(self)
        check(self)

    @property
    def solves_joints(self) -> bool:
        """Whether it solves stops and dry friction as rows beside the contacts
        (`ContactProblem.joints`), where held joints leave a step unsolved."""
        return False

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages of its solver; empty if that is one method."""
        return ()

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Every numeric field as an array (), or (worlds,) if it differs from world to world; none
        of what was left out (None).
        """
        return {
            name: np.asarray(getattr(self, name), dtype=float)
            for name, declaration in declared(type(self)).items()
            if declaration.numeric and getattr(self, name) is not None
        }

    def memory_size(self, contacts: int) -> int:
        """Numbers a world that the law keeps from step to step."""
        return self.contact_memory * contacts

    def initial_memory(self, contacts: int) -> NDArray[np.float64]:
        """The memory before the first step."""
        return np.zeros(self.memory_size(contacts))

    def memory_of(self, memory: SX, i: int) -> SX:
        """The part (contact_memory,) of a memory that is contact i's."""
        return memory[i * self.contact_memory : (i + 1) * self.contact_memory]

    def closed(self, contact: Contact, memory: SX) -> SX:
        """1 where a contact with this memory (contact_memory,) takes part in the step, else 0."""
        return contact.gap - contact.sinks <= 0

    def is_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 if a contact with this memory is closed and not farther than `away`, else 0."""
        closed = self.closed(contact, memory)
        if contact.away is None:
            return closed
        return ca.logic_and(closed, contact.gap <= contact.away)

    def closes_at(self, gap: SX) -> SX:
        """Return 1 if a contact that was open in the last step closes at this gap, m, else 0."""
        return self.closed(_contact_with(gap), self.new_memory)

    def stays_closed(self, memory: SX) -> SX:
        """Return 1 if a contact with this memory (contact_memory,) is closed whatever its gap."""
        return self.closed(_contact_with(SX.inf()), memory)

    @property
    def new_memory(self) -> SX:
        """Memory (contact_memory,) of a contact that was open in the last step."""
        return self.memory_of(SX(self.initial_memory(1)), 0)

    def correction(self, contact: Contact, p: Any, memory: SX, dt: SX) -> SX:
        """What a hard law adds to a contact's velocity after the step (3,), m/s, before it asks
        that the contact rest.
        """
        return SX.zeros(3)

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
class HardLaw(Law):
    """Ground that does not give way; a contact's memory begins with its last normal impulse.

    A contact that pressed in the last step takes part in this one although round-off shows it above
    the ground: docs/decisions/0009-contacts-that-pressed-stay.md. So does one that is no higher
    than round-off: of the corners of a box laid flush on a slope each may show above or below.
    """

    impulsive: ClassVar[bool] = True

    def closed(self, contact: Contact, memory: SX) -> SX:
        """Its gap is closed to round-off, or it pressed in the last step."""
        return ca.logic_or(contact.gap <= ROUND_OFF, memory[0] > 0)

    def carried_on(self, contact: Contact, dt: SX) -> SX:
        """What dW^T/dt u adds to a contact's velocity (3,) in half a step, m/s: if a contact that
        pressed rests but for that, it moves by nothing of second order in dt over the whole step.
        """
        return 0.5 * dt * contact.velocity_product


@dataclass(frozen=True)
class ForceLaw(Law):
    """A force at an instant, one contact at a time; over a step its impulse is dt * force."""

    at_instants: ClassVar[bool] = True
    subcycles: ClassVar[bool] = True

    @abstractmethod
    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        """Force (3,) in N in the contact frame of a closed contact, and its next memory."""

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
        def evaluate(problem: ContactProblem, memory: SX) -> tuple[list[SX], SX]:
            forces, kept = forces_of(self, problem.contacts, problem.active, p, memory)
            return [problem.dt * force for force in forces], kept

        def slopes(i: int, contact: Contact, memory: SX) -> tuple[SX, SX]:
            own = self.memory_of(memory, i)
            return force_slopes(lambda moved: asked(self, moved, p, own)[0], contact)

        done = subcycle(problem, memory, evaluate, slopes, builder)
        solved = done.impulses, done.memory, done.substeps, done.stable
        return ContactSolution(*solved, carrying=done.carrying)


def forces_of(
    law: ForceLaw, contacts: list[Contact], closed: list[SX], p: Any, memory: SX
) -> tuple[list[SX], SX]:
    """The force (3,) on every contact at an instant, N, zero where it is not closed, and the law's
    next memory.
    """
    forces, memories = [], [SX(0, 1)]
    for i, (contact, presses) in enumerate(zip(contacts, closed, strict=True)):
        own = law.memory_of(memory, i)
        force, pressed = asked(law, contact, p, own)
        forces.append(ca.if_else(presses, force, 0))
        memories.append(ca.if_else(presses, pressed, law.released(contact, p, own)))
    return forces, ca.vertcat(*memories)


def asked(law: ForceLaw, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
    """law.force(...), with the mistakes of a new law explained in one sentence (TarsusError)."""
    name = type(law).__name__
    # ask, and turn Python's errors into sentences
    try:
        answer = law.force(contact, on_ground(law, contact, p), memory)
    except AttributeError as error:
        if error.obj is not p:
            raise
        raise unknown_name(f"parameter of {name}", str(error.name), vars(p)) from None
    except RuntimeError as error:
        if "truth value" not in str(error):
            raise
        raise python_branching(f"{name}.force") from None
    # check what came back
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise InvalidValue(
            f"{name}.force must return two values: the force (3,) and the next memory.", name
        )
    force, kept = (SX(part) for part in answer)
    for what, part, size in (("force", force, 3), ("next memory", kept, law.contact_memory)):
        if part.numel() != size:
            raise InvalidValue(
                f"{name}.force returned a {what} of shape {part.shape}; return shape ({size},).",
                name,
            )
    return ca.vec(force), ca.vec(kept)


def on_ground(law: Law, contact: Contact, p: Any) -> Any:
    """The parameters as they are at a contact, scaled by the ground's friction and stiffness."""
    if contact.friction.is_one() and contact.stiffness.is_one():
        return p
    factors = {
        "friction": contact.friction,
        "kinetic_friction": contact.friction,
        "stiffness": contact.stiffness,
        "damping": contact.stiffness,
    }
    here = dict(vars(p))
    for name, role in roles(type(law)).items():
        if role in factors and name in here:
            here[name] = factors[role] * here[name]
    return SimpleNamespace(**here)


def symbols(values: dict[str, SX]) -> SimpleNamespace:
    """Parameters under their names, as `solve` and `force` take them."""
    return SimpleNamespace(**values)


def _contact_with(gap: SX) -> Contact:
    """Return a contact of which only the gap is known, m."""
    return Contact(gap, SX.zeros(3), SX.zeros(3), SX.eye(3))
