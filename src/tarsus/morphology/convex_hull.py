"""Find the contact candidates that matter on flat ground: the corners of convex hulls.

A sphere inside the convex hull of others of the same radius and body is never the lowest. One in a
face or an edge of the hull can be as low as its corners, but these carry any load that it could.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from tarsus.model.mechanism import Candidate

FLATNESS_TOLERANCE = 1e-9  # of the largest extent; thinner point sets are planar or collinear


def hull_candidates(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Select the candidates that are corners of the convex hull of similar ones.

    Candidates are alike if they have the same body, radius and friction coefficient. Rims and
    ellipsoids are all returned, because their contact points move.

    Parameters
    ----------
    candidates
        Contact candidates.

    Returns
    -------
    tuple of Candidate
        Candidates to evaluate, in the same order.
    """
    alike: dict[tuple[int, float, float], list[int]] = {}
    selected = [candidate.outline is not None for candidate in candidates]
    for k, candidate in enumerate(candidates):
        if candidate.outline is None:
            alike.setdefault((candidate.body, candidate.radius, candidate.friction), []).append(k)
    for group in alike.values():
        for k in hull_corners(np.array([candidates[index].position for index in group])):
            selected[group[k]] = True
    return tuple(c for c, is_selected in zip(candidates, selected, strict=True) if is_selected)


def hull_corners(points: NDArray[np.float64]) -> list[int]:
    """Find the indices of points (n, 3) that are corners of their convex hull.

    Of equal points the first counts. Points may be coplanar or collinear.
    """
    # project on the directions in which they extend
    _, first = np.unique(points, axis=0, return_index=True)
    first = np.sort(first)
    centered = points[first] - points[first].mean(axis=0)
    _, extents, axes = np.linalg.svd(centered, full_matrices=False)
    flat = centered @ axes[extents > FLATNESS_TOLERANCE * extents[:1]].T
    # the points of a simplex are all corners
    if len(flat) <= flat.shape[1] + 1:
        return first.tolist()
    if flat.shape[1] == 1:
        return first[sorted({int(flat.argmin()), int(flat.argmax())})].tolist()
    return first[np.sort(ConvexHull(flat).vertices)].tolist()
