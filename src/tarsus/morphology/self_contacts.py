"""Which capsules of a robot can meet: found from many postures within its joints' ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.poses import poses
from tarsus.model.capsule import Capsule, Pair
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import pairs

Array = NDArray[np.float64]
POSTURES = 4096
SEED = 14
NEAR = 0.2  # of both reaches: capsules that stay farther apart in all postures never meet
MOST = 0.5  # of the postures: capsules that overlap in more of them always do
ROUND = 1e-12  # m^2: keeps a ball's segment from dividing by zero


@dataclass(frozen=True)
class SelfContacts:
    """Pairs that can meet, and those left out: too far apart in every posture, or overlapping as
    the robot starts or in most postures.
    """

    kept: tuple[Pair, ...]
    never: tuple[Pair, ...] = ()
    always: tuple[Pair, ...] = ()


@lru_cache(maxsize=8)
def self_contacts(mechanism: Mechanism) -> SelfContacts:
    """Of all pairs that the robot's file lets touch: the same for the same robot, any time."""
    known = pairs(mechanism)
    if not known:
        return SelfContacts(())
    # postures: where it starts, without displacement, and at random
    start = mechanism.keyframes.get("stand", mechanism.neutral())
    q = np.vstack([start, postures(mechanism, POSTURES)])
    origins, rotations = poses(mechanism, q)
    # every pair in all of them
    found: dict[str, list[Pair]] = {"kept": [], "never": [], "always": []}
    for pair in known:
        ends = [
            (origins[:, c.body] + rotations[:, c.body] @ c.middle, rotations[:, c.body] @ c.half)
            for c in (pair.first, pair.second)
        ]
        gap = distances(*ends[0], *ends[1]) - pair.first.radius - pair.second.radius
        near = NEAR * (pair.first.reach + pair.second.reach)
        if gap[0] <= 0 or np.mean(gap <= 0) > MOST:
            found["always"].append(pair)
        elif gap.min() > near and _bounded(mechanism, pair):
            found["never"].append(pair)
        else:
            found["kept"].append(pair)
    return SelfContacts(*(tuple(part) for part in found.values()))


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


def distances(m1: Array, d1: Array, m2: Array, d2: Array) -> Array:
    """Between segments from m - d to m + d, (n, 3) each, m: see `stepping/pairs.py`."""
    apart = m1 - m2
    a, e, b, c, f = (
        np.sum(x * y, axis=1) for x, y in ((d1, d1), (d2, d2), (d1, d2), (d1, apart), (d2, apart))
    )
    a, e = a + ROUND, e + ROUND
    s = np.clip((b * f - c * e) / np.maximum(a * e - b * b, ROUND * a * e + ROUND**2), -1, 1)
    t = np.clip((b * s + f) / e, -1, 1)
    s = np.clip((b * t - c) / a, -1, 1)
    return np.linalg.norm(apart + s[:, None] * d1 - t[:, None] * d2, axis=1)


def _bounded(mechanism: Mechanism, pair: Pair) -> bool:
    """Whether both hang on one root and no slide without end lies between them."""
    paths = [tree.path(mechanism, c.body) for c in (pair.first, pair.second)]
    if paths[0][-1] != paths[1][-1]:
        return False
    joints = [mechanism.bodies[i].joint for i in {*paths[0]} ^ {*paths[1]}]
    return all(j.kind != "slide" or np.isfinite([j.lower, j.upper]).all() for j in joints)


def told(names: Sequence[Capsule | Pair]) -> str:
    """Some of their names."""
    some = ", ".join(part.name for part in names[:5])
    return f"{some}, ..." if len(names) > 5 else some
