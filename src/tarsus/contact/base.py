"""The contact law interface.

To add a law:

1. Write one file in `contact/laws/`; its name is the law's name on the command line.
2. In it, define a frozen dataclass that derives from one of these: `ForceLaw` for a force at an
   instant, one contact at a time (springs, Hertz); `HardLaw` for impulses over a step, all contacts
   together, with velocity jumps (prox, LCP); `Law` for impulses over a step of compliant ground.
3. Declare its parameters, one line each (`tarsus.parameters`); every number may be an array with
   one value per world.
4. Name the source in `citation`.

Lists, command line, contract tests, comparison and benchmark then find the law by its file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.contact import stability
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.subcycle import force_slopes, subcycle
from tarsus.errors import InvalidValue, branching_error, unknown_name_error
from tarsus.parameters import check, check_all_declared, declared_fields, roles
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation

REST_DEPTH = 1e-3  # m: depth at which the force of a contact at rest is checked
GAP_ROUND_OFF = 1e-12  # m: round-off of a gap, some kilometers from the origin


@dataclass(frozen=True)
class Law(ABC):
    """Contact law: computes the impulses of all contacts over one step.

    A law is a frozen dataclass whose fields are its parameters. Pass an instance to `Simulation`,
    or derive from this class to write a law of your own.

    Attributes
    ----------
    citation
        Published source.
    not_modeled
        Effects of `tarsus validate` that the law does not have, each with the reason.
    impulsive
        Whether the law changes velocities at an instant. A compliant law needs time.
    at_instants
        Whether its impulses over dt, divided by dt, are forces at an instant; steppers with several
        evaluations per step need that (`stepping/instants.py`).
    correction_is_optional
        Whether the law drops its correction when a step cannot be solved with it
        (`ContactProblem.skip_correction`).
    uses_free_mobility
        Whether its compliance depends on the mobility of a contact
        (`ContactProblem.free_mobility`), which must not change when a joint is locked.
    subcycles
        Whether it integrates its forces in substeps where a step is too long for them
        (`contact/subcycle.py`).
    contact_memory
        Number of values per contact that the law carries from step to step.

    Examples
    --------
    >>> import tarsus
    >>> law = tarsus.Moreau(mu=0.5)
    >>> isinstance(law, tarsus.Law), law.impulsive
    (True, True)
    >>> law.parameters()["mu"]
    array(0.5)
    """

    citation: ClassVar[Citation] = ""

    not_modeled: ClassVar[Mapping[str, str]] = {}

    impulsive: ClassVar[bool] = False

    at_instants: ClassVar[bool] = False

    correction_is_optional: ClassVar[bool] = False

    uses_free_mobility: ClassVar[bool] = False

    subcycles: ClassVar[bool] = False

    contact_memory: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_all_declared(self)
        check(self)

    @property
    def solves_joints(self) -> bool:
        """Whether the law can solve joint limits and dry friction as rows of the contact problem.

        See `ContactProblem.joints`; they are used where locking joints leaves a step unsolved.
        """
        return False

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages of its solver; empty if it is a single method."""
        return ()

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return every numeric field that is set.

        Returns
        -------
        dict of str to ndarray
            Shape (), or (worlds,) for a field that differs from world to world.
        """
        return {
            name: np.asarray(getattr(self, name), dtype=float)
            for name, declaration in declared_fields(type(self)).items()
            if declaration.is_numeric and getattr(self, name) is not None
        }

    def memory_size(self, contacts: int) -> int:
        """Return the number of values per world that the law carries from step to step."""
        return self.contact_memory * contacts

    def initial_memory(self, contacts: int) -> NDArray[np.float64]:
        """Return the memory before the first step."""
        return np.zeros(self.memory_size(contacts))

    def memory_of(self, memory: SX, i: int) -> SX:
        """Select the part (contact_memory,) of a memory that belongs to contact i."""
        return memory[i * self.contact_memory : (i + 1) * self.contact_memory]

    def considers_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 where a contact with this memory (contact_memory,) is active, else 0."""
        return contact.gap - contact.possible_sinking <= 0

    def is_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 if a contact is closed and its gap is at most `Contact.max_gap`, else 0."""
        closed = self.considers_closed(contact, memory)
        if contact.max_gap is None:
            return closed
        return ca.logic_and(closed, contact.gap <= contact.max_gap)

    def closes_at(self, gap: SX) -> SX:
        """Return 1 if a contact that was open in the last step closes at this gap, m, else 0."""
        return self.considers_closed(_create_contact_at_gap(gap), self.new_memory)

    def stays_closed(self, memory: SX) -> SX:
        """Return 1 if a contact with this memory (contact_memory,) is closed at any gap."""
        return self.considers_closed(_create_contact_at_gap(SX.inf()), memory)

    @property
    def new_memory(self) -> SX:
        """Memory (contact_memory,) of a contact that was open in the last step."""
        return self.memory_of(SX(self.initial_memory(1)), 0)

    def correction(self, contact: Contact, p: Any, memory: SX, dt: SX) -> SX:
        """Compute the velocity (3,), m/s, that hard laws add before they require a contact to rest.

        Parameters
        ----------
        contact : Contact
            Contact at the instant of evaluation.
        p : namespace
            Parameters as symbols, by field name.
        memory : SX
            Memory (contact_memory,) of the contact.
        dt : SX
            Length of the step, s.
        """
        return SX.zeros(3)

    def memory_when_open(self, contact: Contact, p: Any, memory: SX) -> SX:
        """Compute the next memory (contact_memory,) of an open contact."""
        return SX.zeros(self.contact_memory)

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Compute the limits on the stable step length, by name.

        Parameters
        ----------
        masses : tuple of float
            Mass that a contact feels along the normal, and the least in any direction, kg.
        load : float
            Force that the contact carries, N.

        Returns
        -------
        dict of str to float
            Longest stable step, s, by the name of what limits it.
        """
        return {}

    @abstractmethod
    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        """Solve a contact problem.

        Parameters
        ----------
        problem : ContactProblem
            The contacts of the step.
        p : namespace
            Parameters as symbols, by field name.
        memory : SX
            Memory of the law.
        builder : Builder
            Traces loops.

        Returns
        -------
        ContactSolution
            Impulses over the step, and the next memory.
        """


