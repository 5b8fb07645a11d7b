"""Observe recorded steps: derived quantities and contact variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.contact.criteria import SolvedContacts
from tarsus.parameters import Role, names_with_role
from tarsus.program.run.evaluation import evaluate
from tarsus.simulation.contact_reports import expand_slots
from tarsus.simulation.recording import variables
from tarsus.simulation.recording.observer import observer_program, resisting_candidates
from tarsus.simulation.step_program import Plan
from tarsus.stepping.contact_moments import recorded_moments
from tarsus.stepping.flight import TERMS_VELOCITY

Array = NDArray[Any]
VECTORS = ("before", "after", "correction", "point")


class Registers(Protocol):
    """Registers of worlds, such as a `Backend`."""

    def __contains__(self, name: str) -> bool: ...

    def get(self, name: str) -> Array:
        """Return the values of a register, shape (worlds, size)."""
        ...


@dataclass(frozen=True, eq=False)
class ObservedSteps:
    """Recorded steps of one or many worlds, with contacts sorted by candidate.

    Attributes
    ----------
    plan, start, records
        As given, without slots (`contact_reports.expand_slots`).
    dt
        Time step, in s.
    reports
        Reports of the observer, shape (steps, worlds, size).
    solved
        Contact problems and their solutions.
    contacts
        Contact variables (steps, worlds, n, ...) with their dimensions (`contact_variables`).
    """

    plan: Plan
    start: Mapping[str, Array]
    records: Mapping[str, Array]
    dt: float
    reports: Mapping[str, Array]
    solved: SolvedContacts
    contacts: Mapping[str, Any]


def observe_steps(
    plan: Plan,
    worlds: Registers,
    start: Mapping[str, Array],
    records: Mapping[str, Array],
    extra: Collection[str] = (),
) -> ObservedSteps:
    """Observe recorded steps.

    Parameters
    ----------
    plan, worlds
        Compiled step and its worlds.
    start
        Registers before the first step, shape (worlds, size).
    records
        Registers after each step, shape (steps, worlds, size).
    extra
        Names of contacts that are included even if they did not touch.
    """
    # observe the steps
    of_contact = recorded_moments(plan.scene, records["memory"])
    plan, start, records = expand_slots(plan, start, records, extra)
    steps, count, n = *records["q"].shape[:2], len(plan.scene.geometry.contact_names)
    dt = float(worlds.get("dt")[0, 0])
    before = {k: np.concatenate([start[k][None], records[k][:-1]]) for k in ("q", "u", "memory")}
    moments = _stack_moments(plan, of_contact, (steps, count))
    observed = _observe(plan, worlds, before, {**records, **moments})
    # contacts: impulses in contact frames, compared with the law
    impulse = records["impulse"].reshape(steps, count, n, 3).astype(float)
    vectors = {k: observed[k].reshape(steps, count, n, 3) for k in VECTORS}
    material = _collect_material(plan.scene.law, worlds, observed["friction"])
    material["correction"] = vectors["correction"]
    solved = SolvedContacts(
        observed["gap"], impulse, vectors["before"], vectors["after"], dt=dt, **material
    )
    frame = observed["frame"].reshape(steps, count, n, 3, 3)
    contacts = variables.contact_variables(solved, frame, vectors["point"], observed["friction"])
    if moments:
        contacts["contact_moment"] = _moment_variable(plan, moments["moments"])
    return ObservedSteps(plan, start, records, dt, observed, solved, contacts)


def _stack_moments(
    plan: Plan, of_contact: Mapping[str, Array], shape: tuple[int, int]
) -> dict[str, Array]:
    """Stack the observer's parameter `moments`, zero for candidates without recorded moments."""
    names = resisting_candidates(plan)
    none = np.zeros((*shape, 3))
    stacked = [of_contact.get(name, none) for name in names]
    return {"moments": np.concatenate(stacked, axis=-1)} if names else {}


def _moment_variable(plan: Plan, moments: Array) -> tuple[tuple[str, ...], Array]:
    """Build the moments on the robot of all contacts, shape (steps, worlds, n, 3), in N m."""
    names = list(plan.scene.geometry.contact_names)
    values = np.zeros((*moments.shape[:-1], len(names), 3))
    for k, name in enumerate(resisting_candidates(plan)):
        values[..., names.index(name), :] = -moments[..., 3 * k : 3 * k + 3]
    return ("time", "world", "contact", "xyz"), values


def _collect_material(law: Law, worlds: Registers, friction: Array) -> dict[str, Any]:
    """Collect the law's parameters for the criteria, by world, with mu of each contact."""

    def of(role: Role, missing: float) -> Array:
        names = [name for name in names_with_role(type(law), role) if f"law.{name}" in worlds]
        return worlds.get(f"law.{names[0]}")[:, 0] if names else np.full(1, missing)

    mu = of("friction", 0.0)[:, None] * friction
    mu_K = of("kinetic_ratio", 1.0)[:, None] * mu
    if np.isfinite(kinetic := of("kinetic_friction", np.nan)).all():
        mu_K = kinetic[:, None] * friction
    return {
        "mu": mu,
        "mu_K": mu_K,
        "e_N": of("restitution_normal", 0.0),
        "e_T": of("restitution_tangential", 0.0),
        "tolerance": float(of("absolute_tolerance", 0.0).max()),
    }


def _observe(
    plan: Plan, worlds: Registers, before: Mapping[str, Array], records: Mapping[str, Array]
) -> dict[str, Array]:
    """Compute the observer's reports for every step and world, shape (steps, worlds, size)."""
    steps, count = records["q"].shape[:2]
    program, scene = observer_program(plan), plan.scene
    of_law = scene.law.memory_size(len(scene.geometry.contact_names))
    samples = {
        "q0": before["q"],
        "u0": before["u"],
        "memory": before["memory"][..., :of_law],
        "q1": records["q"],
        "u1": records["u"],
        "impulse": records["impulse"],
        "bilateral": records["bilateral"],
        "tau": records["tau"],
    } | {name: records[name] for name in ("joints", "push", "moments") if name in records}
    if plan.stepper.mean_velocity:
        samples[TERMS_VELOCITY] = records[TERMS_VELOCITY]
    flat = {name: value.reshape(steps * count, -1) for name, value in samples.items()}
    for register in program.of_kind("parameter"):
        if register.name not in flat:
            flat[register.name] = np.tile(worlds.get(register.name), (steps, 1))
    return {
        name: value.reshape(steps, count, -1) for name, value in evaluate(program, flat).items()
    }
