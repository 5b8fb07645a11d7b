"""Slots: a fixed number of places for the contacts of a robot that has fallen.

Every step finds the gaps of all secondary contacts. In worlds where one of them closes, the deepest
of all contacts, primary ones included, are gathered into slots, and the law solves the slots; in
other worlds it solves the primary contacts alone. The cost of a step grows with the square and the
cube of the number of slots, so if no more than FEW contacts touch, only FEW slots are solved. The
law's memory of a slot is stored with the contact's number, by which the next step finds it again
(docs/decisions/0025-slots.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, Protocol, TypeVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.collision.contact_table import SecondaryGaps, SlotContact, look_up
from tarsus.collision.deepest import NOWHERE, next_key
from tarsus.collision.geometry import EMPTY
from tarsus.contact.base import Law
from tarsus.contact.problem import Contact, ContactSolution
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import WAITING, Attempt, Scene, StepOutputs, StepStart

FEW = 12  # slots that are solved if no more contacts touch
PRESSED_KEY = 1.0  # m: above any gap that closes; contacts that only pressed before come last


class Touching(Protocol):
    """A contact and how it moves."""

    @property
    def contact(self) -> Contact:
        """Gap, frame and velocity."""
        ...


T = TypeVar("T", bound=Touching)
Solve = Callable[[list[T], StepStart, Attempt], StepOutputs]


@dataclass(frozen=True, eq=False)
class SlotMemory:
    """The law's memory of the primary contacts and of the slots, and the contact in each slot.

    primary, slots: memory (contact_memory,) of each; numbers: contact number of each slot
    """

    primary: list[SX]
    slots: list[SX]
    numbers: list[SX]

    @classmethod
    def of(cls, scene: Scene, memory: SX) -> SlotMemory:
        """Unpack the register `memory`."""
        own = [
            scene.law.memory_of(memory, i) for i in range(len(scene.geometry.primary) + scene.slots)
        ]
        numbers = entries(memory[memory.numel() - scene.slots :])
        return cls(own[: len(scene.geometry.primary)], own[len(scene.geometry.primary) :], numbers)

    def stacked(self) -> SX:
        """Pack the register `memory`."""
        return ca.vertcat(SX(0, 1), *self.primary, *self.slots, *self.numbers)


def with_slots(
    scene: Scene,
    feet: list[T],
    gaps: SecondaryGaps,
    at_slot: Callable[[SlotContact], T],
    solved: Solve[T],
    start: StepStart,
    attempt: Attempt,
    builder: Builder,
) -> StepOutputs:
    """Return the end of the step, with impulses of the primary contacts and of the slots.

    Parameters
    ----------
    scene : Scene
        What is simulated.
    feet : list
        The primary contacts.
    gaps : SecondaryGaps
        Of all other contacts.
    at_slot : callable
        Returns the contact that a slot holds.
    solved : callable
        Solves the step with some contacts, from a start and an attempt with their memory.
    start, attempt : StepStart, Attempt
        What the step begins with, and how it is tried.
    builder : Builder
        Takes the loops.
    """
    law, memory = scene.law, SlotMemory.of(scene, start.memory)
    held = reduce(ca.fmax, memory.numbers) >= 0
    fallen = builder.store("fallen", ca.logic_or(held, law.closes_at(gaps.least)))

    # in all worlds as if the robot stood: a loop around this would slow down worlds that stand
    begin = replace(start, memory=ca.vertcat(SX(0, 1), *memory.primary))
    end = solved(feet, begin, replace(attempt, warm_start=None))
    kept = replace(memory, primary=[end.contact.memory]).stacked()
    none = [SX.zeros(3)] * scene.slots
    if start.impulse is not None:
        none = triples(start.impulse)[len(feet) :]
    contact = replace(end.contact, impulses=end.contact.impulses + none, memory=kept)
    stood = replace(end, contact=contact, left_out=SX(0)).values()

    # solved again in worlds where it has fallen; not before joints are locked at their limits, for
    # limbs that lie at their stops would swing through them
    if attempt.defers_slots:
        left_out, converged = (
            ca.if_else(fallen, *x) for x in ((WAITING, 0), (1, stood["converged"]))
        )
        return StepOutputs.of(stood | {"left_out": left_out, "converged": converged})
    lying = Lying(scene, feet, gaps, at_slot, solved, start, attempt, memory, builder)
    return StepOutputs.of(builder.cold_loop(stood, lying.step, 1, fallen))


@dataclass(frozen=True, eq=False)
class Lying(Generic[T]):
    """The step with all contacts in slots; fields as the parameters of `with_slots`."""

    scene: Scene
    feet: list[T]
    gaps: SecondaryGaps
    at_slot: Callable[[SlotContact], T]
    solved: Solve[T]
    start: StepStart
    attempt: Attempt
    memory: SlotMemory
    builder: Builder

    def step(self, standing: Values) -> tuple[Values, SX]:
        """Solve the slots, as the body of a loop that runs once."""
        scene = self.scene
        numbers, left_out = self._chosen()
        if scene.slots <= FEW:
            return self._in_slots(numbers, left_out), SX(0)
        # slots are filled in order: a world that fills one more than FEW needs all of them
        crowded = self.builder.store("crowded", numbers[FEW] >= 0)

        def few(_: Values) -> tuple[Values, SX]:
            return self._in_slots(numbers[:FEW], left_out), SX(0)

        def all_of_them(_: Values) -> tuple[Values, SX]:
            return self._in_slots(numbers, left_out), SX(0)

        end = self.builder.loop(standing, few, 1, ca.logic_not(crowded))
        return self.builder.cold_loop(end, all_of_them, 1, crowded), SX(0)

    def _chosen(self) -> tuple[list[SX], SX]:
        """Return the contact numbers of the slots, and how many contacts found none."""
        scene, memory = self.scene, self.memory
        pressed = [
            ca.logic_and(number >= 0, scene.law.stays_closed(own))
            for number, own in zip(memory.numbers, memory.slots, strict=True)
        ]
        closed = [
            scene.law.is_closed(touch.contact, own)
            for touch, own in zip(self.feet, memory.primary, strict=True)
        ]
        there = [
            ca.logic_and(flag, ca.logic_not(_gone(scene, number, self.gaps)))
            for flag, number in zip(pressed, memory.numbers, strict=True)
        ]
        return chosen(scene, self.feet, closed, self.gaps, there, memory, self.builder)

    def _in_slots(self, numbers: list[SX], left_out: SX) -> Values:
        """Solve the step with the contacts of these numbers in slots."""
        scene, memory, warm = self.scene, self.memory, self.attempt.warm_start
        guess = None if warm is None else SlotMemory.of(scene, warm)

        def at(j: SX) -> tuple[T, SX, SX]:
            slot = look_up(scene.geometry, numbers, self.gaps, j, self.builder)
            own = remembered(scene.law, slot.number, memory)
            near = own if guess is None else remembered(scene.law, slot.number, guess)
            return self.at_slot(slot), own, near

        slots = self.builder.map_range("slots", len(numbers), at)
        own = ca.vertcat(*(kept for _, kept, _ in slots))
        near = ca.vertcat(*(kept for _, _, kept in slots))
        begin = replace(self.start, memory=own)
        attempt = replace(self.attempt, warm_start=near)
        end = self.solved([touch for touch, _, _ in slots], begin, attempt)
        contact = handed_back(scene, self.start, memory, self.feet, numbers, end.contact)
        return replace(end, contact=contact, left_out=left_out).values()


def _gone(scene: Scene, number: SX, gaps: SecondaryGaps) -> SX:
    """Return 1 for a span inside of which the ground is no longer nearest, or a spot that has moved
    away.
    """
    gone, first = SX(0), len(scene.geometry.primary)
    for k, (i, gap) in enumerate(zip(scene.secondary, gaps.candidates, strict=True), first):
        spot = gaps.spots.get(scene.candidates[i].name)
        if spot is not None:
            gone = ca.if_else(number == k, gap > spot.away, gone)
    if gaps.spans is None:
        return gone
    nowhere = ca.logic_and(scene.geometry.is_span(number), gaps.spans.place(number) >= NOWHERE)
    return nowhere if gone.is_zero() else ca.logic_or(gone, nowhere)


def chosen(
    scene: Scene,
    feet: list[T],
    closed: list[SX],
    gaps: SecondaryGaps,
    pressed: list[SX],
    memory: SlotMemory,
    builder: Builder,
) -> tuple[list[SX], SX]:
    """Choose the contact of each slot, the deepest first; also return how many find no slot.

    closed: 1 for each primary contact that is closed; pressed: 1 for each slot of the last step
    whose contact stays closed whatever its gap, so that round-off does not drop it
    """
    # the keys by which they are sorted, and how many touch
    law, count = scene.law, scene.slots
    of_each = [*(touch.contact.gap for touch in feet), *gaps.candidates]
    flags = [*closed, *(law.closes_at(gap) for gap in gaps.candidates)]
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in zip(flags, of_each, strict=True)]
    touch = sum(flags, SX(0))
    for found in gaps.others:
        keys += [ca.if_else(law.closes_at(gap), gap, SX.inf()) for gap in found.gaps]
        touch += found.touching
    keys += [ca.if_else(flag, PRESSED_KEY + j, SX.inf()) for j, flag in enumerate(pressed)]
    keys = entries(builder.store("keys", ca.vertcat(*keys)))

    # one after the other, in the order of their keys
    def next_one(now: Values) -> tuple[Values, SX]:
        best, at = next_key(keys, now["key"], now["place"])
        number = _number(scene, at, gaps, memory)
        numbers = entries(now["numbers"])
        there = reduce(ca.logic_or, (held == number for held in numbers))
        new = ca.logic_and(best < SX.inf(), ca.logic_not(there))
        numbers = [
            ca.if_else(ca.logic_and(new, now["found"] == j), number, held)
            for j, held in enumerate(numbers)
        ]
        found = now["found"] + new
        after = {"numbers": ca.vertcat(*numbers), "found": found, "key": best, "place": at}
        return after, ca.logic_and(best < SX.inf(), found < count)

    begin = {"numbers": SX(np.full(count, EMPTY)), "found": SX(0), "key": -SX.inf()}
    last = builder.loop(begin | {"place": SX(-1)}, next_one, 2 * count + 1)
    return entries(last["numbers"]), ca.fmax(touch - count, 0)


def _number(scene: Scene, at: SX, gaps: SecondaryGaps, memory: SlotMemory) -> SX:
    """Return the contact number that belongs to the key at a place."""
    number, found = at, [number for others in gaps.others for number in others.numbers]
    for k, own in enumerate([*found, *memory.numbers], len(scene.candidates)):
        number = ca.if_else(at == k, own, number)
    return number


def remembered(law: Law, number: SX, memory: SlotMemory) -> SX:
    """Return the law's memory (contact_memory,) of the contact of that number."""
    own = law.new_memory
    for held, kept in zip(memory.numbers, memory.slots, strict=True):
        own = ca.if_else(ca.logic_and(number >= 0, held == number), kept, own)
    for i, kept in enumerate(memory.primary):
        own = ca.if_else(number == i, kept, own)
    return own


