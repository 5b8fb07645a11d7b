"""Sort the contact reports of a step, which lie in slots, by contact candidate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Backend
from tarsus.simulation.contact_selection import MAX_DEFAULT_CONTACTS
from tarsus.simulation.step_program import CACHE_SIZE, Plan, reuse_plan
from tarsus.stepping.base import Scene

Array = NDArray[Any]


def scatter_to_candidates(scene: Scene, values: Array, memory: Array, arrays: Any = np) -> Array:
    """Scatter values to the candidates, zero where a candidate is in no slot.

    Parameters
    ----------
    scene
        Scene whose step collects secondary contacts in slots.
    values
        Values of the primary contacts and then the slots, shape (..., reported, k).
    memory
        Register `memory` after the step, shape (..., size).
    arrays
        Module of both arrays, NumPy or CuPy.

    Returns
    -------
    array
        Shape (..., n, k).
    """
    # candidate of each slot; empty slots use an extra last row
    usual, all_of_them = len(scene.geometry.primary), len(scene.geometry.order)
    numbers = _find_slot_candidates(scene, memory).reshape(-1, scene.slots)
    numbers = arrays.where(numbers < 0, all_of_them, numbers).astype(int)
    # sort by candidate
    rows = values.reshape(len(numbers), scene.geometry.report_count, -1)
    scattered = arrays.zeros((len(rows), all_of_them + 1, rows.shape[-1]), values.dtype)
    scattered[:, :usual] = rows[:, :usual]
    scattered[arrays.arange(len(rows))[:, None], numbers] = rows[:, usual:]
    order = arrays.asarray(np.argsort(scene.geometry.order))
    return scattered[:, order].reshape(*values.shape[:-2], all_of_them, -1)


def collect_impulses(scene: Scene, worlds: Backend) -> Any:
    """Collect the impulses of the last step by candidate, shape (worlds, n, 3), in N s."""
    impulse = worlds.output("impulse").reshape(worlds.count, -1, 3)
    if not scene.slots:
        return impulse
    return scatter_to_candidates(scene, impulse, worlds.output("memory"), worlds.arrays)


def expand_slots(
    plan: Plan,
    start: Mapping[str, Array],
    records: Mapping[str, Array],
    extra: Collection[str] = (),
) -> tuple[Plan, Mapping[str, Array], Mapping[str, Array]]:
    """Expand plan, start and records as if the step had no slots.

    Impulse and memory are sorted by candidate. Spans and pairs are retained only if they touched.
    If there are more than `MAX_DEFAULT_CONTACTS` candidates, this applies to secondary candidates
    too, except those named in `extra`.

    Parameters
    ----------
    plan
        Compiled step.
    start, records
        Registers before the first step, and after every step.
    extra
        Names of contacts that are retained even if they did not touch.
    """
    scene, law = plan.scene, plan.scene.law
    if not scene.slots:
        return plan, start, records
    # find what touched
    slot_contents = [
        np.unique(_find_slot_candidates(scene, part["memory"])) for part in (start, records)
    ]
    numbers = {int(k) for k in np.concatenate(slot_contents) if k >= 0}
    first, always = len(scene.candidates), len(scene.geometry.primary)
    always = first if first <= MAX_DEFAULT_CONTACTS else always
    named = {i for i, name in enumerate(scene.geometry.contact_names) if name in extra}
    indices = sorted({scene.geometry.order[k] for k in {*range(always), *numbers}} | named)
    # sort their impulses and the law's memory
    expanded = []
    for part in (start, records):
        memory = part["memory"]
        contact_memory = memory[..., : law.memory_size(scene.geometry.report_count)].reshape(
            *memory.shape[:-1], scene.geometry.report_count, law.contact_memory
        )
        contact_memory = scatter_to_candidates(scene, contact_memory, memory)[..., indices, :]
        new = {"memory": contact_memory.reshape(*memory.shape[:-1], -1)}
        if "impulse" in part:
            impulse = part["impulse"].reshape(*memory.shape[:-1], scene.geometry.report_count, 3)
            impulse = scatter_to_candidates(scene, impulse, memory)[..., indices, :]
            new["impulse"] = impulse.reshape(*memory.shape[:-1], -1)
        expanded.append({**part, **new})
    return _select_contacts(plan, tuple(indices)), *expanded


@lru_cache(maxsize=CACHE_SIZE)
def _select_contacts(plan: Plan, indices: tuple[int, ...]) -> Plan:
    """Create the plan with some of the contacts and without slots."""
    scene, first = plan.scene, len(plan.scene.candidates)
    pairs = first + len(scene.spans)
    some = replace(
        scene,
        candidates=tuple(scene.candidates[i] for i in indices if i < first),
        spans=tuple(scene.spans[i - first] for i in indices if first <= i < pairs),
        pairs=tuple(scene.pairs[i - pairs] for i in indices if i >= pairs),
        secondary=(),
        slots=0,
        rotational_inertias=(),
    )
    return reuse_plan(replace(plan, scene=some))


def _find_slot_candidates(scene: Scene, memory: Array) -> Array:
    """Find the candidate in each slot (..., slots), as an index; negative if empty."""
    return memory[..., scene.slot_numbers]
