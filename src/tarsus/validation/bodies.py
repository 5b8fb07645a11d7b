"""The bodies of the scenes, and their poses.

A free body has its frame at its center of mass, except the stool.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
G = 9.81  # m/s^2
GRAVITY: Vector = (0.0, 0.0, -G)
RADIUS = 0.1  # m, of the sphere
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
TOUCH = 1e-9  # m: how deep a body starts, so that no round-off opens a contact


def point_mass(mass: float = 1.0, gravity: Vector = GRAVITY) -> Mechanism:
    """A body (kg) that touches with its center alone and so never turns; gravity: m/s^2."""
    center = Candidate("center", 0, np.zeros(3))
    return _free("point", mass, 0.01 * np.eye(3), (center,), gravity=gravity)


def sphere(mass: float = 1.0, radius: float = RADIUS) -> Mechanism:
    """A solid sphere (kg, m)."""
    surface = Candidate("ball", 0, np.zeros(3), radius)
    return _free("sphere", mass, 0.4 * mass * radius**2 * np.eye(3), (surface,))


def box(mass: float = 2.0, half: Array = BOX, gravity: Vector = GRAVITY) -> Mechanism:
    """A solid box (kg; half edges (3,), m) that touches with its eight corners."""
    return _free("box", mass, _moments(mass, half), _corners(half), gravity=gravity)


def cube() -> Mechanism:
    """A solid cube of 1 kg and edge 0.1 m that touches with its eight corners."""
    return _free("cube", 1.0, _moments(1.0, CUBE), _corners(CUBE))


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
