"""Robots as data: a frozen tree of rigid bodies, with one joint above each.

Conventions (Gehring 2014, Eqn. (21)): ``q`` = [world position, unit quaternion (w, x, y, z),
joint coordinates], ``u`` = [world linear velocity of the base origin, body-frame angular
velocity, joint rates], bodies depth-first in the file's order. SI units, z up.
A body's frame has its origin at its joint. At zero displacement its axes are those of ``rotation``
in the parent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidModel, Unsupported, unknown_name_error
from tarsus.model.file_actuators import FileActuator
from tarsus.model.file_numbers import FileNumbers
from tarsus.model.joint import Joint as Joint
from tarsus.model.joint import Vector, freeze_array
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.outline import Outline
from tarsus.model.solids import Solid
from tarsus.model.tendon import Tendon

WORLD = -1
UP = np.array([0.0, 0.0, 1.0])
RISE_TOLERANCE = 1e-9  # on the vertical, which the slides of a moving base span


def _freeze(owner: object, kind: str, label: str, **shapes: tuple[int, ...]) -> None:
    """Replace fields of a frozen dataclass by read-only arrays of the given shapes."""
    for name, shape in shapes.items():
        array = freeze_array(getattr(owner, name), shape, f"{kind} {label!r}: {name}", label)
        object.__setattr__(owner, name, array)


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass and inertia of a body.

    Attributes
    ----------
    mass
        In kg.
    com
        Center of mass in the body's frame, shape (3,), in m.
    about_com
        Inertia about the center of mass, in the body's axes, shape (3, 3), in kg m².
    """

    mass: float
    com: Vector = field(default_factory=lambda: np.zeros(3))
    about_com: Vector = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        com = freeze_array(self.com, (3,), "the center of mass", "com")
        about_com = freeze_array(self.about_com, (3, 3), "the inertia", "about_com")
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "about_com", about_com)

    @classmethod
    def of_moments(cls, mass: float, com: ArrayLike, moments: Sequence[float]) -> Inertia:
        """Create the inertia with the entries ixx, iyy, izz, ixy, ixz and iyz about `com`."""
        ixx, iyy, izz, ixy, ixz, iyz = moments
        about_com = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        return cls(mass, np.asarray(com, dtype=float), about_com)

    def scale(self, factor: float) -> Inertia:
        """Scale the density by a factor."""
        return Inertia(factor * self.mass, self.com, factor * self.about_com)


