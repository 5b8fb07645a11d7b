"""Where an ellipsoid touches uneven ground: at several places, in a hollow that is rounder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tarsus.model.mechanism import Candidate

SPOTS = 5  # of an ellipsoid: places where it is looked for a contact
AWAY = 1e-3  # of the size: where the ground is farther a spot that pressed has moved elsewhere


def with_spots(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The same, every ellipsoid SPOTS times: NAME, NAME+1, ... with as many starts of the search
    for where it touches (`collision.closest_point.ellipsoid_ground`).
    """
    found: list[Candidate] = []
    for candidate in candidates:
        if candidate.outline is None or not candidate.outline.solid:
            found.append(candidate)
            continue
        names = [candidate.name, *(f"{candidate.name}+{k}" for k in range(1, SPOTS))]
        found += [replace(candidate, name=name, start=k) for k, name in enumerate(names)]
    return tuple(found)
