"""A robot as data: a frozen tree of rigid bodies, one joint above each.

Conventions (Gehring 2014, Eqn. (21)): ``q`` = [world position, unit quaternion (w, x, y, z),
joint coordinates], ``u`` = [world linear velocity of the base origin, body-frame angular
velocity, joint rates], bodies depth-first in the file's order. SI units, z up.
A body's frame sits at its joint; a joint without displacement leaves the body's frame parallel
to ``rotation`` in its parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidModel, Unsupported, unknown_name
from tarsus.model.file_actuators import FileActuator
from tarsus.model.file_numbers import FileNumbers
from tarsus.model.joint import Joint as Joint
from tarsus.model.joint import Vector, frozen_array
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.outline import Outline
from tarsus.model.solids import Solid

WORLD = -1


def _freeze(owner: object, kind: str, called: str, **shapes: tuple[int, ...]) -> None:
    """Make arrays of these shapes of the named fields of a frozen dataclass."""
    for name, shape in shapes.items():
        array = frozen_array(getattr(owner, name), shape, f"{kind} {called!r}: {name}", called)
        object.__setattr__(owner, name, array)


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass (kg), center of mass (3,) in the body's frame (m), inertia (3, 3) about it (kg m^2)."""

    mass: float
    com: Vector = field(default_factory=lambda: np.zeros(3))
    about_com: Vector = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        com = frozen_array(self.com, (3,), "the center of mass", "com")
        about_com = frozen_array(self.about_com, (3, 3), "the inertia", "about_com")
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "about_com", about_com)

    @classmethod
    def of_moments(cls, mass: float, com: ArrayLike, moments: Sequence[float]) -> Inertia:
        """From ixx, iyy, izz, ixy, ixz and iyz about the center of mass, the matrix's entries."""
        ixx, iyy, izz, ixy, ixz, iyz = moments
        about_com = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        return cls(mass, np.asarray(com, dtype=float), about_com)

    def scaled(self, factor: float) -> Inertia:
        """The same shape, so many times as dense."""
        return Inertia(factor * self.mass, self.com, factor * self.about_com)


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body; position (3,), rotation (3, 3): its frame in the parent's, undisplaced."""

    name: str
    parent: int
    joint: Joint
    inertia: Inertia
    position: Vector = field(default_factory=lambda: np.zeros(3))
    rotation: Vector = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        _freeze(self, "body", self.name, position=(3,), rotation=(3, 3))


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """A joint outside the tree: it closes a loop, or was cut (Gehring 2014, Eqn. (4)).

    joint: hinge, slide, ball or fixed, its axis in the joint's frame
    parent, child: bodies, -1 is the world
    position (3,), rotation (3, 3): the joint's frame in the parent at zero displacement
    in_child (3,): its origin in the child, whose axes it has
    """

    joint: Joint
    parent: int
    child: int
    position: Vector
    rotation: Vector = field(default_factory=lambda: np.eye(3))
    in_child: Vector = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        joint, what = self.joint, f"loop joint {self.joint.name!r}"
        _freeze(self, "loop joint", joint.name, position=(3,), rotation=(3, 3), in_child=(3,))
        if joint.kind == "free":
            raise InvalidModel(f"{what}: a free joint constrains nothing.", joint.name)
        if joint.kind == "slide" and joint.armature:
            raise Unsupported(
                f"{what}: a slide joint with armature cannot close a loop or be cut.", joint.name
            )
        if joint.stiffness:
            raise Unsupported(
                f"{what}: a joint with a spring cannot close a loop or be cut.", joint.name
            )
        resisting = joint.armature or joint.damping or joint.dry_friction
        if joint.kind in ("ball", "fixed") and resisting:
            raise Unsupported(
                f"{what}: a {joint.kind} joint with armature, damping or dry friction cannot close"
                " a loop or be cut.",
                joint.name,
            )


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a body (a foot, a sensor, a link that a fixed joint fused away)."""

    name: str
    body: int
    position: Vector = field(default_factory=lambda: np.zeros(3))
    rotation: Vector = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        _freeze(self, "frame", self.name, position=(3,), rotation=(3, 3))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A sphere fixed to a body that may touch the ground; or a rim, or an ellipsoid.

    position (3,): its center in the body's frame, m
    radius: >= 0, m
    friction: factor on the law's friction coefficients, beside the ground's [1]
    outline: of a rim or an ellipsoid, which of its points touches
    start: of an ellipsoid on uneven ground, which of its spots it is (`model.spots`)

    A box gives its corners, a capsule its two ends, a cylinder three points of either rim that
    travel over it, a mesh some vertices of its convex hull; corners and vertices are spheres of
    radius zero. What lies between two of them: `model.spans`.
    """

    name: str
    body: int
    position: Vector
    radius: float = 0.0
    friction: float = 1.0
    outline: Outline | None = None
    start: int | None = None

    def __post_init__(self) -> None:
        _freeze(self, "candidate", self.name, position=(3,))
        for name in ("radius", "friction"):
            if not getattr(self, name) >= 0:
                value = getattr(self, name)
                raise InvalidModel(
                    f"candidate {self.name!r}: the {name} must be >= 0, not {value}.", self.name
                )


