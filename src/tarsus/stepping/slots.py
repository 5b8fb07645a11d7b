"""Contacts that touch only when a robot falls: gathered into slots, in worlds where one does.

Every step finds the gaps of all such candidates. In worlds where one takes part, the deepest of all
contacts, the feet's among them, come into a fixed number of slots, and the law solves the slots; in
the others it solves the feet alone. Where no more than FEW touch, the law solves so many slots: a
step costs by the square and cube of them. The law's memory of a slot goes with the candidate's
number, by which the next step finds it again (docs/decisions/0025-slots.md).
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

FEW = 12  # slots that are solved where no more contacts touch
LATE = 1.0  # m: higher than any gap that is closed; what only pressed comes behind those


class Touching(Protocol):
    """A candidate at the ground."""

    @property
    def contact(self) -> Contact:
        """Its gap, frame and velocity."""
        ...


T = TypeVar("T", bound=Touching)
Solve = Callable[[list[T], StepStart, Attempt], StepOutputs]


@dataclass(frozen=True, eq=False)
class Remembered:
    """The law's memory of the usual contacts and of the slots; which candidate each slot holds."""

    usual: list[SX]
    slots: list[SX]
    numbers: list[SX]

    @classmethod
    def of(cls, scene: Scene, memory: SX) -> Remembered:
        """From the register (scene.memory_size,)."""
        own = [
            scene.law.memory_of(memory, i) for i in range(len(scene.geometry.primary) + scene.slots)
        ]
        numbers = entries(memory[memory.numel() - scene.slots :])
        return cls(own[: len(scene.geometry.primary)], own[len(scene.geometry.primary) :], numbers)

    def stacked(self) -> SX:
        """The register."""
        return ca.vertcat(SX(0, 1), *self.usual, *self.slots, *self.numbers)


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
    """The end of the step, with impulses of the usual contacts and of the slots.

    gaps: of all but the primary candidates
    at_slot: what a slot holds, at the ground
    solved: the step with some contacts, from a start and an attempt with their memory
    """
    law, memory = scene.law, Remembered.of(scene, start.memory)
    held = reduce(ca.fmax, memory.numbers) >= 0
    fallen = builder.keep("fallen", ca.logic_or(held, law.closes_at(gaps.least)))

    # as if it stood, everywhere: a loop for worlds that stand would slow them down; the slots of
    # one that stands are empty and stay so
    begin = replace(start, memory=ca.vertcat(SX(0, 1), *memory.usual))
    end = solved(feet, begin, replace(attempt, warm_start=None))
    kept = replace(memory, usual=[end.contact.memory]).stacked()
    none = [SX.zeros(3)] * scene.slots
    if start.impulse is not None:
        none = triples(start.impulse)[len(feet) :]
    contact = replace(end.contact, impulses=end.contact.impulses + none, memory=kept)
    stood = replace(end, contact=contact, left_out=SX(0)).values()

    # over it, in worlds that have fallen; limbs that lie at their stops would swing through them: a
    # solution without is of no use
    if attempt.defers_slots:
        left_out, converged = (
            ca.if_else(fallen, *x) for x in ((WAITING, 0), (1, stood["converged"]))
        )
        return StepOutputs.of(stood | {"left_out": left_out, "converged": converged})
    lying = Lying(scene, feet, gaps, at_slot, solved, start, attempt, memory, builder)
    return StepOutputs.of(builder.cold_loop(stood, lying.step, 1, fallen))


@dataclass(frozen=True, eq=False)
class Lying(Generic[T]):
    """The step with all contacts in slots; parts as of `with_slots`, and what its start holds."""

    scene: Scene
    feet: list[T]
    gaps: SecondaryGaps
    at_slot: Callable[[SlotContact], T]
    solved: Solve[T]
    start: StepStart
    attempt: Attempt
    memory: Remembered
    builder: Builder

    def step(self, standing: Values) -> tuple[Values, SX]:
        """As the body of a loop that runs once."""
        scene = self.scene
        numbers, left_out = self._chosen()
        if scene.slots <= FEW:
            return self._in_slots(numbers, left_out), SX(0)
        # they come one behind the other: whoever fills one more than FEW needs all of them
        crowded = self.builder.keep("crowded", numbers[FEW] >= 0)

        def few(_: Values) -> tuple[Values, SX]:
            return self._in_slots(numbers[:FEW], left_out), SX(0)

        def all_of_them(_: Values) -> tuple[Values, SX]:
            return self._in_slots(numbers, left_out), SX(0)

        end = self.builder.loop(standing, few, 1, ca.logic_not(crowded))
        return self.builder.cold_loop(end, all_of_them, 1, crowded), SX(0)

    def _chosen(self) -> tuple[list[SX], SX]:
        """Who comes into slots."""
        scene, memory = self.scene, self.memory
        pressed = [
            ca.logic_and(number >= 0, scene.law.stays_closed(own))
            for number, own in zip(memory.numbers, memory.slots, strict=True)
        ]
        closed = [
            scene.law.is_closed(touch.contact, own)
            for touch, own in zip(self.feet, memory.usual, strict=True)
        ]
        there = [
            ca.logic_and(flag, ca.logic_not(_gone(scene, number, self.gaps)))
            for flag, number in zip(pressed, memory.numbers, strict=True)
        ]
        return chosen(scene, self.feet, closed, self.gaps, there, memory, self.builder)

    def _in_slots(self, numbers: list[SX], left_out: SX) -> Values:
        """The step with what slots of these numbers hold."""
        scene, memory, warm = self.scene, self.memory, self.attempt.warm_start
        guess = None if warm is None else Remembered.of(scene, warm)

        def at(j: SX) -> tuple[T, SX, SX]:
            slot = look_up(scene.geometry, numbers, self.gaps, j, self.builder)
            own = remembered(scene.law, slot.number, memory)
            near = own if guess is None else remembered(scene.law, slot.number, guess)
            return self.at_slot(slot), own, near

        slots = self.builder.each("slots", len(numbers), at)
        own = ca.vertcat(*(kept for _, kept, _ in slots))
        near = ca.vertcat(*(kept for _, _, kept in slots))
        begin = replace(self.start, memory=own)
        attempt = replace(self.attempt, warm_start=near)
        end = self.solved([touch for touch, _, _ in slots], begin, attempt)
        contact = handed_back(scene, self.start, memory, self.feet, numbers, end.contact)
        return replace(end, contact=contact, left_out=left_out).values()


