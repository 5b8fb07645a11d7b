"""Contact patches: the four points of a sole that are solved.

A rigid sole on the ground needs no more than four contacts, while the cost and the code of a step
grow with the square of their number. Of a sole with more candidates, the four deepest are solved. A
contact that pressed in the last step stays until another is deeper by PRESSED_BONUS, so that a
resting foot does not change its contacts. When a foot tips over the line between two of them, the
others lift off and stop pressing, and candidates beyond the line, which sink, take their place in
the next step. So a foot tips at the edge of its whole sole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Protocol, TypeVar

import casadi as ca
from casadi import SX

from tarsus.collision.deepest import next_key
from tarsus.contact.base import HardLaw
from tarsus.contact.problem import Contact
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.ir.trees import have_same_structure, variable_entries, with_entries
from tarsus.stepping.base import Attempt, Scene, StepOutputs, StepStart

MAX_PATCH_CONTACTS = 4  # contacts of a sole that are solved
PRESSED_BONUS = 1e-4  # m: depth by which a contact that did not press must exceed one that did
RANK_STEP = 1e-7  # m: above round-off; of candidates equally deep the first ones are chosen


class HasContact(Protocol):
    """Anything with a contact."""

    @property
    def contact(self) -> Contact:
        """Gap, frame and velocity."""
        ...


T = TypeVar("T", bound=HasContact)
Option = TypeVar("Option")
Solve = Callable[[list[T], StepStart, Attempt], StepOutputs]


def solve_patches(
    scene: Scene,
    primary: list[T],
    solve_with: Solve[T],
    start: StepStart,
    attempt: Attempt,
    builder: Builder,
) -> StepOutputs:
    """Solve the step with the chosen contacts of each sole; report impulses of all primary ones.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    primary : list
        Primary contacts.
    solve_with : callable
        Solves the step with some contacts, given a start and an attempt with their memory.
    start, attempt : StepStart, Attempt
        State at the start of the step, with the memory of the primary contacts, and how the step is
        attempted.
    builder : Builder
        Traces the program.
    """
    patches = _find_patches(scene, primary) if start.evaluation.overrides is None else []
    if not patches:
        return solve_with(primary, start, attempt)
    law, in_patch = scene.law, {i for patch in patches for i in patch}
    memories = [law.memory_of(start.memory, i) for i in range(len(primary))]

    # contacts of no patch, followed by those chosen of each patch
    alone = [i for i in range(len(primary)) if i not in in_patch]
    solved, memory = [primary[i] for i in alone], [memories[i] for i in alone]
    chosen: list[list[SX]] = []
    for patch in patches:
        contacts, own = [primary[i] for i in patch], [memories[i] for i in patch]
        gaps = [contact.contact.gap for contact in contacts]
        chosen.append(_choose(gaps, [law.stays_closed(m) for m in own], builder))
        solved += [_select(contacts, index) for index in chosen[-1]]
        memory += [_select(own, index) for index in chosen[-1]]
    begin = replace(start, memory=ca.vertcat(SX(0, 1), *memory))
    end = solve_with(solved, begin, attempt)

    # impulse and memory of all primary contacts
    after = [law.memory_of(end.contact.memory, j) for j in range(len(solved))]
    impulses = [SX.zeros(3)] * len(primary)
    memories = [
        law.memory_when_open(touch.contact, start.law, own)
        for touch, own in zip(primary, memories, strict=True)
    ]
    for j, i in enumerate(alone):
        impulses[i], memories[i] = end.contact.impulses[j], after[j]
    first = len(alone)
    for patch, chosen_indices in zip(patches, chosen, strict=True):
        for j, index in enumerate(chosen_indices, first):
            for k, i in enumerate(patch):
                impulses[i] = ca.if_else(index == k, end.contact.impulses[j], impulses[i])
                memories[i] = ca.if_else(index == k, after[j], memories[i])
        first += len(chosen_indices)
    contact = replace(end.contact, impulses=impulses, memory=ca.vertcat(SX(0, 1), *memories))
    return replace(end, contact=contact)


def _find_patches(scene: Scene, primary: list[T]) -> list[list[int]]:
    """Find the indices of the primary contacts of each patch."""
    if not isinstance(scene.law, HardLaw):  # other laws have a spring at every contact
        return []
    names = [scene.candidates[i].name for i in scene.geometry.primary]
    groups = [[i for i, name in enumerate(names) if name in patch] for patch in scene.patches]
    return [
        own
        for own in groups
        if len(own) > MAX_PATCH_CONTACTS and have_same_structure([primary[i] for i in own])
    ]


def _choose(gaps: list[SX], pressed: list[SX], builder: Builder) -> list[SX]:
    """Choose the positions in a patch of the contacts that are solved."""
    keys = [
        gap + RANK_STEP * k - ca.if_else(flag, PRESSED_BONUS, 0)
        for k, (gap, flag) in enumerate(zip(gaps, pressed, strict=True))
    ]
    keys = entries(builder.store("patch_keys", ca.vertcat(*keys)))
    key, index, chosen = -SX.inf(), SX(-1), list[SX]()
    for _ in range(MAX_PATCH_CONTACTS):
        key, index = next_key(keys, key, index)
        chosen.append(index)
    return entries(builder.store("patch", ca.vertcat(*chosen)))


def _select(options: list[Option], index: SX) -> Option:
    """Select one of several structures of expressions that differ in variable entries only."""
    columns = zip(*(variable_entries(option) for option in options), strict=True)

    def select(column: tuple[SX, ...]) -> SX:
        if all(ca.is_equal(column[0], other) for other in column):
            return column[0]
        return reduce(
            lambda value, k: ca.if_else(index == k, column[k], value),
            range(1, len(column)),
            column[0],
        )

    return with_entries(options[0], [select(column) for column in columns])
