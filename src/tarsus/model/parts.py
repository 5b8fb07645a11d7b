"""Parts of a robot file, welded into bodies: one without a joint belongs to its parent's body."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel, TarsusWarning, WorldGeometryIgnored, join_names
from tarsus.model.candidates import Shape, create_candidates, find_edges
from tarsus.model.mechanism import WORLD, Body, Candidate, Frame, Inertia, Joint
from tarsus.model.poses import Pose, add_inertias, transform_inertia
from tarsus.model.round_meshes import round_shapes
from tarsus.model.self_collision import create_solids
from tarsus.model.solids import Solid
from tarsus.model.stand_ins import STAND_INS

Array = NDArray[np.float64]
MAX_LISTED = 5  # names that a sentence lists


@dataclass(frozen=True, eq=False)
class Part:
    """Link of a file.

    Attributes
    ----------
    name
        Name of the link.
    parent
        Number of the parent part, or WORLD.
    pose
        Frame of the part, at its joint, in the parent's frame.
    joint
        Joint between the parent and the part; without one they are welded.
    inertia, shapes
        Inertia and collision shapes, in the part's frame.
    frames
        Names and poses of frames of the part, such as sites.
    """

    name: str
    parent: int
    pose: Pose = field(default_factory=Pose)
    joint: Joint | None = None
    inertia: Inertia = field(default_factory=lambda: Inertia(0.0))
    shapes: tuple[Shape, ...] = ()
    frames: tuple[tuple[str, Pose], ...] = ()


@dataclass(frozen=True, eq=False)
class WeldResult:
    """Bodies of welded parts, with their shapes and frames.

    Attributes
    ----------
    bodies, candidates, solids, frames, edges
        The same as in `Mechanism`.
    part_poses
        Body of each part (WORLD if the part cannot move), and the part's pose in it.
    """

    bodies: tuple[Body, ...]
    candidates: tuple[Candidate, ...]
    solids: tuple[Solid, ...]
    frames: tuple[Frame, ...]
    part_poses: tuple[tuple[int, Pose], ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def host(self) -> tuple[int, ...]:
        """Body of each part, WORLD for parts that cannot move."""
        return tuple(host for host, _ in self.part_poses)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints of the bodies."""
        return tuple(body.joint.name for body in self.bodies)


