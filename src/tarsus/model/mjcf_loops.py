"""MuJoCo's `connect` and `weld` equalities as ball and fixed joints that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD, Joint, LoopJoint
from tarsus.model.parts import Welded
from tarsus.model.poses import Pose, rotation_from_quaternion, shift

Array = NDArray[np.float64]
CONNECT, WELD = 0, 1  # mjtEq
SITE = 6  # mjtObj


def closes_loop(model: Any, number: int) -> bool:
    """True for an equality constraint that `loop_joints` takes over."""
    return model.eq_type[number] in (CONNECT, WELD) and bool(model.eq_active0[number])


def loop_joints(
    model: Any, welded: Welded, owner: list[int], anchors: list[Array]
) -> tuple[LoopJoint, ...]:
    """A ball joint for every active `connect`, a fixed one for every `weld`.

    owner, anchors: of each MuJoCo body its part and its joint's anchor
    """
    found = []
    for number in range(model.neq):
        if not closes_loop(model, number):
            continue
        first, second = (
            _place(welded, owner, anchors, *_end(model, number, which)) for which in (0, 1)
        )
        if second[0] == WORLD:
            first, second = second, first
        if second[0] == WORLD or first[0] == second[0]:
            continue
        weld = model.eq_type[number] == WELD
        name = model.equality(number).name or f"{'weld' if weld else 'connect'}_{number}"
        joint = Joint(name, "fixed" if weld else "ball")
        (parent, there), (child, here) = first, second
        turned = there.rotation @ here.rotation.T if weld else np.eye(3)
        found.append(LoopJoint(joint, parent, child, there.position, turned, here.position))
    return tuple(found)


def _end(model: Any, number: int, which: int) -> tuple[int, Pose]:
    """The MuJoCo body at one end of an equality, and in its frame the pose that meets the
    other's.
    """
    thing = int((model.eq_obj1id, model.eq_obj2id)[which][number])
    data = np.array(model.eq_data[number], dtype=float)
    if model.eq_objtype[number] == SITE:
        turn = rotation_from_quaternion(model.site_quat[thing])
        return int(model.site_bodyid[thing]), Pose(np.array(model.site_pos[thing]), turn)
    if model.eq_type[number] == CONNECT:
        return thing, Pose(data[3 * which : 3 * which + 3])
    # a weld has its anchor in the second body, and the second body's pose in the first
    if which == 1:
        return thing, Pose(data[:3])
    return thing, Pose(data[3:6], rotation_from_quaternion(data[6:10]))


def _place(
    welded: Welded, owner: list[int], anchors: list[Array], body: int, pose: Pose
) -> tuple[int, Pose]:
    """The mechanism's body that carries a pose of a MuJoCo body, and the pose in its frame."""
    if body == 0:
        return WORLD, pose
    host, home = welded.places[owner[body]]
    return host, home @ shift(-anchors[body]) @ pose