def _gone(scene: Scene, number: SX, gaps: SecondaryGaps) -> SX:
    """1 for the number of a span that is nowhere nearest to the ground any more, or of a spot that
    has moved away.
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
    memory: Remembered,
    builder: Builder,
) -> tuple[list[SX], SX]:
    """The number of the candidate that each slot holds, the deepest first, and how many touch but
    find none.

    closed: 1 for each foot that takes part; pressed: 1 for each slot of the last step whose contact
    takes part whatever its gap: round-off that shows it open does not drop it.
    """
    # the order in which they come, and how many there are
    law, count = scene.law, scene.slots
    of_each = [*(touch.contact.gap for touch in feet), *gaps.candidates]
    flags = [*closed, *(law.closes_at(gap) for gap in gaps.candidates)]
    keys = [ca.if_else(flag, gap, SX.inf()) for flag, gap in zip(flags, of_each, strict=True)]
    touch = sum(flags, SX(0))
    for found in gaps.others:
        keys += [ca.if_else(law.closes_at(gap), gap, SX.inf()) for gap in found.gaps]
        touch += found.touching
    keys += [ca.if_else(flag, LATE + j, SX.inf()) for j, flag in enumerate(pressed)]
    keys = entries(builder.keep("keys", ca.vertcat(*keys)))

    # one after the other: the least key behind the last one; of equal ones the first
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


def _number(scene: Scene, at: SX, gaps: SecondaryGaps, memory: Remembered) -> SX:
    """That of the contact whose key stands there: of feet and rare candidates, of what was found
    beside them, of slots.
    """
    number, found = at, [number for others in gaps.others for number in others.numbers]
    for k, own in enumerate([*found, *memory.numbers], len(scene.candidates)):
        number = ca.if_else(at == k, own, number)
    return number


def remembered(law: Law, number: SX, memory: Remembered) -> SX:
    """What the law kept (contact_memory,) of the candidate of that number."""
    own = law.new_memory
    for held, kept in zip(memory.numbers, memory.slots, strict=True):
        own = ca.if_else(ca.logic_and(number >= 0, held == number), kept, own)
    for i, kept in enumerate(memory.usual):
        own = ca.if_else(number == i, kept, own)
    return own


def handed_back(
    scene: Scene,
    start: StepStart,
    before: Remembered,
    feet: list[T],
    numbers: list[SX],
    contact: ContactSolution,
) -> ContactSolution:
    """The solution of the slots with these numbers, the others being empty, with that of the usual
    contacts in their own places.

    before: what the start's memory holds
    """
    law = scene.law
    # the usual contacts
    after = [law.memory_of(contact.memory, j) for j in range(len(numbers))]
    solved = list(zip(numbers, contact.impulses, after, strict=True))
    impulses, usual = [], []
    for i, touch in enumerate(feet):
        impulse, own = SX.zeros(3), law.released(touch.contact, start.law, before.usual[i])
        for number, moved, kept in solved:
            impulse = ca.if_else(number == i, moved, impulse)
            own = ca.if_else(number == i, kept, own)
        impulses.append(impulse)
        usual.append(own)
    # the slots that others hold
    rare = [number >= len(feet) for number in numbers]
    impulses += [
        ca.if_else(mine, moved, 0) for mine, (_, moved, _) in zip(rare, solved, strict=True)
    ]
    kept = [ca.if_else(mine, own, law.new_memory) for mine, own in zip(rare, after, strict=True)]
    held = [ca.if_else(mine, number, EMPTY) for mine, number in zip(rare, numbers, strict=True)]
    empty = scene.slots - len(numbers)
    impulses += [SX.zeros(3)] * empty
    kept, held = kept + [law.new_memory] * empty, held + [SX(EMPTY)] * empty
    return replace(contact, impulses=impulses, memory=Remembered(usual, kept, held).stacked())
