"""Bodies of the scenes, and their poses.

The frame of a free body is at its center of mass, except for the stool.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, LoopJoint, Mechanism
from tarsus.model.merge import merge
from tarsus.model.objects import FreeObject
from tarsus.model.outline import rim
from tarsus.model.solids import Capsule, Cuboid

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
G = 9.81  # m/s^2
Y = np.array([0.0, 1.0, 0.0])
GRAVITY: Vector = (0.0, 0.0, -G)
RADIUS = 0.1  # m, of the sphere
WHEEL = 0.1  # m, radius of the cylinder
BOX = np.array([0.1, 0.075, 0.04])  # m, half edges: 0.2 x 0.15 x 0.08
CUBE = np.full(3, 0.05)  # m, half edges
FLYER = np.array([0.1, 0.06, 0.02])  # m, half edges: three different moments of inertia
ROD = 0.5  # m, half length
# m: from the stool's frame to its front left foot; the last component points down
STOOL = np.array([0.2, 0.15, 0.25])
STOOL_COM = np.array([0.03, -0.02, 0.05])  # m
STOOL_FOOT = 0.02  # m, radius
SPOKES, SPOKE = 8, 0.5  # number and length (m) of the spokes of the rimless wheel
WHEEL_INERTIA = 0.05  # kg m^2, about the axle
ARM, COUPLER = 0.4, 0.6  # m: of the arm, crank and rocker; of the coupler
TOUCH = 1e-9  # m: initial depth of bodies, so that round-off does not open a contact


def point_mass(mass: float = 1.0, gravity: Vector = GRAVITY) -> Mechanism:
    """Build a body (kg) whose only contact point is its center, so that it never rotates."""
    center = Candidate("center", 0, np.zeros(3))
    return _free("point", mass, 0.01 * np.eye(3), (center,), gravity=gravity)


def sphere(mass: float = 1.0, radius: float = RADIUS) -> Mechanism:
    """Build a solid sphere of given mass, in kg, and radius, in m."""
    surface = Candidate("ball", 0, np.zeros(3), radius)
    return _free("sphere", mass, 0.4 * mass * radius**2 * np.eye(3), (surface,))


def cylinder(mass: float = 3.0, radius: float = WHEEL, half: float = 0.05) -> Mechanism:
    """Build a solid cylinder (kg; radius and half length, m) along y that rolls along x."""
    along = mass * radius**2 / 2
    across = mass * (3 * radius**2 + (2 * half) ** 2) / 12
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    rims = [
        Candidate(f"rim_{k}", 0, np.array([0, end, 0]), outline=rim(radius, k % 3).rotate(lying))
        for k, end in enumerate(np.repeat([half, -half], 3))
    ]
    return _free("cylinder", mass, np.diag([across, along, across]), tuple(rims))


def box(mass: float = 2.0, half: Array = BOX, gravity: Vector = GRAVITY) -> Mechanism:
    """Build a solid box (kg; half edges (3,), m) with contacts at its eight corners."""
    return _free("box", mass, _moments(mass, half), _corners(half), gravity=gravity)


def cube() -> Mechanism:
    """Build a solid cube of 1 kg and edge 0.1 m with contacts at its eight corners."""
    return _free("cube", 1.0, _moments(1.0, CUBE), _corners(CUBE))


def create_cube(mass: float, half_edge: float, moment: float, rounding: float = 0.0) -> Mechanism:
    """Build a cube with contacts at its eight corners.

    Parameters
    ----------
    mass
        Mass in kg.
    half_edge
        Half the edge length in m.
    moment
        Moment of inertia about each axis, kg m^2.
    rounding
        Radius of the corners in m.
    """
    corners = _corners(np.full(3, half_edge - rounding))
    rounded = tuple(replace(corner, radius=rounding) for corner in corners)
    return _free(f"cube {half_edge:g} {rounding:g}", mass, moment * np.eye(3), rounded)


def rod(mass: float = 1.0, half: float = ROD) -> Mechanism:
    """Build a thin rod (kg; half length, m) along x with contacts at its ends.

    For numerical reasons its moment of inertia about its own axis equals the other two.
    """
    ends = tuple(Candidate(f"end_{k}", 0, np.array([k * half, 0, 0])) for k in (-1, 1))
    return _free("rod", mass, mass * (2 * half) ** 2 / 12 * np.eye(3), ends)


def stool() -> Mechanism:
    """Build a rigid body of 10 kg on four round feet, with its center of mass off-center."""
    feet = [
        Candidate(f"foot_{k}", 0, STOOL * (*s, -1.0), STOOL_FOOT)
        for k, s in enumerate(product((1.0, -1.0), repeat=2))
    ]
    return _free("stool", 10.0, np.diag([0.3, 0.4, 0.5]), tuple(feet), STOOL_COM)


def wheel() -> Mechanism:
    """Build a rimless wheel of 1 kg with contacts at the ends of its spokes.

    It rotates about an axle along y and cannot tilt. Coordinates: x, y, z of the axle in m, and the
    angle about y in rad; at zero a spoke points straight down.
    """
    slides = [Joint(axis, "slide", axis=np.eye(3)[k]) for k, axis in enumerate("xyz")]
    carriers = [Body(f"carrier_{j.name}", k - 1, j, Inertia(0.0)) for k, j in enumerate(slides)]
    inertia = Inertia(1.0, np.zeros(3), WHEEL_INERTIA * np.eye(3))
    hub = Body("hub", 2, Joint("axle", "hinge", axis=np.array([0.0, 1.0, 0.0])), inertia)
    angles = 2 * np.pi * np.arange(SPOKES) / SPOKES
    ends = [
        Candidate(f"spoke_{k}", 3, SPOKE * np.array([-np.sin(a), 0, -np.cos(a)]))
        for k, a in enumerate(angles)
    ]
    return Mechanism("wheel", (*carriers, hub), tuple(ends), gravity_acceleration=GRAVITY)


def flyer() -> Mechanism:
    """Build a solid box of 2 kg without contacts."""
    return _free("flyer", 2.0, _moments(2.0, FLYER), ())


def arm(
    lower: float = -np.inf, upper: float = np.inf, friction: float = 0.0, gravity: Vector = GRAVITY
) -> Mechanism:
    """Build a thin rod of 1 kg and `ARM` m on a hinge about y at the origin.

    At angle zero it lies along x; gravity pulls it to positive angles.

    Parameters
    ----------
    lower, upper
        Range of the joint, rad.
    friction
        Dry friction of the joint, N m.
    gravity
        Gravitational acceleration, m/s^2.
    """
    hinge = Joint("hinge", "hinge", Y, lower, upper, dry_friction=friction)
    body = Body("arm", -1, hinge, _bar(1.0, ARM))
    name = f"arm {lower:g} {upper:g} {friction:g} {gravity[2]:g}"
    return Mechanism(name, (body,), gravity_acceleration=gravity)


def top() -> Mechanism:
    """Build a symmetric top of 1 kg on a ball joint at its tip, with its axis along z."""
    inertia = Inertia(1.0, np.array([0.0, 0.0, 0.1]), np.diag([2e-3, 2e-3, 3e-3]))
    body = Body("top", -1, Joint("tip", "ball"), inertia)
    return Mechanism("top", (body,), gravity_acceleration=GRAVITY)


def hopper() -> Mechanism:
    """Build a trunk of 5 kg on a leg of 1 kg that slides along its z axis on a spring."""
    trunk = Body("trunk", -1, Joint("free", "free"), Inertia(5.0, np.zeros(3), _moments(5.0, BOX)))
    slide = Joint("slide", "slide", axis=np.eye(3)[2], stiffness=200.0)
    foot = Inertia(1.0, np.array([0.02, 0.0, -0.3]), _moments(1.0, CUBE))
    leg = Body("leg", 0, slide, foot)
    return Mechanism("hopper", (trunk, leg), gravity_acceleration=GRAVITY)


def sled(friction: float) -> Mechanism:
    """Build a body of 1 kg on a slide along x with dry friction in N."""
    slide = Joint("slide", "slide", np.eye(3)[0], dry_friction=friction)
    body = Body("sled", -1, slide, Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    return Mechanism(f"sled {friction:g}", (body,), gravity_acceleration=GRAVITY)


def parallelogram(upper: float) -> Mechanism:
    """Build a four-bar linkage whose coupler stays level.

    Crank and rocker of 1 kg and `ARM` m hang on pivots 0.6 m apart and carry a coupler of 2 kg. All
    bars lie along x at angle zero and rotate about y.

    Parameters
    ----------
    upper
        Upper limit of the crank, rad.
    """
    limits = {"crank": upper, "coupler": np.inf, "rocker": np.inf}
    parents = {"crank": (-1, 0.0), "coupler": (0, ARM), "rocker": (-1, COUPLER)}
    bars = {"crank": _bar(1.0, ARM), "coupler": _bar(2.0, COUPLER), "rocker": _bar(1.0, ARM)}
    joints = {n: Joint(f"{n}_joint", "hinge", Y, upper=u) for n, u in limits.items()}
    parts = [
        Body(name, parent, joints[name], bars[name], np.array([x, 0.0, 0.0]))
        for name, (parent, x) in parents.items()
    ]
    ends = np.array([ARM, 0.0, 0.0]), np.array([COUPLER, 0.0, 0.0])
    loop = LoopJoint(Joint("pin", "hinge", Y), 2, 1, ends[0], in_child=ends[1])
    return Mechanism("parallelogram", tuple(parts), loops=(loop,), gravity_acceleration=GRAVITY)


def pose(position: ArrayLike, angle: float = 0.0, axis: ArrayLike = (0.0, 1.0, 0.0)) -> Array:
    """Compute the coordinates (7,) of a free body, rotated by `angle` about a unit `axis`."""
    return np.concatenate(
        [np.asarray(position), [np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis)]
    )


def pose_on_slope(angle: ArrayLike, height: float) -> Array:
    """Compute the coordinates (worlds, 7) of a body that lies flat on slopes through the origin.

    Parameters
    ----------
    angle
        Inclination of each slope, rad.
    height
        Height of the body's origin above the slope, m.
    """
    h = height - TOUCH
    return np.array([pose([-h * np.sin(a), 0, h * np.cos(a)], -a) for a in np.atleast_1d(angle)])


def _moments(mass: float, half: Array) -> Array:
    squares = (2 * half) ** 2
    return np.diag(mass / 12 * (squares.sum() - squares))


def _corners(half: Array) -> tuple[Candidate, ...]:
    signs = product((1.0, -1.0), repeat=3)
    return tuple(Candidate(f"corner_{k}", 0, np.array(s) * half) for k, s in enumerate(signs))


def _bar(mass: float, length: float) -> Inertia:
    """Compute the inertia of a thin bar (kg, m) from its frame's origin along x."""
    across = mass * length**2 / 12
    return Inertia(mass, np.array([length / 2, 0.0, 0.0]), np.diag([1e-6, across, across]))