class Report:
    """Notes and warnings about a file.

    Attributes
    ----------
    file
        Name of the file.
    notes
        All sentences, for `Mechanism.notes`.
    unsupported
        Sentences about what is not simulated, for `Mechanism.unsupported`.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.notes: list[str] = [f"Read from {file}."]
        self.unsupported: list[str] = []

    def note(self, text: str) -> None:
        """Add a sentence to the notes."""
        self.notes.append(text)

    def ignore(self, text: str) -> None:
        """Add a sentence about something that is not simulated."""
        self.notes.append(text)
        self.unsupported.append(text)

    def warn(
        self, text: str, code: str, subject: str, kind: type[TarsusWarning] = TarsusWarning
    ) -> None:
        """Add a sentence about something that is not simulated or doubtful, and issue a warning.

        Parameters
        ----------
        text
            The sentence.
        code, subject, kind
            Code, subject and class of the warning.
        """
        self.ignore(text)
        warnings.warn(kind(f"{self.file}: {text}", code, subject), stacklevel=2)


def weld(parts: Sequence[Part], report: Report) -> WeldResult:
    """Weld parts to bodies, with their candidates and frames.

    A part without a joint becomes a frame of its parent's body.

    Parameters
    ----------
    parts
        The parts, parents before their children.
    report
        Takes warnings about what is ignored.

    Raises
    ------
    InvalidModel
        If a mass is negative.
    """
    bodies: list[Body] = []
    part_poses: list[tuple[int, Pose]] = []  # body of each part, and the part's pose in it
    frames: list[Frame] = []
    shapes: list[tuple[str, int, Shape]] = []
    for part in parts:
        if part.inertia.mass < 0:
            raise InvalidModel(
                f"the mass of {part.name!r} must be >= 0, not {part.inertia.mass} kg.", part.name
            )
        host, outer = (WORLD, Pose()) if part.parent == WORLD else part_poses[part.parent]
        pose = outer @ part.pose
        # a joint makes a body; without one the part belongs to its parent's body
        if part.joint is not None:
            bodies.append(
                Body(part.name, host, part.joint, part.inertia, pose.position, pose.rotation)
            )
            host, pose = len(bodies) - 1, Pose()
        elif host != WORLD:
            bodies[host] = _with_inertia(bodies[host], transform_inertia(part.inertia, pose))
            frames.append(Frame(part.name, host, pose.position, pose.rotation))
        part_poses.append((host, pose))
        if host != WORLD:
            shapes += [(part.name, host, shape.at(pose)) for shape in part.shapes]
            frames += [_frame(name, host, pose @ inner) for name, inner in part.frames]
    _report_static(parts, part_poses, report)
    ups = _up_directions(bodies)
    drawn = {shape.name or link for link, _, shape in shapes if shape.kind == "mesh"}
    shapes = round_shapes(shapes, ups)
    labels = [shape.name or link for link, _, shape in shapes if shape.kind != "mesh"]
    if found := [label for label in dict.fromkeys(labels) if label in drawn]:
        listed = join_names(found, MAX_LISTED)
        report.note(f"Meshes replaced by the round shapes that they approximate: {listed}.")
    touching, straight = create_candidates(shapes, ups), find_edges(shapes, ups)
    body_solids = create_solids(shapes)
    meshes = [shape.name or link for link, _, shape in shapes if shape.kind not in STAND_INS]
    if body_solids and meshes:
        listed = join_names(list(dict.fromkeys(meshes)), MAX_LISTED)
        report.ignore(f"Meshes touch the ground, but no other shapes: {listed}.")
    return WeldResult(
        tuple(bodies), touching, body_solids, _distinct(frames), tuple(part_poses), straight
    )


def without_massless(parts: list[Part], report: Report) -> list[Part]:
    """Remove joints that move no mass: their acceleration is undefined."""
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


def _up_directions(bodies: Sequence[Body]) -> dict[int, Array]:
    """Compute the upward direction, shape (3,), in each body's frame with all joints at zero."""
    rotations: list[Array] = []  # of each body to the world
    for body in bodies:
        parent = np.eye(3) if body.parent == WORLD else rotations[body.parent]
        rotations.append(parent @ body.rotation)
    return {i: rotation[2] for i, rotation in enumerate(rotations)}


def _with_inertia(body: Body, extra: Inertia) -> Body:
    inertia = add_inertias(body.inertia, extra)
    return Body(body.name, body.parent, body.joint, inertia, body.position, body.rotation)


def _frame(name: str, body: int, pose: Pose) -> Frame:
    return Frame(name, body, pose.position, pose.rotation)


def _distinct(frames: list[Frame]) -> tuple[Frame, ...]:
    """Make the names of frames distinct, by appending `_site` to a name that is taken."""
    used: set[str] = set()
    result: list[Frame] = []
    for frame in frames:
        name = frame.name
        while name in used:
            name += "_site"
        used.add(name)
        result.append(Frame(name, frame.body, frame.position, frame.rotation))
    return tuple(result)


def _report_static(
    parts: Sequence[Part], part_poses: list[tuple[int, Pose]], report: Report
) -> None:
    static = [part for part, (host, _) in zip(parts, part_poses, strict=True) if host == WORLD]
    bare = [part.name for part in static if not part.shapes]
    if bare:
        report.ignore(f"Fixed to the world and ignored: {', '.join(bare)}.")
    solid = [part.name for part in static if part.shapes]
    if solid:
        report.warn(
            f"collision shapes that are fixed to the world are ignored ({', '.join(solid)}):"
            " choose a terrain for the ground, such as an MJCF file by its path.",
            "fixed-shapes-ignored",
            solid[0],
            WorldGeometryIgnored,
        )
