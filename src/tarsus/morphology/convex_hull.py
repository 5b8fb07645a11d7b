"""Candidates that matter on flat ground: of a body's, the corners of their convex hull.

A ball inside the hull of others that are as large and on the same body is never the lowest. One
within a face or an edge of the hull may be as low as its corners, but these bear any load that it
could bear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from tarsus.model.mechanism import Candidate

FLAT = 1e-9  # of the largest extent: what is thinner lies in a plane, or on a line


def hull_candidates(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates without those that are within the convex hull of others on their body, of the
    same radius and friction; in the same order.

    Rims and ellipsoids stay, as their points travel.
    """
    alike: dict[tuple[int, float, float], list[int]] = {}
    kept = [candidate.outline is not None for candidate in candidates]
    for k, candidate in enumerate(candidates):
        if candidate.outline is None:
            alike.setdefault((candidate.body, candidate.radius, candidate.friction), []).append(k)
    for group in alike.values():
        for k in hull_corners(np.array([candidates[at].position for at in group])):
            kept[group[k]] = True
    return tuple(candidate for candidate, stays in zip(candidates, kept, strict=True) if stays)


def hull_corners(points: NDArray[np.float64]) -> list[int]:
    """Which of the points (n, 3) are the corners of their convex hull, of several alike the first;
    also where all lie in a plane or on a line.
    """
    # in as many directions as they extend to
    _, first = np.unique(points, axis=0, return_index=True)
    first = np.sort(first)
    centered = points[first] - points[first].mean(axis=0)
    _, extents, axes = np.linalg.svd(centered, full_matrices=False)
    flat = centered @ axes[extents > FLAT * extents[:1]].T
    # few points are all corners
    if len(flat) <= flat.shape[1] + 1:
        return first.tolist()
    if flat.shape[1] == 1:
        return first[sorted({int(flat.argmin()), int(flat.argmax())})].tolist()
    return first[np.sort(ConvexHull(flat).vertices)].tolist()