def handed_back(
    scene: Scene,
    start: StepStart,
    before: SlotMemory,
    feet: list[T],
    numbers: list[SX],
    contact: ContactSolution,
) -> ContactSolution:
    """Return the solution of the slots with the primary contacts moved to their own places.

    before: what the memory at the start holds
    """
    law = scene.law
    # the primary contacts
    after = [law.memory_of(contact.memory, j) for j in range(len(numbers))]
    solved = list(zip(numbers, contact.impulses, after, strict=True))
    impulses, primary = [], []
    for i, touch in enumerate(feet):
        impulse, own = SX.zeros(3), law.released(touch.contact, start.law, before.primary[i])
        for number, moved, kept in solved:
            impulse = ca.if_else(number == i, moved, impulse)
            own = ca.if_else(number == i, kept, own)
        impulses.append(impulse)
        primary.append(own)
    # the slots of other contacts
    secondary = [number >= len(feet) for number in numbers]
    impulses += [
        ca.if_else(mine, moved, 0) for mine, (_, moved, _) in zip(secondary, solved, strict=True)
    ]
    kept = [
        ca.if_else(mine, own, law.new_memory) for mine, own in zip(secondary, after, strict=True)
    ]
    held = [
        ca.if_else(mine, number, EMPTY) for mine, number in zip(secondary, numbers, strict=True)
    ]
    empty = scene.slots - len(numbers)
    impulses += [SX.zeros(3)] * empty
    kept, held = kept + [law.new_memory] * empty, held + [SX(EMPTY)] * empty
    return replace(contact, impulses=impulses, memory=SlotMemory(primary, kept, held).stacked())
