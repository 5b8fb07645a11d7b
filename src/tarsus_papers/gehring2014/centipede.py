"""Robot with any number of legs, for measuring the time of a step (beyond Gehring 2014)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, Mechanism

Array = NDArray[np.float64]

PITCH = 0.25  # m of trunk per pair of legs
WIDTH, DEPTH = 0.3, 0.1  # m, of the trunk
SEGMENT_MASS = 3.0  # kg of trunk per pair of legs
HIP, LINK = 0.06, 0.2  # m: from the abduction joint to the hip, and length of thigh and shank
MASSES = {"abad": 0.5, "thigh": 0.6, "shank": 0.15}  # kg
STAND = (0.0, 0.7, -1.4)  # rad: abduction, hip, knee
SOLE = 0.02  # m: half the side of the square of contact points
POINTS = {
    1: ((0, 0),),
    2: ((1, 0), (-1, 0)),
    4: ((1, 1), (1, -1), (-1, 1), (-1, -1)),
}  # contact points of a foot, in units of SOLE
TORQUE = 60.0  # N m


def centipede(legs: int, points: int = 1) -> Mechanism:
    """Create a rigid trunk on legs with three hinges.

    It has 6 + 3 legs degrees of freedom and invented parameters, similar to those of a small
    quadruped.

    Parameters
    ----------
    legs : int
        Number of legs, even and at least 2.
    points : int, optional
        Contact points per foot: 1, 2 or 4.

    Raises
    ------
    TarsusError
        If a number is not permitted.
    """
    # check the arguments
    if legs < 2 or legs % 2:
        raise InvalidValue(f"legs must be an even number, 2 or more, not {legs}.", "legs")
    if points not in POINTS:
        raise InvalidValue(f"points must be 1, 2 or 4 per foot, not {points}.", "points")
    # the trunk
    pairs = legs // 2
    bodies = [
        Body(
            "trunk",
            -1,
            Joint("trunk_free", "free"),
            _box(pairs * SEGMENT_MASS, pairs * PITCH, WIDTH, DEPTH),
        )
    ]
    # the legs, pair by pair from the front, and their contact points
    candidates: list[Candidate] = []
    for pair in range(pairs):
        for side, name in ((1, f"L{pair + 1}"), (-1, f"R{pair + 1}")):
            position = np.array([PITCH * ((pairs - 1) / 2 - pair), side * WIDTH / 2, 0.0])
            bodies += _create_leg(name, len(bodies), position, side)
            feet = [np.array([SOLE * x, SOLE * y, -LINK]) for x, y in POINTS[points]]
            candidates += [
                Candidate(f"{name}_foot{k + 1}", len(bodies) - 1, foot)
                for k, foot in enumerate(feet)
            ]
    # a motor at every hinge
    hinges = [body.joint.name for body in bodies[1:]]
    return Mechanism(
        name=f"centipede_{legs}_{points}",
        bodies=tuple(bodies),
        candidates=tuple(candidates),
        actuators=tuple(Actuator(name, name, -TORQUE, TORQUE) for name in hinges),
        keyframes={"stand": _stand(legs)},
        notes=("All numbers are invented, for measuring how the computation time grows.",),
    )


def _stand(legs: int) -> Array:
    """Compute the coordinates that place the centers of the feet on the plane z = 0."""
    _, hip, knee = STAND
    height = LINK * (np.cos(hip) + np.cos(hip + knee))
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, *(STAND * legs)])


def _create_leg(name: str, first: int, position: Array, side: int) -> list[Body]:
    """Create the three bodies of a leg; `first` is the index of the first one in the robot."""
    lengths = {"abad": (0.05, 0.08, 0.05), "thigh": (0.04, 0.04, LINK), "shank": (0.02, 0.02, LINK)}
    centers = {
        "abad": (0.0, 0.0, 0.0),
        "thigh": (0.0, 0.0, -LINK / 2),
        "shank": (0.0, 0.0, -LINK / 2),
    }
    axes = {"abad": (1.0, 0.0, 0.0), "thigh": (0.0, 1.0, 0.0), "shank": (0.0, 1.0, 0.0)}
    positions = {
        "abad": position,
        "thigh": np.array([0.0, side * HIP, 0.0]),
        "shank": np.array([0.0, 0.0, -LINK]),
    }
    return [
        Body(
            f"{name}_{part}",
            0 if k == 0 else first + k - 1,
            Joint(f"{name}_{part}_joint", "hinge", axis=np.array(axes[part])),
            _box(MASSES[part], *lengths[part], center=centers[part]),
            positions[part],
        )
        for k, part in enumerate(MASSES)
    ]


def _box(
    mass: float,
    x: float,
    y: float,
    z: float,
    *,
    center: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Inertia:
    """Compute the inertia of a solid box with these sides in m."""
    moments = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    return Inertia(mass, np.array(center), np.diag(moments))