@dataclass(frozen=True, eq=False)
class Body:
    """Rigid body.

    Attributes
    ----------
    name
        Unique among bodies.
    parent
        Number of the parent, or WORLD.
    joint
        Joint between the parent and the body.
    inertia
        Mass and inertia in the body's frame.
    position, rotation
        Frame of the body in the parent at zero displacement, shapes (3,) and (3, 3), in m.
    """

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
    """Joint outside the tree: it closes a loop, or was cut (Gehring 2014, Eqn. (4)).

    Attributes
    ----------
    joint
        Hinge, slide, ball or fixed joint, with its axis in the joint's frame.
    parent, child
        Numbers of the bodies, -1 for the world.
    position, rotation
        Frame of the joint in the parent at zero displacement, shapes (3,) and (3, 3), in m.
    in_child
        Origin of the joint's frame in the child, whose axes it has, shape (3,), in m.
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
    """Named frame fixed to a body, such as a foot, a sensor or a welded link.

    Attributes
    ----------
    name
        Unique among frames.
    body
        Number of the body.
    position, rotation
        Pose in the body's frame, shapes (3,) and (3, 3), in m.
    """

    name: str
    body: int
    position: Vector = field(default_factory=lambda: np.zeros(3))
    rotation: Vector = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        _freeze(self, "frame", self.name, position=(3,), rotation=(3, 3))


@dataclass(frozen=True, eq=False)
class Candidate:
    """Contact candidate fixed to a body: a sphere, a rim or an ellipsoid that may touch the ground.

    A box has its corners as candidates, a capsule its two ends, a cylinder three points of either
    rim that travel along it, a mesh some vertices of its convex hull. Corners and vertices are
    spheres of radius zero. `model.spans` has the contacts between two candidates.

    Attributes
    ----------
    name
        Unique among candidates.
    body
        Number of the body.
    position
        Center in the body's frame, shape (3,), in m.
    radius
        Radius of the sphere, >= 0, in m.
    friction
        Factor on the law's friction coefficients, in addition to the ground's.
    outline
        Contact point of a rim or an ellipsoid by direction.
    start
        Number of the start of an ellipsoid's search on uneven ground (`model.ellipsoid_starts`).
    torsional_friction, rolling_friction
        Largest moment against spin about the contact normal, and against rolling, per normal force,
        in m.
    """

    name: str
    body: int
    position: Vector
    radius: float = 0.0
    friction: float = 1.0
    outline: Outline | None = None
    start: int | None = None
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0

    def __post_init__(self) -> None:
        _freeze(self, "candidate", self.name, position=(3,))
        for name in ("radius", "friction", "torsional_friction", "rolling_friction"):
            if not getattr(self, name) >= 0:
                value = getattr(self, name)
                raise InvalidModel(
                    f"candidate {self.name!r}: {name} must be >= 0, not {value}.", self.name
                )

    @property
    def resists_rotation(self) -> bool:
        """Whether it has torsional or rolling friction."""
        return bool(self.torsional_friction or self.rolling_friction)


Color = tuple[float, float, float]
"""Red, green and blue, 0 to 1."""


@dataclass(frozen=True, eq=False)
class Visual:
    """Visual shape of a URDF or SDF file, for pictures.

    Attributes
    ----------
    body
        Name of the body, "" for the world.
    position, rotation
        Pose in the body's frame, shapes (3,) and (3, 3), in m.
    kind, size
        The same as in `Shape`; the size of a mesh is its scale, shape (3,).
    uri
        URI of a mesh.
    color
        Red, green and blue, None if the file gives no color.
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
    """Motor on a hinge or slide joint.

    Attributes
    ----------
    name
        Unique among actuators.
    joint
        Name of the joint.
    lower, upper
        Torque limits, in N m (or N).
    """

    name: str
    joint: str
    lower: float = -np.inf
    upper: float = np.inf


