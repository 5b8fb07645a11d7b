"""Warn if dt exceeds the stable limit of the contact law."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.dynamics import effective_mass, tree
from tarsus.errors import WarningRecord
from tarsus.morphology.self_contacts import draw_postures
from tarsus.parameters import names_with_role
from tarsus.simulation.contact_selection import contact_masses
from tarsus.simulation.stacked_contacts import (
    TouchingContacts,
    find_touching_contacts,
    has_only_free_joints,
)
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene

LANDING_POSTURES = 32  # random postures
CACHE_SIZE = 16  # scenes


def stability_warnings(plan: Plan, q: NDArray[np.float64], dt: float) -> list[WarningRecord]:
    """Warn if dt exceeds the law's stable limit for the lightest contact.

    The contact is assumed to carry the full weight.
    """
    limits, masses, load = _limits(plan, q)
    inner, better = dt / plan.stepper.inner_steps, recommended_step(plan, q)
    return [
        WarningRecord(
            f"dt = {inner:g} s is above the stable limit of {what}, about {limit:.2g} s where"
            f" a foot of {masses[0]:.2g} kg ({masses[1]:.2g} kg sideways) carries {load:.3g} N; the"
            f" robot may chatter, sink or fall; use dt = {better:g} s or less, or a softer law.",
            "dt-above-stable-limit",
            what,
        )
        for what, limit in limits.items()
        if inner > limit
    ]


def falling_warnings(plan: Plan, dt: float) -> list[WarningRecord]:
    """Warn if dt is too long for a fall and the law's subcycling is not used."""
    scene, inner = plan.scene, dt / plan.stepper.inner_steps
    if not scene.law.subcycles or plan.stepper.subcycles or not scene.candidates:
        return []
    mass, body = min_landing_mass(scene)
    weight = scene.mechanism.mass * float(np.linalg.norm(scene.mechanism.gravity_acceleration))
    limit = min(scene.law.largest_steps((mass, mass), weight).values(), default=np.inf)
    if not inner > limit:
        return []
    text = (
        f"dt = {inner:g} s is above the stable limit of a fall, about {limit:.2g} s where"
        f" {body!r} lands (effective mass {mass:.2g} kg), so a fall may gain energy; the stepper"
        " midpoint can take shorter steps for the contacts (forces=resolved)."
    )
    return [WarningRecord(text, "dt-too-long-for-falls", body)]


@lru_cache(maxsize=CACHE_SIZE)
def min_landing_mass(scene: Scene) -> tuple[float, str]:
    """Find the body with the smallest landing mass; return that mass, in kg, and its name.

    The minimum is over all directions and a sample of postures.
    """
    mechanism, neutral = scene.mechanism, (scene.mechanism.uncut or scene.mechanism).neutral()
    poses = neutral[None] if mechanism.constrained else draw_postures(mechanism, LANDING_POSTURES)
    blocks = effective_mass.contact_mobilities(mechanism, poses, scene.candidates)
    largest = np.linalg.eigvalsh(blocks)[..., -1]
    # bound: the sum over all contacts of a body
    bodies = sorted({candidate.body for candidate in scene.candidates})
    of_body = np.array([[c.body == body for c in scene.candidates] for body in bodies])
    mobility = (largest @ of_body.T).max(0)
    worst = int(mobility.argmax())
    return float(1 / mobility[worst]), mechanism.bodies[bodies[worst]].name


def touching_warnings(plan: Plan, q: NDArray[np.float64], dt: float) -> list[WarningRecord]:
    """Warn if dt exceeds the stable limit of the contacts that touch at q."""
    if is_subcycled(plan):
        return []
    inner, touching = (
        dt / plan.stepper.inner_steps,
        find_touching_contacts(plan.scene, _first_world(q)),
    )
    if touching is None or inner <= touching.step:
        return []
    return [stacked_contact_warning(plan.scene.law, touching, inner, recommended_step(plan, q))]


def is_subcycled(plan: Plan) -> bool:
    """Return whether contact forces are integrated with shorter steps where necessary."""
    return plan.scene.law.subcycles and plan.stepper.subcycles


def stacked_contact_warning(
    law: Law, touching: TouchingContacts, dt: float, better: float
) -> WarningRecord:
    """Create the warning that dt, in s, is too long for contacts that touch simultaneously."""
    first, second = touching.shapes
    where = f"{first} and {second} touch" if second else f"{first} stands on the ground"
    softer = "a softer law"
    names = names_with_role(type(law), "stiffness", "damping")
    if touching.linear and names:
        softer = f"{' and '.join(names)} divided by {touching.softening_factor(dt):.2g}"
    text = (
        f"dt = {dt:g} s is above the stable limit where {where}, about {touching.step:.2g} s with"
        f" the {touching.count} contacts of the start together: bodies may chatter, creep or be"
        f" thrown off; use dt = {better:g} s or less, or {softer}."
    )
    return WarningRecord(text, "dt-above-stable-limit", first)


def recommended_step(plan: Plan, q: NDArray[np.float64]) -> float:
    """Compute half the smallest stable dt in s, rounded to one digit.

    Infinite if there is no limit.
    """
    touching = None if is_subcycled(plan) else find_touching_contacts(plan.scene, _first_world(q))
    limits = [*_limits(plan, q)[0].values(), *([] if touching is None else [touching.step])]
    half = 0.5 * plan.stepper.inner_steps * min(limits, default=np.inf)
    if not 0 < half < np.inf:
        return np.inf
    digit = 10.0 ** np.floor(np.log10(half))
    return float(f"{np.floor(half / digit) * digit:.1g}")


def _first_world(q: NDArray[np.float64]) -> NDArray[np.float64]:
    return q if q.ndim == 1 else q[0]


def _limits(
    plan: Plan, q: NDArray[np.float64]
) -> tuple[dict[str, float], tuple[float, float], float]:
    """Compute the law's stable limits in s by cause, effective masses in kg, and weight in N.

    They are those of the robot's own contacts; objects, and a world without joints, are covered by
    `find_touching_contacts`.
    """
    scene, objects = plan.scene, tree.object_bodies(plan.scene.mechanism)
    mechanism, touching = scene.mechanism, find_touching_contacts(scene, _first_world(q))
    candidates = tuple(c for c in scene.candidates if c.body not in objects)
    masses = contact_masses(
        replace(scene, candidates=candidates) if objects else scene, _first_world(q)
    )
    mass = sum(b.inertia.mass for i, b in enumerate(mechanism.bodies) if i not in objects)
    load = (mass if objects else mechanism.mass) * float(
        np.linalg.norm(mechanism.gravity_acceleration)
    )
    limits = {} if is_subcycled(plan) else scene.law.largest_steps(masses, load)
    if touching is not None and has_only_free_joints(mechanism):
        limits = {what: limit for what, limit in limits.items() if what not in touching.bounds}
    return limits, masses, load
