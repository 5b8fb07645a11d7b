"""Parts as a file lists them, welded into bodies: one without a joint joins its parent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel, TarsusWarning, WorldGeometryIgnored, join_names
from tarsus.model.candidates import Shape, candidates, edges
from tarsus.model.mechanism import WORLD, Body, Candidate, Frame, Inertia, Joint
from tarsus.model.poses import Pose, joined, moved
from tarsus.model.revolved import rounded
from tarsus.model.self_collision import solids
from tarsus.model.solids import Solid
from tarsus.model.stand_ins import STAND_INS

Array = NDArray[np.float64]
MAX_LISTED = 5  # names that a sentence lists


@dataclass(frozen=True, eq=False)
class Part:
    """A link of a file: `pose` is its frame, at its joint, in the parent; welded without a joint.

    frames: named poses in the part (sites).
    """

    name: str
    parent: int
    pose: Pose = field(default_factory=Pose)
    joint: Joint | None = None
    inertia: Inertia = field(default_factory=lambda: Inertia(0.0))
    shapes: tuple[Shape, ...] = ()
    frames: tuple[tuple[str, Pose], ...] = ()


@dataclass(frozen=True, eq=False)
class Welded:
    """Bodies with all they carry; places: each part's body (WORLD: it cannot move), pose in it."""

    bodies: tuple[Body, ...]
    candidates: tuple[Candidate, ...]
    solids: tuple[Solid, ...]
    frames: tuple[Frame, ...]
    places: tuple[tuple[int, Pose], ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def host(self) -> tuple[int, ...]:
        """The body of each part, WORLD for parts that cannot move."""
        return tuple(host for host, _ in self.places)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that are left."""
        return tuple(body.joint.name for body in self.bodies)


class Report:
    """What a reader of a file should know: the mechanism keeps notes; warnings are also issued."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.notes: list[str] = [f"Read from {file}."]
        self.left_out: list[str] = []

    def note(self, text: str) -> None:
        """Keep a sentence."""
        self.notes.append(text)

    def leave(self, text: str) -> None:
        """Keep a sentence on what is left out, as it must be."""
        self.notes.append(text)
        self.left_out.append(text)

    def warn(
        self, text: str, code: str, subject: str, kind: type[TarsusWarning] = TarsusWarning
    ) -> None:
        """Keep a sentence on what is left out or doubtful, and issue it as a warning."""
        self.leave(text)
        warnings.warn(kind(f"{self.file}: {text}", code, subject), stacklevel=2)


def weld(parts: Sequence[Part], report: Report) -> Welded:
    """Bodies, candidates and frames of parts, parents first; welded links live on as frames."""
    # what is found so far; parents stand before their children
    bodies: list[Body] = []
    places: list[tuple[int, Pose]] = []  # the body that each part belongs to, and where in it
    frames: list[Frame] = []
    shapes: list[tuple[str, int, Shape]] = []
    for part in parts:
        if part.inertia.mass < 0:
            raise InvalidModel(
                f"the mass of {part.name!r} must be >= 0, not {part.inertia.mass} kg.", part.name
            )
        # where the parent stands
        host, outer = (WORLD, Pose()) if part.parent == WORLD else places[part.parent]
        here = outer @ part.pose
        # a joint makes a body; without one the part joins its parent's
        if part.joint is not None:
            bodies.append(
                Body(part.name, host, part.joint, part.inertia, here.position, here.rotation)
            )
            host, here = len(bodies) - 1, Pose()
        elif host != WORLD:
            bodies[host] = _with_inertia(bodies[host], moved(part.inertia, here))
            frames.append(Frame(part.name, host, here.position, here.rotation))
        # what sits on it, in the body's frame
        places.append((host, here))
        if host != WORLD:
            shapes += [(part.name, host, rounded(shape.at(here))) for shape in part.shapes]
            frames += [_frame(name, host, here @ pose) for name, pose in part.frames]
    _report_static(parts, places, report)
    ups = _ups(bodies)
    touching, straight = candidates(shapes, ups), edges(shapes, ups)
    own, named = solids(shapes), _distinct(frames)
    others = [shape.name or link for link, _, shape in shapes if shape.kind not in STAND_INS]
    if own and others:
        named_so = join_names(list(dict.fromkeys(others)), MAX_LISTED)
        report.leave(f"Meshes touch the ground, but no other shapes: {named_so}.")
    return Welded(tuple(bodies), touching, own, named, tuple(places), straight)


def without_massless(parts: list[Part], report: Report) -> list[Part]:
    """The parts, joints that move no mass locked: nothing could say how they accelerate."""
    matter = [part.inertia.mass + np.abs(part.inertia.about_com).max() for part in parts]
    for number in range(len(parts) - 1, 0, -1):
        if parts[number].parent != WORLD:
            matter[parts[number].parent] += matter[number]
    idle = [
        n
        for n, part in enumerate(parts)
        if part.joint and part.joint.kind != "free" and not matter[n]
    ]
    if idle:
        names = [joint.name for n in idle if (joint := parts[n].joint)]
        report.warn(
            f"joints that move only massless links are locked at zero: {', '.join(names)}.",
            "massless-joints-locked",
            names[0],
        )
    return [replace(part, joint=None) if n in idle else part for n, part in enumerate(parts)]


def _ups(bodies: Sequence[Body]) -> dict[int, Array]:
    """Where up (3,) is in each body's frame with all joints at zero."""
    turned: list[Array] = []  # each body's rotation to the world
    for body in bodies:
        above = np.eye(3) if body.parent == WORLD else turned[body.parent]
        turned.append(above @ body.rotation)
    return {i: rotation[2] for i, rotation in enumerate(turned)}


def _with_inertia(body: Body, extra: Inertia) -> Body:
    inertia = joined(body.inertia, extra)
    return Body(body.name, body.parent, body.joint, inertia, body.position, body.rotation)


def _frame(name: str, body: int, pose: Pose) -> Frame:
    return Frame(name, body, pose.position, pose.rotation)


def _distinct(frames: list[Frame]) -> tuple[Frame, ...]:
    """The frames with `_site` appended to a name that an earlier one has."""
    used: set[str] = set()
    result: list[Frame] = []
    for frame in frames:
        name = frame.name
        while name in used:
            name += "_site"
        used.add(name)
        result.append(Frame(name, frame.body, frame.position, frame.rotation))
    return tuple(result)


def _report_static(parts: Sequence[Part], places: list[tuple[int, Pose]], report: Report) -> None:
    static = [part for part, (host, _) in zip(parts, places, strict=True) if host == WORLD]
    bare = [part.name for part in static if not part.shapes]
    if bare:
        report.leave(f"Fixed to the world and left out: {', '.join(bare)}.")
    solid = [part.name for part in static if part.shapes]
    if solid:
        report.warn(
            f"collision shapes that are fixed to the world are left out ({', '.join(solid)}):"
            " choose a terrain for the ground, such as an MJCF file by its path.",
            "fixed-shapes-left-out",
            solid[0],
            WorldGeometryIgnored,
        )