class Keyframes(dict[str, NDArray[np.float64]]):
    """Coordinates by name; an unknown name raises `UnknownName`, which suggests similar names."""

    def __missing__(self, name: str) -> NDArray[np.float64]:
        raise unknown_name_error("keyframe", name, self)


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Frozen tree of bodies, with everything else that a robot file describes.

    Attributes
    ----------
    name
        Name of the robot.
    bodies
        Depth-first: a body's parent precedes it.
    candidates
        Contact candidates.
    frames
        Named frames.
    actuators
        Motors of joints.
    keyframes
        Coordinates by name, shape (nq,) each.
    solids
        Capsules and boxes that may collide (`model.self_collision`).
    excluded
        Pairs of names of bodies that never collide.
    gravity_acceleration
        In m/s², in the world frame.
    notes
        Remarks about the file, such as what is unsupported.
    unsupported
        The notes about features of the file that are not simulated.
    loops
        Joints outside the tree.
    couplings
        Joints of the tree that follow others.
    tendons
        Tendons with limits, springs, damping or actuators of the file.
    file_actuators
        Actuators with the laws of the file (`actuators="file"`).
    material
        Numbers of the file for the contact law, by the names of the law's parameters.
    signals
        Control signals and activations of `file_actuators`, shape (n,) each, by keyframe.
    uncut
        The mechanism before joints were cut (`tarsus.model.cut`), else None.
    edges
        Names of every two candidates with a straight line of the surface between them
        (`model.spans`).
    timestep
        Time step that the file suggests, in s, or None.
    files
        In a world of several mechanisms, the contact numbers of each file, the robot's first.
    visuals
        Visual shapes of a URDF or SDF file.
    merged_joints
        Joints of the file on which the base moves freely, read as one free joint.
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
    unsupported: tuple[str, ...] = ()
    loops: tuple[LoopJoint, ...] = ()
    couplings: tuple[JointCoupling, ...] = ()
    tendons: tuple[Tendon, ...] = ()
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
    merged_joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "keyframes", Keyframes(self.keyframes))

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
        """Slice of each body's joint in q."""
        return _slices([body.joint.nq for body in self.bodies])

    @cached_property
    def u_slices(self) -> tuple[slice, ...]:
        """Slice of each body's joint in u."""
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
        """Total mass, in kg."""
        return float(sum(body.inertia.mass for body in self.bodies))

    @property
    def constrained(self) -> bool:
        """Whether the motion has bilateral constraints: closed loops or joint couplings."""
        return bool(self.loops or self.couplings)

    @property
    def floating(self) -> bool:
        """Whether the first body has a free joint."""
        return bool(self.bodies) and self.bodies[0].joint.kind == "free"

    @cached_property
    def base_chain(self) -> tuple[int, ...]:
        """Bodies from the world to the base that stands on the ground; empty if it is fixed.

        A base on a free joint is a chain of its own. So is a base on a chain of joints without
        motors, springs and limits that lets it rise, such as the two slides and the hinge of a
        planar robot.
        """
        return (0,) if self.floating else find_base_chain(self)

    @property
    def base(self) -> int | None:
        """Number of the body that is the moving base, or None if the base is fixed."""
        return self.base_chain[-1] if self.base_chain else None

    @property
    def base_name(self) -> str:
        """Name of the moving base, or of the first body if the base is fixed."""
        return self.bodies[self.base or 0].name

    @property
    def mobile(self) -> bool:
        """Whether the base moves, on a free joint or on a chain of passive joints."""
        return bool(self.base_chain)

    def body_index(self, name: str) -> int:
        """Find the number of a body.

        Raises
        ------
        UnknownName
            If no body has this name; the message suggests similar names.
        """
        if name not in self.body_names:
            raise unknown_name_error("body", name, self.body_names)
        return self.body_names.index(name)

    def joint_index(self, name: str) -> int:
        """Find the number of the body that a joint moves.

        Raises
        ------
        UnknownName
            If no joint has this name; the message suggests similar names.
        """
        if name not in self.joint_names:
            raise unknown_name_error("joint", name, self.joint_names)
        return self.joint_names.index(name)

    def frame(self, name: str) -> Frame:
        """Find a frame by name: a named frame, a candidate's center, or a body's own frame.

        Raises
        ------
        UnknownName
            If no frame has this name; the message suggests similar names.
        """
        for frame in self.frames:
            if frame.name == name:
                return frame
        for candidate in self.candidates:
            if candidate.name == name:
                return Frame(name, candidate.body, candidate.position)
        if name in self.body_names:
            return Frame(name, self.body_index(name))
        others = [part.name for part in (*self.frames, *self.candidates)]
        raise unknown_name_error("frame", name, [*self.body_names, *others])

    def neutral(self) -> NDArray[np.float64]:
        """Create coordinates, shape (nq,), with all joints at zero and unit quaternions."""
        q = np.zeros(self.nq)
        for body, q_slice in zip(self.bodies, self.q_slices, strict=True):
            if body.joint.kind in ("free", "ball"):
                q[q_slice.stop - 4] = 1.0
        return q


def find_base_chain(mechanism: Mechanism) -> tuple[int, ...]:
    """Find the massless bodies from the world to a base that passive joints let rise.

    Parameters
    ----------
    mechanism
        Mechanism whose first body has no free joint.

    Returns
    -------
    tuple of int
        The bodies, the base last; empty if the base cannot rise.
    """
    parents = [body.parent for body in mechanism.bodies]
    moved = {motor.joint for motor in (*mechanism.actuators, *mechanism.file_actuators)}
    moved |= {name for c in mechanism.couplings for name in (c.joint, *c.leader_names)}
    moved |= {name for tendon in mechanism.tendons for name, _ in tendon.terms}
    touching = {candidate.body for candidate in mechanism.candidates}
    slides, rotation = np.zeros((0, 3)), np.eye(3)
    for i, body in enumerate(mechanism.bodies):
        joint, mass = body.joint, body.inertia.mass
        limited = np.isfinite(joint.lower) or np.isfinite(joint.upper)
        if body.parent != i - 1 or joint.name in moved or joint.has_spring or limited:
            break
        rotation = rotation @ body.rotation
        if joint.kind == "slide":
            slides = np.vstack([slides, rotation @ joint.axis])
        massless = isinstance(mass, int | float) and mass == 0
        if not massless or i in touching or parents.count(i) != 1:
            rises = np.allclose(np.linalg.pinv(slides) @ slides @ UP, UP, atol=RISE_TOLERANCE)
            return tuple(range(i + 1)) if rises else ()
    return ()


def _slices(widths: list[int]) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in pairwise(np.cumsum([0, *widths]).tolist()))
