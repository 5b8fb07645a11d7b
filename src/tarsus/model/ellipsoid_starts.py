"""Ellipsoids on uneven ground: in a hollow that is rounder, one touches at several points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tarsus.model.mechanism import Candidate

STARTS_PER_ELLIPSOID = 5  # starts of the search for contact points
MAX_GAP_RATIO = 1e-3  # of the size: a point that pressed and has a larger gap has moved elsewhere


def with_starts(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Replace every ellipsoid by STARTS_PER_ELLIPSOID candidates: NAME, NAME+1, ...

    Each copy has its own start of the search for the contact point
    (`collision.closest_point.ellipsoid_ground`).
    """
    result: list[Candidate] = []
    for candidate in candidates:
        if candidate.outline is None or not candidate.outline.is_ellipsoid:
            result.append(candidate)
            continue
        copies = (f"{candidate.name}+{k}" for k in range(1, STARTS_PER_ELLIPSOID))
        names = [candidate.name, *copies]
        result += [replace(candidate, name=name, start=k) for k, name in enumerate(names)]
    return tuple(result)