@dataclass(frozen=True)
class HardLaw(Law):
    """Law of rigid ground; a contact's memory starts with its last normal impulse.

    A contact that pressed in the last step is active in this one even if round-off shows it above
    the ground (docs/decisions/0009-active-contacts-persist.md). So is one that is above the
    ground by no more than round-off: the corners of a box placed flush on a slope may each show
    above or below.
    """

    impulsive: ClassVar[bool] = True

    def considers_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 if the gap is closed to round-off, or the contact pressed in the last step."""
        return ca.logic_or(contact.gap <= GAP_ROUND_OFF, memory[0] > 0)

    def half_step_change(self, contact: Contact, dt: SX) -> SX:
        """Compute the effect of dW^T/dt u on a contact's velocity (3,) in half a step, m/s.

        If a contact that pressed rests except for that, its displacement over the whole step
        vanishes to second order in dt.
        """
        return 0.5 * dt * contact.velocity_product


@dataclass(frozen=True)
class ForceLaw(Law):
    """Law that gives a force at an instant, one contact at a time.

    Derive from this class and implement `force`; over a step the impulse is dt times the force, or
    the sum over substeps where one step is too long for the force to be stable.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import casadi as ca
    >>> from tarsus import ForceLaw, Simulation
    >>> from tarsus.parameters import Value, damping, stiffness
    >>> @dataclass(frozen=True)
    ... class Spring(ForceLaw):
    ...     k: Value = stiffness(2e4, "N/m", "stiffness of the ground")
    ...     d: Value = damping(100.0, "N s/m", "damping of the ground")
    ...
    ...     def force(self, contact, p, memory):
    ...         normal = ca.fmax(-p.k * contact.gap - p.d * contact.velocity[0], 0)
    ...         return ca.vertcat(normal, 0, 0), memory
    >>> simulation = Simulation("mini_cheetah", law=Spring(k=5e4), dt=1e-3)
    >>> simulation.law.k
    50000.0
    """

    at_instants: ClassVar[bool] = True
    subcycles: ClassVar[bool] = True

    @abstractmethod
    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        """Compute the force of a closed contact.

        Parameters
        ----------
        contact : Contact
            Gap, velocity, point and frame of the contact.
        p : namespace
            Parameters as symbols, by field name.
        memory : SX
            Memory (contact_memory,) of the contact.

        Returns
        -------
        force : SX
            Shape (3,), N: normal, tangent 1, tangent 2.
        memory : SX
            Next memory (contact_memory,) of the contact.
        """

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Compute the limits that follow from the slopes of the force under the load.

        See `contact/stability.py`.
        """
        return stability.step_limits(
            self.force, self.parameters(), self.initial_memory(1), masses, load
        )

    def memory_when_open(self, contact: Contact, p: Any, memory: SX) -> SX:
        """Return the memory unchanged: an open contact keeps it."""
        return memory

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        def evaluate(problem: ContactProblem, memory: SX) -> tuple[list[SX], SX]:
            contacts = [replace(contact, dt=problem.dt) for contact in problem.contacts]
            forces, memory = evaluate_forces(self, contacts, problem.active, p, memory)
            return [problem.dt * force for force in forces], memory

        def slopes(i: int, contact: Contact, memory: SX) -> tuple[SX, SX]:
            contact_memory = self.memory_of(memory, i)
            timed = replace(contact, dt=problem.dt)
            return force_slopes(
                lambda moved: evaluate_force(self, moved, p, contact_memory)[0], timed
            )

        end = subcycle(problem, memory, evaluate, slopes, builder)
        solved = end.impulses, end.memory, end.substeps, end.stable
        return ContactSolution(
            *solved, coordinate_impulses=end.coordinate_impulses, free_share=end.free_share
        )


