"""The bodies of the scenes, and their poses.

A free body has its frame at its center of mass, except the stool.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, LoopJoint, Mechanism
from tarsus.model.merge import merge
from tarsus.model.objects import Thing
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
# m: from the stool's frame to its front left foot, the last one downwards
STOOL = np.array([0.2, 0.15, 0.25])
STOOL_COM = np.array([0.03, -0.02, 0.05])  # m
STOOL_FOOT = 0.02  # m, radius
SPOKES, SPOKE = 8, 0.5  # of the rimless wheel: how many, and their length, m
WHEEL_INERTIA = 0.05  # kg m^2, about the axle
ARM, COUPLER = 0.4, 0.6  # m: of the arm, crank and rocker; of the coupler
TOUCH = 1e-9  # m: how deep a body starts, so that no round-off opens a contact


def point_mass(mass: float = 1.0, gravity: Vector = GRAVITY) -> Mechanism:
    """A body (kg) that touches with its center alone and so never turns; gravity: m/s^2."""
    center = Candidate("center", 0, np.zeros(3))
    return _free("point", mass, 0.01 * np.eye(3), (center,), gravity=gravity)


def sphere(mass: float = 1.0, radius: float = RADIUS) -> Mechanism:
    """A solid sphere (kg, m)."""
    surface = Candidate("ball", 0, np.zeros(3), radius)
    return _free("sphere", mass, 0.4 * mass * radius**2 * np.eye(3), (surface,))


def cylinder(mass: float = 3.0, radius: float = WHEEL, half: float = 0.05) -> Mechanism:
    """A solid cylinder (kg; radius and half length, m) that lies along y and rolls along x."""
    along = mass * radius**2 / 2
    across = mass * (3 * radius**2 + (2 * half) ** 2) / 12
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    rims = [
        Candidate(f"rim_{k}", 0, np.array([0, end, 0]), outline=rim(radius, k % 3).rotated(lying))
        for k, end in enumerate(np.repeat([half, -half], 3))
    ]
    return _free("cylinder", mass, np.diag([across, along, across]), tuple(rims))


def box(mass: float = 2.0, half: Array = BOX, gravity: Vector = GRAVITY) -> Mechanism:
    """A solid box (kg; half edges (3,), m) that touches with its eight corners."""
    return _free("box", mass, _moments(mass, half), _corners(half), gravity=gravity)


def cube() -> Mechanism:
    """A solid cube of 1 kg and edge 0.1 m that touches with its eight corners."""
    return _free("cube", 1.0, _moments(1.0, CUBE), _corners(CUBE))


def cube_of(mass: float, half: float, moment: float, rounding: float = 0.0) -> Mechanism:
    """A cube (kg; half edge, m; moment of inertia about each axis, kg m^2) that touches with its
    eight corners, rounded with a radius, m.
    """
    corners = _corners(np.full(3, half - rounding))
    round_ones = tuple(replace(corner, radius=rounding) for corner in corners)
    return _free(f"cube {half:g} {rounding:g}", mass, moment * np.eye(3), round_ones)


def rod(mass: float = 1.0, half: float = ROD) -> Mechanism:
    """A thin rod (kg; half length, m) along x that touches with its ends.

    About its own axis it has the inertia of a ball.
    """
    ends = tuple(Candidate(f"end_{k}", 0, np.array([k * half, 0, 0])) for k in (-1, 1))
    return _free("rod", mass, mass * (2 * half) ** 2 / 12 * np.eye(3), ends)


def stool() -> Mechanism:
    """A rigid body of 10 kg on four round feet, its center of mass off their middle."""
    feet = [
        Candidate(f"foot_{k}", 0, STOOL * (*s, -1.0), STOOL_FOOT)
        for k, s in enumerate(product((1.0, -1.0), repeat=2))
    ]
    return _free("stool", 10.0, np.diag([0.3, 0.4, 0.5]), tuple(feet), STOOL_COM)


def wheel() -> Mechanism:
    """A rimless wheel of 1 kg that touches with the ends of its spokes.

    It turns about an axle along y and cannot tilt. Coordinates: x, y, z of the axle, m, and the
    angle about y, rad; at zero a spoke points straight down.
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
    """A solid box of 2 kg that touches nothing."""
    return _free("flyer", 2.0, _moments(2.0, FLYER), ())


def arm(
    lower: float = -np.inf, upper: float = np.inf, friction: float = 0.0, gravity: Vector = GRAVITY
) -> Mechanism:
    """A thin rod of 1 kg and `ARM` m on a hinge about y at the origin, along x at angle zero.

    lower, upper: its range, rad; friction: dry, N m; gravity: m/s^2, pulls it to positive angles
    """
    hinge = Joint("hinge", "hinge", Y, lower, upper, dry_friction=friction)
    body = Body("arm", -1, hinge, _bar(1.0, ARM))
    name = f"arm {lower:g} {upper:g} {friction:g} {gravity[2]:g}"
    return Mechanism(name, (body,), gravity_acceleration=gravity)


