"""Robots with a fixed base: the body that moves as a base in the file, welded to the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tarsus.errors import IncompatibleOptions, InvalidValue, Unsupported, join_names
from tarsus.model.base_motion import base_pose
from tarsus.model.mechanism import WORLD, Body, Candidate, Frame, LoopJoint, Mechanism
from tarsus.model.parts import MAX_LISTED
from tarsus.model.poses import Pose
from tarsus.model.solids import Solid
from tarsus.model.tendon import End, Point, as_point
from tarsus.model.visuals import move_to_world

KEYFRAMES = ("qpos0", "stand")  # the first that exists gives the pose of the base
ENTRIES = ("fixed_base", "base_height")  # of files that describe simulations

T = TypeVar("T", bound="Candidate | Frame | Solid")


def fix_base(mechanism: Mechanism, height: float | None = None) -> Mechanism:
    """Remove the joints on which the base of a mechanism moves.

    The base stays where the file draws it, or where a built-in robot stands. It leaves the tree:
    its mass and its shapes have no effect. Other bodies on free joints stay free. A mechanism whose
    base is fixed is returned as it is.

    Parameters
    ----------
    mechanism
        A robot.
    height
        Height of the base's origin, in m, instead of that in the file.

    Raises
    ------
    IncompatibleOptions
        If a height is given, but the base is fixed.
    Unsupported
        If nothing but the base can move.
    """
    if not mechanism.mobile:
        if height is not None:
            raise IncompatibleOptions(
                f"{mechanism.name!r} already has a fixed base whose height its file gives: leave"
                " out height.",
                "height",
            )
        return mechanism
    name, count = mechanism.base_name, len(mechanism.base_chain)
    if len(mechanism.bodies) == count:
        raise Unsupported(
            f"{mechanism.name!r} has only its base {name!r}, so nothing can move if it is fixed:"
            " leave out floating=False.",
            "floating",
        )
    base = _base_pose(mechanism, height)
    on_base = [c.name for c in mechanism.candidates if c.body < count]
    note = f"Fixed to the world: {name}."
    unused = (
        f"Contact candidates on the fixed base touch nothing: {join_names(on_base, MAX_LISTED)}."
    )
    return replace(
        mechanism,
        bodies=tuple(_without_base(body, base, count) for body in mechanism.bodies[count:]),
        candidates=_select_on_other_bodies(mechanism.candidates, count),
        frames=_select_on_other_bodies(mechanism.frames, count),
        solids=_select_on_other_bodies(mechanism.solids, count),
        edges=tuple(pair for pair in mechanism.edges if not set(pair) & set(on_base)),
        excluded=tuple(pair for pair in mechanism.excluded if name not in pair),
        loops=tuple(
            _attach_loop_to_world(loop, base, count)
            for loop in mechanism.loops
            if max(loop.child, loop.parent) >= count
        ),
        tendons=tuple(
            tendon.move_ends(lambda body, point: _find_without_base(body, point, base, count))
            for tendon in mechanism.tendons
        ),
        keyframes={
            key: q[mechanism.q_slices[count - 1].stop :] for key, q in mechanism.keyframes.items()
        },
        visuals=move_to_world(mechanism.visuals, name, base),
        notes=(*mechanism.notes, note, *([unused] if on_base else [])),
        unsupported=(*mechanism.unsupported, *([unused] if on_base else [])),
    )


def check_height(floating: bool, height: float | None) -> None:
    """Check the height, in m, of a base.

    Raises
    ------
    IncompatibleOptions
        If the base is not fixed.
    InvalidValue
        If the height is not a finite number.
    """
    if height is None:
        return
    if floating:
        raise IncompatibleOptions(
            "height sets the height of a fixed base: give floating=False too.", "height"
        )
    if isinstance(height, bool) or not isinstance(height, int | float) or not np.isfinite(height):
        raise InvalidValue(f"height must be a finite number of meters, not {height!r}.", "height")


def base_options(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the entries `fixed_base` and `base_height` (m) of a file to load options.

    Other entries are ignored.

    Raises
    ------
    InvalidValue
        If `fixed_base` is not a truth value, or `base_height` not a finite number.
    IncompatibleOptions
        If there is a height, but the base is not fixed.
    """
    fixed, height = (entries.get(name) for name in ENTRIES)
    if not isinstance(fixed, bool | None):
        raise InvalidValue(f"fixed_base must be true or false, not {fixed!r}.", "fixed_base")
    if height is None:
        return {"floating": False} if fixed else {}
    if not fixed:
        raise IncompatibleOptions(
            "base_height sets the height of a fixed base: give fixed_base = true too.",
            "base_height",
        )
    if isinstance(height, bool) or not isinstance(height, int | float) or not np.isfinite(height):
        raise InvalidValue(
            f"base_height must be a finite number of meters, not {height!r}.", "base_height"
        )
    return {"floating": False, "height": float(height)}


def _base_pose(mechanism: Mechanism, height: float | None) -> Pose:
    """Compute the base's frame in the world."""
    given = [mechanism.keyframes[key] for key in KEYFRAMES if key in mechanism.keyframes]
    q = (given or [mechanism.neutral()])[0]
    position, rotation = base_pose(mechanism, np.asarray(q, dtype=float))
    if height is not None:
        position[2] = height
    return Pose(position, rotation)


def _without_base(body: Body, base: Pose, count: int) -> Body:
    """Remove the base above a body of the tree; children of the base move to the world."""
    if body.parent != count - 1:
        return replace(body, parent=max(body.parent - count, WORLD))
    pose = base @ Pose(body.position, body.rotation)
    return replace(body, parent=WORLD, position=pose.position, rotation=pose.rotation)


def _select_on_other_bodies(parts: tuple[T, ...], count: int) -> tuple[T, ...]:
    """Select the parts of all bodies behind the base."""
    return tuple(replace(part, body=part.body - count) for part in parts if part.body >= count)


def _find_without_base(body: int, point: Point, base: Pose, count: int) -> End:
    """Find a body and a point in it after the bodies of the base have become the world."""
    if body == count - 1:
        return WORLD, as_point(base.point(np.array(point)))
    return max(body - count, WORLD), point


def _attach_loop_to_world(loop: LoopJoint, base: Pose, count: int) -> LoopJoint:
    """Replace the base of a loop joint by the world."""
    child, parent = loop.child, loop.parent
    if count - 1 not in (parent, child):
        parent = max(parent - count, WORLD)
        return replace(loop, parent=parent, child=child - count)
    if parent == count - 1:
        pose = base @ Pose(loop.position, loop.rotation)
        fields = {"position": pose.position, "rotation": pose.rotation}
        return replace(loop, parent=WORLD, child=child - count, **fields)
    # reversed: the parent becomes the child, and moves along the axis in the other direction
    joint = replace(loop.joint, axis=-(loop.rotation @ loop.joint.axis))
    pose = base @ Pose(loop.in_child, loop.rotation.T)
    return LoopJoint(joint, WORLD, parent - count, pose.position, pose.rotation, loop.position)