def _free(
    name: str,
    mass: float,
    about_com: Array,
    candidates: tuple[Candidate, ...],
    com: ArrayLike = (0.0, 0.0, 0.0),
    gravity: Vector = GRAVITY,
) -> Mechanism:
    body = Body(name, -1, Joint("free", "free"), Inertia(mass, np.asarray(com), about_com))
    return Mechanism(name, (body,), candidates, gravity_acceleration=gravity)


def combine_objects(
    *things: FreeObject, gravity: Vector = GRAVITY, ground: bool = True
) -> Mechanism:
    """Combine objects in one world; the first is the robot.

    Only the lower corners of boxes touch the ground; without `ground` nothing does.
    """
    whole = merge([thing.mechanism() for thing in things])
    name = "_".join((whole.name, *(f"{body.inertia.mass:g}" for body in whole.bodies)))
    low = tuple(c for c in whole.candidates if c.position[2] <= 0 and ground)
    return replace(whole, name=name, candidates=low, gravity_acceleration=gravity)


def door(*things: FreeObject, mass: float = 5.0, width: float = 0.8) -> Mechanism:
    """Build a door (kg; width, m) on a hinge along z, and objects, without gravity.

    At angle zero the door lies along x.
    """
    half = np.array([width / 2, 0.02, 1.0])
    middle = np.array([width / 2, 0.0, 0.0])
    inertia = Inertia(mass, middle, _moments(mass, half))
    leaf = Body("door", -1, Joint("hinge", "hinge", axis=np.array([0.0, 0.0, 1.0])), inertia)
    hinged = Mechanism("door", (leaf,), solids=(Cuboid("leaf", 0, middle, half),))
    whole = merge([hinged, *(thing.mechanism() for thing in things)])
    return replace(whole, candidates=(), gravity_acceleration=(0.0, 0.0, 0.0))