def sled(friction: float) -> Mechanism:
    """A body of 1 kg that slides along x; friction: dry, N."""
    slide = Joint("slide", "slide", np.eye(3)[0], dry_friction=friction)
    body = Body("sled", -1, slide, Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    return Mechanism(f"sled {friction:g}", (body,), gravity_acceleration=GRAVITY)


def parallelogram(upper: float) -> Mechanism:
    """Crank and rocker of 1 kg and `ARM` m that hang on pivots 0.6 m apart, joined by a coupler of
    2 kg that stays level; all along x at zero, turning about y.

    upper: end of the crank's range, rad
    """
    ends = {"crank": upper, "coupler": np.inf, "rocker": np.inf}
    places = {"crank": (-1, 0.0), "coupler": (0, ARM), "rocker": (-1, COUPLER)}
    bars = {"crank": _bar(1.0, ARM), "coupler": _bar(2.0, COUPLER), "rocker": _bar(1.0, ARM)}
    turning = {n: Joint(f"{n}_joint", "hinge", Y, upper=u) for n, u in ends.items()}
    parts = [
        Body(name, parent, turning[name], bars[name], np.array([at, 0.0, 0.0]))
        for name, (parent, at) in places.items()
    ]
    ends = np.array([ARM, 0.0, 0.0]), np.array([COUPLER, 0.0, 0.0])
    loop = LoopJoint(Joint("pin", "hinge", Y), 2, 1, ends[0], in_child=ends[1])
    return Mechanism("parallelogram", tuple(parts), loops=(loop,), gravity_acceleration=GRAVITY)


def pose(position: ArrayLike, angle: float = 0.0, axis: ArrayLike = (0.0, 1.0, 0.0)) -> Array:
    """Coordinates (7,) at a position, turned by `angle` about a unit `axis`."""
    return np.concatenate(
        [np.asarray(position), [np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis)]
    )


def on_slope(angle: ArrayLike, height: float) -> Array:
    """Coordinates (worlds, 7) of a body that lies flat on slopes through the origin.

    angle: incline, rad; height: of the body's origin above the slope, m.
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
    """A thin bar (kg, m) from its frame's origin along x."""
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


def row(*things: Thing, gravity: Vector = GRAVITY, ground: bool = True) -> Mechanism:
    """Objects in one world, the first its robot; boxes touch the ground with their lower corners
    alone, and nothing does without `ground`.
    """
    whole = merge([thing.mechanism() for thing in things])
    name = "_".join((whole.name, *(f"{body.inertia.mass:g}" for body in whole.bodies)))
    low = tuple(c for c in whole.candidates if c.position[2] <= 0 and ground)
    return replace(whole, name=name, candidates=low, gravity_acceleration=gravity)


def door(*things: Thing, mass: float = 5.0, width: float = 0.8) -> Mechanism:
    """A door (kg; width, m) on a hinge along z, along x at angle zero, and objects; no gravity."""
    half = np.array([width / 2, 0.02, 1.0])
    middle = np.array([width / 2, 0.0, 0.0])
    inertia = Inertia(mass, middle, _moments(mass, half))
    leaf = Body("door", -1, Joint("hinge", "hinge", axis=np.array([0.0, 0.0, 1.0])), inertia)
    own = Mechanism("door", (leaf,), solids=(Cuboid("leaf", 0, middle, half),))
    whole = merge([own, *(thing.mechanism() for thing in things)])
    return replace(whole, candidates=(), gravity_acceleration=(0.0, 0.0, 0.0))


def pusher(*things: Thing, mass: float = 1.0, height: float = 0.05) -> Mechanism:
    """A ball (kg) on a slide along x at a height, m, and objects beside it, without friction where
    they touch each other.
    """
    slide = Joint("slide", "slide", axis=np.array([1.0, 0.0, 0.0]))
    where = np.array([0.0, 0.0, height])
    rod = Body("pusher", -1, slide, Inertia(mass, np.zeros(3), 1e-3 * np.eye(3)), where)
    own = Mechanism("pusher", (rod,), solids=(Capsule("tip", 0, np.zeros(3), radius=0.02),))
    whole = merge([own, *(thing.mechanism() for thing in things)])
    low = tuple(c for c in whole.candidates if c.position[2] <= 0)
    slippery = tuple(replace(solid, friction=0.0) for solid in whole.solids)
    return replace(whole, candidates=low, solids=slippery, gravity_acceleration=GRAVITY)


def coordinates(body: Mechanism, *places: ArrayLike) -> Array:
    """Coordinates (nq,) of objects, unturned, each free one at a place (3,), m; joints at zero."""
    q, free = body.neutral(), 0
    for part, where in zip(body.bodies, body.q_slices, strict=True):
        if part.joint.kind == "free":
            q[where.start : where.start + 3] = places[free]
            free += 1
    return q
