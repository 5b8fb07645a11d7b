"""Warnings about a user's choices: too large a dt, ignored properties of the terrain."""

from __future__ import annotations

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.parameters import named
from tarsus.program.ir.trace import Builder
from tarsus.simulation.contact_selection import contact_masses
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene


def stability_notices(plan: Plan, q: NDArray[np.float64], dt: float) -> list[str]:
    """Warnings if dt exceeds the law's stable limit for the lightest contact under full weight."""
    mechanism = plan.scene.mechanism
    masses = contact_masses(plan.scene, q if q.ndim == 1 else q[0])
    load = mechanism.mass * float(np.linalg.norm(mechanism.gravity_acceleration))
    inner = dt / plan.stepper.inner_steps
    return [
        f"dt = {inner:g} s is above the stable limit of {what}, about {limit:.2g} s where a foot of"
        f" {masses[0]:.2g} kg ({masses[1]:.2g} kg sideways) carries {load:.3g} N: expect chatter;"
        " use a smaller dt or a softer law."
        for what, limit in plan.scene.law.largest_steps(masses, load).items()
        if inner > limit
    ]


def ground_notices(scene: Scene) -> list[str]:
    """Warnings for properties of the terrain that the law ignores."""
    friction, stiffness = scene.terrain.material(
        SX.sym("point", 3), scene.terrain.symbols(Builder("ground"))
    )
    name, notices = registry.name_of(scene.law), []
    if not stiffness.is_one() and not named(type(scene.law), "stiffness", "damping"):
        notices.append(f"the law {name!r} has no stiffness: the terrain's is ignored.")
    if not friction.is_one() and not named(type(scene.law), "friction"):
        notices.append(f"the law {name!r} has no friction coefficient: the terrain's is ignored.")
    return notices


def tolerances_for_float32(chosen: Law, notices: list[str]) -> dict[str, NDArray[np.float64]]:
    """float32 cannot resolve the tolerances meant for float64: at least 1e-4."""
    raised, values = {}, chosen.parameters()
    for name in named(type(chosen), "relative_tolerance", "absolute_tolerance"):
        value = values[name]
        if np.min(value) < 1e-4:
            raised[f"law.{name}"] = np.maximum(value, 1e-4)[..., None]
    if raised:
        notices.append("float32: the solver's tolerances are raised to 1e-4.")
    return raised
