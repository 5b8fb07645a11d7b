"""Which solids of a robot can meet: found from many postures within its joints' ranges."""

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
from tarsus.model.self_collision import between, pairs
from tarsus.model.solids import Pair, contacts_of
from tarsus.morphology.distances import distance_lower_bound, solid_center, solid_distance

Array = NDArray[np.float64]
POSTURES = 4096
SEED = 14
DEEP = 1e-3  # m: solids that overlap by more as a simulation starts do so by mistake
NEAR = 0.2  # of both reaches: solids that stay farther apart in all postures never meet
MOST = 0.9  # of the postures: solids that overlap in more of them always do; an arm in a plane 0.8
KEPT, NEVER, ALWAYS = "kna"


@dataclass(frozen=True)
class SelfContacts:
    """Pairs that can meet, and those left out: too far apart in every posture, or overlapping as
    the robot starts or in most postures.
    """

    kept: tuple[Pair, ...]
    never: tuple[Pair, ...] = ()
    always: tuple[Pair, ...] = ()


@lru_cache(maxsize=8)
def self_contacts(mechanism: Mechanism, own: bool, /) -> SelfContacts:
    """Of all pairs that the robot's file lets touch: the same for the same robot, any time. Those
    of a robot and an object beside it are all kept.

    own: those of one robot too
    """
    return group_pairs(mechanism, own, classify_pairs(mechanism, own))


def classify_pairs(mechanism: Mechanism, own: bool) -> str:
    """What becomes of each of `model.self_collision.pairs`: letters of KEPT, NEVER, ALWAYS."""
    known = pairs(mechanism, own)
    if all(between(mechanism, pair) for pair in known):
        return KEPT * len(known)
    # postures: where it starts, without displacement, and at random
    start = mechanism.keyframes.get("stand", mechanism.neutral())
    q = np.vstack([start, postures(mechanism, POSTURES)])
    placed = poses(mechanism, q)
    where = cache(lambda solid: solid_center(solid, placed))

    # every pair in all of them
    def fate(pair: Pair) -> str:
        if between(mechanism, pair):
            return KEPT
        near = NEAR * (pair.first.reach + pair.second.reach)
        both = where(pair.first), where(pair.second)
        if distance_lower_bound(pair, both).min() > near and _bounded(mechanism, pair):
            return NEVER
        gap = solid_distance(pair, placed)
        if gap[0] <= 0 or np.mean(gap <= 0) > MOST:
            return ALWAYS
        return NEVER if gap.min() > near and _bounded(mechanism, pair) else KEPT

    return "".join(map(fate, known))


def group_pairs(mechanism: Mechanism, own: bool, found: str) -> SelfContacts:
    """The pairs by what `fates` found."""
    known = pairs(mechanism, own)
    of = {
        letter: tuple(pair for pair, fate in zip(known, found, strict=True) if fate == letter)
        for letter in (KEPT, NEVER, ALWAYS)
    }
    return SelfContacts(_all_of(of[KEPT]), of[NEVER], of[ALWAYS])


def overlapping_pairs(mechanism: Mechanism, q: Array) -> tuple[Pair, ...]:
    """Robots' and objects' solids that are in each other at coordinates (nq,) or (n, nq), by more
    than what a contact at rest is deep.
    """
    known = pairs(mechanism, own=False)
    placed = poses(mechanism, q) if known else None
    return tuple(pair for pair in known if placed and solid_distance(pair, placed).min() < -DEEP)


def postures(mechanism: Mechanism, count: int) -> Array:
    """Coordinates (count, nq) at random: joints anywhere in their ranges, one of three at an end;
    free bodies stand as without displacement.
    """
    random = np.random.default_rng(SEED)
    q = np.tile(mechanism.neutral(), (count, 1))
    for body, at in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        joint = body.joint
        if joint.kind == "ball":
            turned = random.normal(size=(count, 4))
            q[:, at] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        elif joint.kind in ("hinge", "slide"):
            widest = np.pi if joint.kind == "hinge" else 1.0
            low, high = np.clip([joint.lower, joint.upper], -widest, widest)
            if np.isfinite([joint.lower, joint.upper]).all():
                low, high = joint.lower, joint.upper
            part = np.clip(random.uniform(-0.25, 1.25, count), 0.0, 1.0)
            q[:, at.start] = low + part * (high - low)
    return q


def _bounded(mechanism: Mechanism, pair: Pair) -> bool:
    """Whether both hang on one root and no slide without end lies between them."""
    paths = [tree.path(mechanism, c.body) for c in (pair.first, pair.second)]
    if paths[0][-1] != paths[1][-1]:
        return False
    joints = [mechanism.bodies[i].joint for i in {*paths[0]} ^ {*paths[1]}]
    return all(j.kind != "slide" or np.isfinite([j.lower, j.upper]).all() for j in joints)


def _all_of(firsts: Sequence[Pair]) -> tuple[Pair, ...]:
    """All contacts of pairs, of which the first ones are given."""
    return tuple(pair for first in firsts for pair in contacts_of(first.first, first.second))


def pair_names(pairs: Sequence[Pair]) -> str:
    """Some of their names."""
    names = [f"{pair.first.name}:{pair.second.name}" for pair in pairs]
    return join_names(names, 5)
