"""Decide whether a law may integrate its forces in substeps, and supply what it needs for that.

The substeps themselves are in `contact/subcycle.py`.
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
    """Declare the field `forces` of steppers that evaluate contacts at one instant."""
    return choice(
        RESOLVED,
        "how often a step evaluates the force of compliant ground",
        resolved="as often as its stiffness and damping need",
        once="once, as the papers do: stable only below the law's limit on dt",
    )


def subcycles(scene: Scene, start: StepStart) -> bool:
    """Return whether the law integrates its forces in substeps in this step."""
    evaluation = start.evaluation
    allowed = evaluation.subcycles and evaluation.instant is not None and not evaluation.impact
    return scene.law.subcycles and allowed


def rest_of_step(start: StepStart) -> SX:
    """Compute the time in s from the evaluation of contacts to the end of the step."""
    return (1 - (start.evaluation.instant or 0.0)) * start.dt


def with_sinking(contact: Contact, scene: Scene, start: StepStart) -> Contact:
    """Add the distance by which it may still sink to the contact, for laws that subcycle."""
    if not subcycles(scene, start):
        return contact
    return replace(contact, possible_sinking=rest_of_step(start) * ca.fmax(-contact.velocity[0], 0))


def coordinate_velocity(end: StepOutputs) -> SX:
    """Compute the velocity (nu,) that advances the coordinates after the evaluation."""
    return end.u if end.coordinate_velocity is None else end.coordinate_velocity
