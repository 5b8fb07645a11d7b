"""A robot whose base is held: its first body, which floats, welded to the world where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tarsus.errors import IncompatibleOptions, InvalidValue, Unsupported, join_names
from tarsus.model.mechanism import WORLD, Body, Candidate, Frame, LoopJoint, Mechanism
from tarsus.model.poses import Pose, rotation_from_quaternion
from tarsus.model.solids import Solid
from tarsus.model.visuals import moved_to_world

POSTURES = ("qpos0", "stand")  # keyframes that say where a base is held, the first that is there
BASE = 0  # the number of the body that is held
SOME = 5  # names that a note shows
ENTRIES = ("fixed_base", "base_height")  # of files that say what is simulated

T = TypeVar("T", bound="Candidate | Frame | Solid")


def held(mechanism: Mechanism, height: float | None = None) -> Mechanism:
    """The mechanism without its base's free joint; one that stands in the world already is as it
    was.

    The base stays where the file draws it (a built-in robot's where it stands), or with its origin
    at `height`, m. It leaves the tree: its mass weighs on nothing, its shapes touch nothing. Bodies
    on free joints of their own beside it stay free. TarsusError for a height of what does not
    float, or where nothing else can move.
    """
    if not mechanism.floating:
        if height is not None:
            raise IncompatibleOptions(
                f"{mechanism.name!r} already has a fixed base whose height its file gives: leave"
                " out height.",
                "height",
            )
        return mechanism
    name = mechanism.bodies[BASE].name
    if len(mechanism.bodies) == 1:
        raise Unsupported(
            f"{mechanism.name!r} has only its base {name!r}, so nothing can move if it is fixed:"
            " leave out floating=False.",
            "floating",
        )
    # where it is held, and what hangs on it
    base = _stood(mechanism, height)
    on_base = [c.name for c in mechanism.candidates if c.body == BASE]
    told = f"Held in the world, out of the tree: {name}."
    left = f"What sits on the held base touches nothing: {join_names(on_base, SOME)}."
    return replace(
        mechanism,
        bodies=tuple(_hung(body, base) for body in mechanism.bodies[1:]),
        candidates=_kept(mechanism.candidates),
        frames=_kept(mechanism.frames),
        solids=_kept(mechanism.solids),
        edges=tuple(pair for pair in mechanism.edges if not set(pair) & set(on_base)),
        excluded=tuple(pair for pair in mechanism.excluded if name not in pair),
        loops=tuple(_tied(loop, base) for loop in mechanism.loops if not _held_already(loop)),
        keyframes={key: q[7:] for key, q in mechanism.keyframes.items()},
        visuals=moved_to_world(mechanism.visuals, name, base),
        notes=(*mechanism.notes, told, *([left] if on_base else [])),
        left_out=(*mechanism.left_out, *([left] if on_base else [])),
    )


def check_height(floating: bool, height: float | None) -> None:
    """TarsusError for a height, m, of a base that is not held, or that is no number."""
    if height is None:
        return
    if floating:
        raise IncompatibleOptions(
            "height sets the height of a fixed base: give floating=False too.", "height"
        )
    if isinstance(height, bool) or not isinstance(height, int | float) or not np.isfinite(height):
        raise InvalidValue(f"height must be a finite number of meters, not {height!r}.", "height")


def base_options(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `tarsus.load` that entries `fixed_base` and `base_height` (m) stand for; other
    entries are passed over. TarsusError for values that are none.
    """
    holds, height = (entries.get(name) for name in ENTRIES)
    if not isinstance(holds, bool | None):
        raise InvalidValue(f"fixed_base must be true or false, not {holds!r}.", "fixed_base")
    if height is None:
        return {"floating": False} if holds else {}
    if not holds:
        raise IncompatibleOptions(
            "base_height sets the height of a fixed base: give fixed_base = true too.",
            "base_height",
        )
    if isinstance(height, bool) or not isinstance(height, int | float) or not np.isfinite(height):
        raise InvalidValue(
            f"base_height must be a finite number of meters, not {height!r}.", "base_height"
        )
    return {"floating": False, "height": float(height)}


def _stood(mechanism: Mechanism, height: float | None) -> Pose:
    """The base's frame in the world."""
    drawn = [mechanism.keyframes[key] for key in POSTURES if key in mechanism.keyframes]
    q = (drawn or [mechanism.neutral()])[0]
    place = np.array(q[:3], dtype=float)
    if height is not None:
        place[2] = height
    return Pose(place, rotation_from_quaternion(q[3:7]))


def _hung(body: Body, base: Pose) -> Body:
    """A body after the base; one that hung on it hangs in the world."""
    if body.parent != BASE:
        return replace(body, parent=body.parent - 1 if body.parent != WORLD else WORLD)
    here = base @ Pose(body.position, body.rotation)
    return replace(body, parent=WORLD, position=here.position, rotation=here.rotation)


def _kept(things: tuple[T, ...]) -> tuple[T, ...]:
    """Those that sit on other bodies than the base."""
    return tuple(replace(thing, body=thing.body - 1) for thing in things if thing.body != BASE)


def _held_already(loop: LoopJoint) -> bool:
    """Whether it ties the base to the world, where it is held anyway."""
    return loop.child == BASE and loop.parent == WORLD


def _tied(loop: LoopJoint, base: Pose) -> LoopJoint:
    """A loop joint, tied to the world in place of the base."""
    child, parent = loop.child, loop.parent
    if BASE not in (parent, child):
        parent = parent - 1 if parent != WORLD else WORLD
        return replace(loop, parent=parent, child=child - 1)
    if parent == BASE:
        here = base @ Pose(loop.position, loop.rotation)
        place = {"position": here.position, "rotation": here.rotation}
        return replace(loop, parent=WORLD, child=child - 1, **place)
    # turned round: what was the parent is the child, and moves along the axis the other way
    joint = replace(loop.joint, axis=-(loop.rotation @ loop.joint.axis))
    here = base @ Pose(loop.in_child, loop.rotation.T)
    return LoopJoint(joint, WORLD, parent - 1, here.position, here.rotation, loop.position)