Color = tuple[float, float, float]
"""Red, green and blue, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape of a URDF or SDF file that pictures show; it moves nothing.

    body: name of the body that carries it, "" if it stands still in the world
    position (3,), rotation (3, 3): its frame in the body's
    kind, size: as of `Shape`; of a mesh the factors (3,) of its coordinates
    uri: of a mesh, what names its file; color: None if the file gives none
    """

    body: str
    position: Vector
    rotation: Vector
    kind: str
    size: tuple[float, ...]
    uri: str = ""
    color: Color | None = None

    def __post_init__(self) -> None:
        _freeze(self, "visual of", self.body, position=(3,), rotation=(3, 3))


@dataclass(frozen=True)
class Actuator:
    """A motor on a hinge or slide joint: torque limits in N m (or N)."""

    name: str
    joint: str
    lower: float = -np.inf
    upper: float = np.inf


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A frozen tree of bodies, depth-first: a body's parent stands before it; -1 is the world.

    keyframes: named coordinates, each (nq,)
    solids: capsules and boxes that may touch each other (`model.self_collision`)
    edges: names of every two candidates between which the body touches too (`model.spans`)
    excluded: pairs of body names that never collide
    notes: what a reader of the file should know (sources, what was dropped on loading)
    left_out: those of the notes on what of the file is not simulated
    loops: joints outside the tree
    couplings: joints of the tree that follow others
    file_actuators: the actuators as its file describes them, with servos (`actuators="file"`)
    material: numbers of its file for the contact law, by the names of the law's parameters
    files: of a world of several such files, the numbers of each, the first one's before the others
    visuals: what pictures show, of a URDF or SDF file
    timestep: that its file asks for, s; None: it asks for none of its own
    signals: of keyframes, the control signals and activations (n,) of these
    uncut: the mechanism before joints were cut (see `tarsus.model.cut`), else None
    """

    name: str
    bodies: tuple[Body, ...]
    candidates: tuple[Candidate, ...] = ()
    frames: tuple[Frame, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    keyframes: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    solids: tuple[Solid, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    gravity_acceleration: tuple[float, float, float] = (0.0, 0.0, -9.81)
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    loops: tuple[LoopJoint, ...] = ()
    couplings: tuple[JointCoupling, ...] = ()
    file_actuators: tuple[FileActuator, ...] = ()
    material: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(
        default_factory=dict
    )
    uncut: Mechanism | None = None
    edges: tuple[tuple[str, str], ...] = ()
    timestep: float | None = None
    files: tuple[FileNumbers, ...] = ()
    visuals: tuple[Visual, ...] = ()

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(body.joint.nq for body in self.bodies)

    @cached_property
    def nu(self) -> int:
        """Number of velocities (degrees of freedom)."""
        return sum(body.joint.nu for body in self.bodies)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where each body's joint stands in q."""
        return _slices([body.joint.nq for body in self.bodies])

    @cached_property
    def u_slices(self) -> tuple[slice, ...]:
        """Where each body's joint stands in u."""
        return _slices([body.joint.nu for body in self.bodies])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joint names in the order of q and u."""
        return tuple(body.joint.name for body in self.bodies)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Body names, depth-first."""
        return tuple(body.name for body in self.bodies)

    @property
    def mass(self) -> float:
        """Total mass, kg."""
        return float(sum(body.inertia.mass for body in self.bodies))

    @property
    def constrained(self) -> bool:
        """Whether its motion obeys bilateral constraints: loops, or joints that follow others."""
        return bool(self.loops or self.couplings)

    @property
    def floating(self) -> bool:
        """True if the first body hangs on a free joint."""
        return bool(self.bodies) and self.bodies[0].joint.kind == "free"

    def body_index(self, name: str) -> int:
        """The number of a body; TarsusError with near names if there is none."""
        if name not in self.body_names:
            raise unknown_name("body", name, self.body_names)
        return self.body_names.index(name)

    def joint_index(self, name: str) -> int:
        """The number of the body that a joint moves; TarsusError with near names if none."""
        if name not in self.joint_names:
            raise unknown_name("joint", name, self.joint_names)
        return self.joint_names.index(name)

    def frame(self, name: str) -> Frame:
        """A point of the robot by name: a frame, a candidate's center, or a body's own frame."""
        for frame in self.frames:
            if frame.name == name:
                return frame
        for candidate in self.candidates:
            if candidate.name == name:
                return Frame(name, candidate.body, candidate.position)
        if name in self.body_names:
            return Frame(name, self.body_index(name))
        others = [thing.name for thing in (*self.frames, *self.candidates)]
        raise unknown_name("frame", name, [*self.body_names, *others])

    def neutral(self) -> NDArray[np.float64]:
        """Coordinates (nq,) with every joint at zero and unit quaternions."""
        q = np.zeros(self.nq)
        for body, where in zip(self.bodies, self.q_slices, strict=True):
            if body.joint.kind in ("free", "ball"):
                q[where.stop - 4] = 1.0
        return q


def _slices(widths: list[int]) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in pairwise(np.cumsum([0, *widths]).tolist()))
