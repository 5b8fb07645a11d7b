"""MuJoCo's `connect` equalities as ball joints outside the tree: closed kinematic loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD, Joint, LoopJoint
from tarsus.model.parts import Welded

Array = NDArray[np.float64]
CONNECT = 0  # mjtEq
SITE = 6  # mjtObj


def closes_loop(model: Any, number: int) -> bool:
    """True for an equality constraint that `loop_joints` takes over."""
    return model.eq_type[number] == CONNECT and bool(model.eq_active0[number])


def loop_joints(
    model: Any, welded: Welded, owner: list[int], anchors: list[Array]
) -> tuple[LoopJoint, ...]:
    """A ball joint for every active `connect`; owner, anchors: of each MuJoCo body its part and its
    joint's anchor.
    """
    found = []
    for number in range(model.neq):
        if not closes_loop(model, number):
            continue
        ends = [_end(model, number, which) for which in (0, 1)]
        (first, at_first), (second, at_second) = (
            _place(welded, owner, anchors, *end) for end in ends
        )
        if second == WORLD:
            first, at_first, second, at_second = second, at_second, first, at_first
        if second == WORLD or first == second:
            continue
        name = model.equality(number).name or f"connect_{number}"
        found.append(LoopJoint(Joint(name, "ball"), first, second, at_first, in_child=at_second))
    return tuple(found)


def _end(model: Any, number: int, which: int) -> tuple[int, Array]:
    """The MuJoCo body at one end of an equality, and the anchor (3,) in its frame."""
    thing = int((model.eq_obj1id, model.eq_obj2id)[which][number])
    if model.eq_objtype[number] == SITE:
        return int(model.site_bodyid[thing]), np.array(model.site_pos[thing], dtype=float)
    return thing, np.array(model.eq_data[number, 3 * which : 3 * which + 3], dtype=float)


def _place(
    welded: Welded, owner: list[int], anchors: list[Array], body: int, point: Array
) -> tuple[int, Array]:
    """The mechanism's body that carries a point of a MuJoCo body, and the point in its frame."""
    if body == 0:
        return WORLD, point
    host, pose = welded.places[owner[body]]
    return host, pose.point(point - anchors[body])
