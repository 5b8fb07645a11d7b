"""A step without the contacts that touch only when the robot falls, in worlds where none does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

import casadi as ca
from casadi import SX

from tarsus.contact.problem import Contact, ContactSolution
from tarsus.program.ir.trace import Builder, Values
from tarsus.stepping.base import Scene, StepInputs, StepOutputs


class Touching(Protocol):
    """A candidate at the ground."""

    @property
    def contact(self) -> Contact:
        """Its gap, frame and velocity."""
        ...


T = TypeVar("T", bound=Touching)
Solve = Callable[[list[T], StepInputs], tuple[SX, ContactSolution]]


def with_rare_contacts(
    scene: Scene,
    touching: list[T],
    falls: list[SX],
    start: StepInputs,
    solved: Solve[T],
    builder: Builder,
) -> tuple[SX, ContactSolution]:
    """The new velocity (nu,) and the solution, with the rare contacts only in worlds where one of
    them takes part.

    falls: 1 for each rare contact that does
    solved: the step with some of the contacts, from a start with their memory
    """
    if not scene.rare:
        return solved(touching, start)
    usual = [i for i in range(len(touching)) if i not in scene.rare]
    feet = builder.hold("feet", [touching[i] for i in usual])
    begin = nothing(scene, start)

    def standing(_: Values) -> tuple[Values, SX]:
        memory = ca.vertcat(SX(0, 1), *(scene.law.own(start.memory, i) for i in usual))
        overrides = (
            None
            if start.contact_override is None
            else ca.vertcat(*(start.contact_override[i] for i in usual))
        )
        u, contact = solved(feet, replace(start, memory=memory, contact_override=overrides))
        return StepOutputs(
            start.q, u, among_all(scene, touching, usual, contact, start)
        ).values(), SX(0)

    def falling(_: Values) -> tuple[Values, SX]:
        return StepOutputs(start.q, *solved(touching, start)).values(), SX(0)

    # one of the two passes is made
    fallen = SX(0)
    for flag in falls:
        fallen = ca.logic_or(fallen, flag)
    fallen = builder.keep("fallen", fallen)
    stood = builder.loop(begin, standing, 1, ca.logic_not(fallen))
    end = StepOutputs.of(builder.loop(stood, falling, 1, fallen))
    return end.u, end.contact


def nothing(scene: Scene, start: StepInputs) -> Values:
    """What a loop begins with that always has one pass."""
    impulses = [SX.zeros(3)] * len(scene.candidates)
    solution = ContactSolution(
        impulses, start.memory, SX(0), SX(1), SX.zeros(start.bilateral.numel())
    )
    return StepOutputs(start.q, start.u, solution).values()


def among_all(
    scene: Scene, touching: list[T], usual: list[int], contact: ContactSolution, start: StepInputs
) -> ContactSolution:
    """The solution of the usual contacts with the rare ones open."""
    impulses, memory = [SX.zeros(3)] * len(touching), [SX(0, 1)]
    for i, touch in enumerate(touching):
        if i in usual:
            impulses[i] = contact.impulses[usual.index(i)]
            memory.append(scene.law.own(contact.memory, usual.index(i)))
        else:
            memory.append(
                scene.law.released(touch.contact, start.law, scene.law.own(start.memory, i))
            )
    return replace(contact, impulses=impulses, memory=ca.vertcat(*memory))
