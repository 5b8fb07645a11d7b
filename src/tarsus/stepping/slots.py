"""Slots: a fixed number of contacts that a step can solve for a robot that has fallen.

Every step computes the gaps of all secondary contacts. In worlds where one of them closes, the
deepest of all contacts, primary ones included, are assigned to slots, and the law solves the slots;
in other worlds it solves only the primary contacts. The cost of a step grows with the square and
the cube of the number of slots, so only as many are solved as the touching contacts fill, rounded
up to one of SLOT_COUNTS or to all. The law's memory of a slot is stored together with the contact's
number, by which the next step finds it again (docs/decisions/0025-contact-slots.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.collision.contact_table import SecondaryGaps, SlotContact, look_up
from tarsus.collision.deepest import OUTSIDE, next_key
from tarsus.collision.geometry import EMPTY
from tarsus.contact.base import Law
from tarsus.contact.problem import ContactSolution
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import SLOTS_DEFERRED, Attempt, Scene, StepOutputs, StepStart
from tarsus.stepping.patches import Solve, T, solve_patches

SLOT_COUNTS = (6, 12)  # numbers of slots that are solved if no more contacts touch
PRESSED_KEY = 1.0  # m: above any gap that closes; sorts contacts that only pressed before last


@dataclass(frozen=True, eq=False)
class SlotMemory:
    """The law's memory of the primary contacts and of the slots, and the contact in each slot.

    Attributes
    ----------
    primary, slots
        Memory (contact_memory,) of each primary contact and of each slot.
    numbers
        Contact number of each slot; EMPTY if it holds none.
    """

    primary: list[SX]
    slots: list[SX]
    numbers: list[SX]

    @classmethod
    def of(cls, scene: Scene, memory: SX) -> SlotMemory:
        """Unpack the register `memory`, without the memory of contact moments."""
        count = len(scene.geometry.primary)
        parts = [scene.law.memory_of(memory, i) for i in range(count + scene.slots)]
        numbers = entries(memory[scene.slot_numbers])
        return cls(parts[:count], parts[count:], numbers)

    def pack(self) -> SX:
        """Pack the register `memory`, without the memory of contact moments."""
        return ca.vertcat(SX(0, 1), *self.primary, *self.slots, *self.numbers)


def solve_with_slots(
    scene: Scene,
    primary: list[T],
    gaps: SecondaryGaps,
    contact_in_slot: Callable[[SlotContact], T],
    solve_with: Solve[T],
    start: StepStart,
    attempt: Attempt,
    builder: Builder,
) -> StepOutputs:
    """Solve the step; report impulses of the primary contacts and of the slots.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    primary : list
        Primary contacts.
    gaps : SecondaryGaps
        Gaps of all other contacts.
    contact_in_slot : callable
        Returns the contact that a slot holds.
    solve_with : callable
        Solves the step with some contacts, given a start and an attempt with their memory.
    start, attempt : StepStart, Attempt
        State at the start of the step, and how it is attempted.
    builder : Builder
        Traces the loops.
    """
    law, memory = scene.law, SlotMemory.of(scene, start.memory)
    used = reduce(ca.fmax, memory.numbers) >= 0
    fallen = builder.store("fallen", ca.logic_or(used, law.closes_at(gaps.min_gap)))

    # in all worlds solve the primary contacts: a loop around this would slow down standing worlds
    begin = replace(start, memory=ca.vertcat(SX(0, 1), *memory.primary))
    attempt_of_primary = replace(attempt, warm_start=None)
    end = solve_patches(scene, primary, solve_with, begin, attempt_of_primary, builder)
    stacked = replace(memory, primary=[end.contact.memory]).pack()
    slot_impulses = [SX.zeros(3)] * scene.slots
    if start.impulse is not None:
        slot_impulses = triples(start.impulse)[len(primary) :]
    impulses = end.contact.impulses + slot_impulses
    contact = replace(end.contact, impulses=impulses, memory=stacked)
    standing = replace(end, contact=contact, overflow=SX(0)).to_registers()

    # solve again in worlds where it has fallen; but first lock joints at their limits, because
    # limbs that rest on their stops would swing through them
    if attempt.defers_slots:
        overflow, converged = (
            ca.if_else(fallen, *x) for x in ((SLOTS_DEFERRED, 0), (1, standing["converged"]))
        )
        return StepOutputs.from_registers(standing | {"overflow": overflow, "converged": converged})
    solvers = contact_in_slot, solve_with
    step = FallenStep(scene, primary, gaps, *solvers, start, attempt, memory, builder)
    return StepOutputs.from_registers(builder.cold_loop(standing, step.solve, 1, fallen))


@dataclass(frozen=True, eq=False)
class FallenStep(Generic[T]):
    """Step of a robot that has fallen, its contacts in slots.

    Fields are as in `solve_with_slots`.
    """

    scene: Scene
    primary: list[T]
    gaps: SecondaryGaps
    contact_in_slot: Callable[[SlotContact], T]
    solve_with: Solve[T]
    start: StepStart
    attempt: Attempt
    memory: SlotMemory
    builder: Builder

    def solve(self, standing: Values) -> tuple[Values, SX]:
        """Solve the step with its contacts in slots, as the body of a loop that runs once."""
        scene = self.scene
        numbers, overflow = self._choose_contacts()
        # slots are filled in order: a world that fills the next one needs more of them
        end, below = standing, 0
        for count in [*(few for few in SLOT_COUNTS if few < scene.slots), scene.slots]:

            def solve_slots(_: Values, count: int = count) -> tuple[Values, SX]:
                return self._solve_slots(numbers[:count], overflow), SX(0)

            suffices = numbers[count] < 0 if count < scene.slots else SX(1)
            needed = numbers[below] >= 0 if below else SX(1)
            chosen = self.builder.store(f"solves_{count}", ca.logic_and(suffices, needed))
            end, below = self.builder.cold_loop(end, solve_slots, 1, chosen), count
        return end, SX(0)

    def _choose_contacts(self) -> tuple[list[SX], SX]:
        """Choose the contacts of the slots; also count the contacts that got none."""
        scene, memory = self.scene, self.memory
        pressed = [
            ca.logic_and(number >= 0, scene.law.stays_closed(contact_memory))
            for number, contact_memory in zip(memory.numbers, memory.slots, strict=True)
        ]
        closed = [
            scene.law.is_closed(touch.contact, contact_memory)
            for touch, contact_memory in zip(self.primary, memory.primary, strict=True)
        ]
        pressed = [
            ca.logic_and(flag, ca.logic_not(_has_moved_away(scene, number, self.gaps)))
            for flag, number in zip(pressed, memory.numbers, strict=True)
        ]
        gaps, builder = self.gaps, self.builder
        return choose_contacts(scene, self.primary, closed, gaps, pressed, memory, builder)

    def _solve_slots(self, numbers: list[SX], overflow: SX) -> Values:
        """Solve the step with the contacts of these numbers in slots."""
        scene, memory, warm = self.scene, self.memory, self.attempt.warm_start
        warm = None if warm is None else SlotMemory.of(scene, warm)

        def slot_at(j: SX) -> tuple[T, SX, SX]:
            slot = look_up(scene.geometry, numbers, self.gaps, j, self.builder)
            contact_memory = memory_of_contact(scene.law, slot.number, memory)
            initial = (
                contact_memory if warm is None else memory_of_contact(scene.law, slot.number, warm)
            )
            return self.contact_in_slot(slot), contact_memory, initial

        slots = self.builder.map_range("slots", len(numbers), slot_at)
        contact_memory = ca.vertcat(*(memory for _, memory, _ in slots))
        initial = ca.vertcat(*(memory for _, _, memory in slots))
        begin = replace(self.start, memory=contact_memory)
        attempt = replace(self.attempt, warm_start=initial)
        end = self.solve_with([contact for contact, _, _ in slots], begin, attempt)
        contact = separate_primary(scene, self.start, memory, self.primary, numbers, end.contact)
        return replace(end, contact=contact, overflow=overflow).to_registers()


def _has_moved_away(scene: Scene, number: SX, gaps: SecondaryGaps) -> SX:
    """Return 1 for a contact that cannot press any more, although it pressed in the last step.

    That is a span whose nearest point is no longer inside it, or a closest point of an ellipsoid
    that has moved away from the ground.
    """
    moved, first = SX(0), len(scene.geometry.primary)
    for k, (i, gap) in enumerate(zip(scene.secondary, gaps.candidates, strict=True), first):
        point = gaps.ellipsoid_points.get(scene.candidates[i].name)
        if point is not None:
            moved = ca.if_else(number == k, gap > point.max_gap, moved)
    if gaps.spans is None:
        return moved
    outside = gaps.spans.position(number) >= OUTSIDE
    outside = ca.logic_and(scene.geometry.is_span(number), outside)
    return outside if moved.is_zero() else ca.logic_or(moved, outside)


def choose_contacts(
    scene: Scene,
    primary: list[T],
    closed: list[SX],
    gaps: SecondaryGaps,
    pressed: list[SX],
    memory: SlotMemory,
    builder: Builder,
) -> tuple[list[SX], SX]:
    """Choose the contact of each slot, the deepest first, and count those that get none.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    primary : list
        Primary contacts.
    closed : list of SX
        1 for each primary contact that is closed.
    gaps : SecondaryGaps
        Gaps of all other contacts.
    pressed : list of SX
        1 for each slot of the last step whose contact stays closed whatever its gap, so that
        round-off does not drop it.
    memory : SlotMemory
        Contacts of the last step.
    builder : Builder
        Traces the loop.
    """
    # sorting keys, and the number of contacts that touch
    law, count = scene.law, scene.slots
    candidate_gaps = [*(touch.contact.gap for touch in primary), *gaps.candidates]
    flags = [*closed, *(law.closes_at(gap) for gap in gaps.candidates)]
    pairs = zip(flags, candidate_gaps, strict=True)
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in pairs]
    touching = sum(flags, SX(0))
    for deepest in gaps.pairs_and_spans:
        keys += [ca.if_else(law.closes_at(gap), gap, SX.inf()) for gap in deepest.gaps]
        touching += deepest.touching
    keys += [ca.if_else(flag, PRESSED_KEY + j, SX.inf()) for j, flag in enumerate(pressed)]
    keys = entries(builder.store("keys", ca.vertcat(*keys)))

    # fill the slots one after the other, in the order of the keys
    def fill_next(state: Values) -> tuple[Values, SX]:
        key, index = next_key(keys, state["key"], state["index"])
        number = _find_number_of_key(scene, index, gaps, memory)
        numbers = entries(state["numbers"])
        assigned = reduce(ca.logic_or, (other == number for other in numbers))
        new = ca.logic_and(key < SX.inf(), ca.logic_not(assigned))
        numbers = [
            ca.if_else(ca.logic_and(new, state["filled"] == j), number, other)
            for j, other in enumerate(numbers)
        ]
        filled = state["filled"] + new
        after = {"numbers": ca.vertcat(*numbers), "filled": filled, "key": key, "index": index}
        return after, ca.logic_and(key < SX.inf(), filled < count)

    begin = {"numbers": SX(np.full(count, EMPTY)), "filled": SX(0), "key": -SX.inf()}
    last = builder.loop(begin | {"index": SX(-1)}, fill_next, 2 * count + 1)
    return entries(last["numbers"]), ca.fmax(touching - count, 0)


def _find_number_of_key(scene: Scene, index: SX, gaps: SecondaryGaps, memory: SlotMemory) -> SX:
    """Find the contact number that belongs to the sorting key at an index."""
    number = index
    others = [number for deepest in gaps.pairs_and_spans for number in deepest.numbers]
    for k, other in enumerate([*others, *memory.numbers], len(scene.candidates)):
        number = ca.if_else(index == k, other, number)
    return number


def memory_of_contact(law: Law, number: SX, memory: SlotMemory) -> SX:
    """Select the law's memory (contact_memory,) of the contact with that number."""
    result = law.new_memory
    for other, contact_memory in zip(memory.numbers, memory.slots, strict=True):
        result = ca.if_else(ca.logic_and(number >= 0, other == number), contact_memory, result)
    for i, contact_memory in enumerate(memory.primary):
        result = ca.if_else(number == i, contact_memory, result)
    return result