def evaluate_forces(
    law: ForceLaw, contacts: list[Contact], closed: list[SX], p: Any, memory: SX
) -> tuple[list[SX], SX]:
    """Evaluate the force (3,) of every contact at an instant, N, and the law's next memory.

    Contacts that are not closed have zero force.

    Raises
    ------
    TarsusError
        If the law has an error that is typical of a new law, or its force at rest is not finite.
    """
    _require_finite_at_rest(law)
    forces, memories = [], [SX(0, 1)]
    for i, (contact, is_closed) in enumerate(zip(contacts, closed, strict=True)):
        contact_memory = law.memory_of(memory, i)
        force, next_memory = evaluate_force(law, contact, p, contact_memory)
        forces.append(ca.if_else(is_closed, force, 0))
        memories.append(
            ca.if_else(is_closed, next_memory, law.memory_when_open(contact, p, contact_memory))
        )
    return forces, ca.vertcat(*memories)


def evaluate_force(law: ForceLaw, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
    """Call `law.force` and check its result.

    Raises
    ------
    TarsusError
        If the law has an error that is typical of a new law, with a message that explains it.
    """
    name = type(law).__name__
    # explain Python's errors
    try:
        result = law.force(contact, parameters_at(law, contact, p), memory)
    except AttributeError as error:
        if error.obj is contact:
            known = [field.name for field in fields(Contact)]
            raise unknown_name_error("attribute of a contact", str(error.name), known) from None
        if error.obj is not p:
            raise
        if str(error.name) in getattr(type(law), "__annotations__", {}):
            raise InvalidValue(
                f"{name} declares {error.name!r} but is not a dataclass: write"
                " @dataclass(frozen=True) above the class.",
                name,
            ) from None
        raise unknown_name_error(f"parameter of {name}", str(error.name), vars(p)) from None
    except RuntimeError as error:
        if "truth value" not in str(error):
            raise
        raise branching_error(f"{name}.force") from None
    # check the result
    if not isinstance(result, tuple) or len(result) != 2:
        raise InvalidValue(
            f"{name}.force must return two values: the force (3,) and the next memory.", name
        )
    force, next_memory = (SX(part) for part in result)
    parts = (("force", force, 3), ("next memory", next_memory, law.contact_memory))
    for what, part, size in parts:
        if part.numel() != size:
            raise InvalidValue(
                f"{name}.force returned a {what} of shape {part.shape}; return shape ({size},).",
                name,
            )
    return ca.vec(force), ca.vec(next_memory)


def _require_finite_at_rest(law: ForceLaw) -> None:
    """Check the force of a contact at rest, where a division by the slip speed gives NaN."""
    values = law.parameters()
    symbols = {name: SX.sym(name) for name in values}
    contact = Contact(SX(-REST_DEPTH), SX.zeros(3), SX.zeros(3), SX.eye(3))
    memory = SX(law.initial_memory(1))
    force, _ = evaluate_force(law, contact, SimpleNamespace(**symbols), memory)
    evaluated = ca.Function("force", list(symbols.values()), [force])
    at_rest = np.array(evaluated.call([DM(np.ravel(value)[0]) for value in values.values()])[0])
    if not np.isfinite(at_rest).all():
        name = type(law).__name__
        raise InvalidValue(
            f"{name}.force is {at_rest.ravel().tolist()} for a contact at rest (gap"
            f" {-REST_DEPTH:g} m, velocity 0): avoid divisions by the slip speed, for example with"
            " ca.sqrt(ca.dot(slip, slip) + 1e-12).",
            name,
        )


def parameters_at(law: Law, contact: Contact, p: Any) -> Any:
    """Scale the parameters at a contact by the terrain's friction and stiffness."""
    if contact.friction.is_one() and contact.stiffness.is_one():
        return p
    factors = {
        "friction": contact.friction,
        "kinetic_friction": contact.friction,
        "stiffness": contact.stiffness,
        "damping": contact.stiffness,
    }
    scaled = dict(vars(p))
    for name, role in roles(type(law)).items():
        if role in factors and name in scaled:
            scaled[name] = factors[role] * scaled[name]
    return SimpleNamespace(**scaled)


def symbols(values: dict[str, SX]) -> SimpleNamespace:
    """Return parameters as a namespace, as `solve` and `force` take them."""
    return SimpleNamespace(**values)


def _create_contact_at_gap(gap: SX) -> Contact:
    """Create a contact of which only the gap is known, m."""
    return Contact(gap, SX.zeros(3), SX.zeros(3), SX.eye(3))
