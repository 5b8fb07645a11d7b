"""Whether a step lets a law integrate its forces with shorter steps, and what it needs for that.

The law does it in `contact/subcycle.py`; here is what the robot's step gives to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import casadi as ca
from casadi import SX

from tarsus.contact.problem import Contact
from tarsus.parameters import choice
from tarsus.stepping.base import Scene, StepOutputs, StepStart

RESOLVED = "resolved"
Forces = Literal["resolved", "once"]


def forces_choice() -> Any:
    """The field `forces` of steppers that see contacts at one instant."""
    return choice(
        RESOLVED,
        "how often a step evaluates the force of yielding ground",
        resolved="as often as its stiffness and damping need",
        once="once, as the papers do: stable only below the law's limit on dt",
    )


def subcycles(scene: Scene, at: StepStart) -> bool:
    """Whether the law integrates its forces with shorter steps in this one."""
    how = at.evaluation
    return scene.law.subcycles and how.subcycles and how.instant is not None and not how.impact


def rest_of_step(at: StepStart) -> SX:
    """Time, s, from the instant at which contacts are seen to the step's end."""
    return (1 - (at.evaluation.instant or 0.0)) * at.dt


def with_sinking(contact: Contact, scene: Scene, at: StepStart) -> Contact:
    """A contact of such a law, with the distance by which it may still sink in this step."""
    if not subcycles(scene, at):
        return contact
    return replace(contact, sinks=rest_of_step(at) * ca.fmax(-contact.velocity[0], 0))


def carrying(end: StepOutputs) -> SX:
    """The velocity (nu,) that carries the coordinates on from where contacts are seen."""
    return end.u if end.carried is None else end.carried