def separate_primary(
    scene: Scene,
    start: StepStart,
    before: SlotMemory,
    primary: list[T],
    numbers: list[SX],
    contact: ContactSolution,
) -> ContactSolution:
    """Move the primary contacts out of the slots of the solution.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    start : StepStart
        State and inputs at the start of the step.
    before : SlotMemory
        Memory at the start of the step.
    primary : list
        Primary contacts.
    numbers : list of SX
        Contact number of each slot.
    contact : ContactSolution
        Solution of the slots.
    """
    law = scene.law
    # the primary contacts
    after = [law.memory_of(contact.memory, j) for j in range(len(numbers))]
    solved = list(zip(numbers, contact.impulses, after, strict=True))
    impulses, primary_memory = [], []
    for i, touch in enumerate(primary):
        impulse, memory = (
            SX.zeros(3),
            law.memory_when_open(touch.contact, start.law, before.primary[i]),
        )
        for number, slot_impulse, slot_memory in solved:
            impulse = ca.if_else(number == i, slot_impulse, impulse)
            memory = ca.if_else(number == i, slot_memory, memory)
        impulses.append(impulse)
        primary_memory.append(memory)
    # slots of secondary contacts; the others become empty
    secondary = [number >= len(primary) for number in numbers]
    impulses += [
        ca.if_else(flag, impulse, 0)
        for flag, (_, impulse, _) in zip(secondary, solved, strict=True)
    ]
    memories = [
        ca.if_else(flag, contact_memory, law.new_memory)
        for flag, contact_memory in zip(secondary, after, strict=True)
    ]
    slot_numbers = [
        ca.if_else(flag, number, EMPTY) for flag, number in zip(secondary, numbers, strict=True)
    ]
    empty = scene.slots - len(numbers)
    impulses += [SX.zeros(3)] * empty
    memories += [law.new_memory] * empty
    slot_numbers += [SX(EMPTY)] * empty
    memory = SlotMemory(primary_memory, memories, slot_numbers)
    return replace(contact, impulses=impulses, memory=memory.pack())