def pusher(*things: FreeObject, mass: float = 1.0, height: float = 0.05) -> Mechanism:
    """Build a ball (kg) on a slide along x at a height in m, and objects that it can push.

    Contacts between the ball and the objects have no friction.
    """
    slide = Joint("slide", "slide", axis=np.array([1.0, 0.0, 0.0]))
    position = np.array([0.0, 0.0, height])
    rod = Body("pusher", -1, slide, Inertia(mass, np.zeros(3), 1e-3 * np.eye(3)), position)
    ball = Mechanism("pusher", (rod,), solids=(Capsule("tip", 0, np.zeros(3), radius=0.02),))
    whole = merge([ball, *(thing.mechanism() for thing in things)])
    low = tuple(c for c in whole.candidates if c.position[2] <= 0)
    slippery = tuple(replace(solid, friction=0.0) for solid in whole.solids)
    return replace(whole, candidates=low, solids=slippery, gravity_acceleration=GRAVITY)


def coordinates(body: Mechanism, *positions: ArrayLike) -> Array:
    """Compute the coordinates (nq,) of objects at given positions (3,) in m.

    Bodies are not rotated; joints that are not free are at zero.
    """
    q, free = body.neutral(), 0
    for part, indices in zip(body.bodies, body.q_slices, strict=True):
        if part.joint.kind == "free":
            q[indices.start : indices.start + 3] = positions[free]
            free += 1
    return q
