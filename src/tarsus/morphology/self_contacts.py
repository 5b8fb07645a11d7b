"""Find the pairs of solids that can touch, from many postures within the ranges of joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.poses import poses
from tarsus.errors import join_names
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import create_pairs, is_between_trees
from tarsus.model.solids import Pair, create_contacts
from tarsus.morphology.distances import distance_lower_bound, solid_center, solid_distance

Array = NDArray[np.float64]
POSTURES = 4096
SEED = 14
MAX_DEPTH = 1e-3  # m: smaller overlaps at the start are not reported
MIN_CLEARANCE = 0.2  # share of the sum of both sizes by which pairs that never touch are apart
ALWAYS_SHARE = 0.9  # share of postures; pairs that overlap in more of them always overlap
POSSIBLE, NEVER, ALWAYS = "pna"


@dataclass(frozen=True)
class SelfContacts:
    """Pairs of solids, by whether they can touch.

    Attributes
    ----------
    possible
        Pairs that can touch in some posture.
    never
        Pairs that are too far apart in every posture.
    always
        Pairs that overlap at the start, or in most postures.
    """

    possible: tuple[Pair, ...]
    never: tuple[Pair, ...] = ()
    always: tuple[Pair, ...] = ()


@lru_cache(maxsize=8)
def self_contacts(mechanism: Mechanism, within_robot: bool, /) -> SelfContacts:
    """Sort the pairs of solids that may collide according to the file by whether they can touch.

    All pairs of a robot and an object are possible. The result is deterministic.

    Parameters
    ----------
    mechanism
        Mechanism with `solids`.
    within_robot
        Whether to include pairs of the same robot.

    Returns
    -------
    SelfContacts
        Pairs.
    """
    return group_pairs(mechanism, within_robot, classify_pairs(mechanism, within_robot))


def classify_pairs(mechanism: Mechanism, within_robot: bool) -> str:
    """Classify each pair of `create_pairs` by a letter: POSSIBLE, NEVER or ALWAYS."""
    known = create_pairs(mechanism, within_robot)
    if all(is_between_trees(mechanism, pair) for pair in known):
        return POSSIBLE * len(known)
    # the start, and random postures
    start = mechanism.keyframes.get("stand", mechanism.neutral())
    q = np.vstack([start, draw_postures(mechanism, POSTURES)])
    placed = poses(mechanism, q)
    center = cache(lambda solid: solid_center(solid, placed))

    def classify(pair: Pair) -> str:
        if is_between_trees(mechanism, pair):
            return POSSIBLE
        clearance = MIN_CLEARANCE * (pair.first.reach + pair.second.reach)
        both = center(pair.first), center(pair.second)
        if distance_lower_bound(pair, both).min() > clearance and _is_bounded(mechanism, pair):
            return NEVER
        gap = solid_distance(pair, placed)
        if gap[0] <= 0 or np.mean(gap <= 0) > ALWAYS_SHARE:
            return ALWAYS
        return NEVER if gap.min() > clearance and _is_bounded(mechanism, pair) else POSSIBLE

    return "".join(map(classify, known))


def group_pairs(mechanism: Mechanism, within_robot: bool, letters: str) -> SelfContacts:
    """Group the pairs by the letters of `classify_pairs`."""
    known = create_pairs(mechanism, within_robot)
    of = {
        letter: tuple(
            p for p, own_letter in zip(known, letters, strict=True) if own_letter == letter
        )
        for letter in (POSSIBLE, NEVER, ALWAYS)
    }
    return SelfContacts(_collect_all_of(of[POSSIBLE]), of[NEVER], of[ALWAYS])


def overlapping_pairs(mechanism: Mechanism, q: Array) -> tuple[Pair, ...]:
    """Find pairs of robot and object solids that overlap by more than a contact at rest.

    Parameters
    ----------
    mechanism
        Mechanism with `solids`.
    q
        Coordinates, shape (nq,) or (n, nq).

    Returns
    -------
    tuple of Pair
        Overlapping pairs.
    """
    known = create_pairs(mechanism, within_robot=False)
    placed = poses(mechanism, q) if known else None
    return tuple(
        pair for pair in known if placed and solid_distance(pair, placed).min() < -MAX_DEPTH
    )


def draw_postures(mechanism: Mechanism, count: int) -> Array:
    """Draw random coordinates (count, nq): joints in their ranges, a third of them at a limit.

    Free bodies have their neutral pose.
    """
    random = np.random.default_rng(SEED)
    q = np.tile(mechanism.neutral(), (count, 1))
    for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        joint = body.joint
        if joint.kind == "ball":
            p = random.normal(size=(count, 4))
            q[:, q_slice] = p / np.linalg.norm(p, axis=1, keepdims=True)
        elif joint.kind in ("hinge", "slide"):
            widest = np.pi if joint.kind == "hinge" else 1.0
            low, high = np.clip([joint.lower, joint.upper], -widest, widest)
            if np.isfinite([joint.lower, joint.upper]).all():
                low, high = joint.lower, joint.upper
            share = np.clip(random.uniform(-0.25, 1.25, count), 0.0, 1.0)
            q[:, q_slice.start] = low + share * (high - low)
    return q


def _is_bounded(mechanism: Mechanism, pair: Pair) -> bool:
    """Return whether both bodies have one root and no unlimited slide is between them."""
    paths = [tree.support_path(mechanism, c.body) for c in (pair.first, pair.second)]
    if paths[0][-1] != paths[1][-1]:
        return False
    joints = [mechanism.bodies[i].joint for i in {*paths[0]} ^ {*paths[1]}]
    return all(j.kind != "slide" or np.isfinite([j.lower, j.upper]).all() for j in joints)


def _collect_all_of(firsts: Sequence[Pair]) -> tuple[Pair, ...]:
    """Collect all contacts of pairs, given the first one of each."""
    return tuple(pair for first in firsts for pair in create_contacts(first.first, first.second))


def pair_names(pairs: Sequence[Pair]) -> str:
    """Format the names of the first pairs, for messages."""
    names = [f"{pair.first.name}:{pair.second.name}" for pair in pairs]
    return join_names(names, 5)
