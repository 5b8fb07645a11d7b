"""HyQ: an 87 kg hydraulic quadruped of IIT, twelve joints.

The robot of Ogunsola; its knees point inwards. Its feet, its knees and the corners of its trunk may
touch the ground.

Frames are located at the joints, parallel to the trunk when all angles are zero: x forward, y left,
z up.
Legs in the order LF, RF, LH, RH; joints HAA (a positive angle swings any leg inwards), HFE and KFE
(+y axis). SI units.

Status of each number: *published* = copied from the source; *derived* = computed from published
numbers. Source: ``hyq_no_sensors.urdf`` and ``hyq.srdf`` of hyq-description (IIT, Apache-2.0), as
in PyPI example-robot-data 6.0.0, with frames rotated parallel to the trunk. Only numbers are taken
from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.references.data import HYQ_DESCRIPTION
from tarsus.references.papers import OGUNSOLA
from tarsus.references.reference import Citation

Array = NDArray[np.float64]
Row = tuple[float, tuple[float, float, float], tuple[float, float, float, float, float, float]]

LEGS = {"LF": (1, 1), "RF": (1, -1), "LH": (-1, 1), "RH": (-1, -1)}  # name: (front +1, left +1)

# geometry, m -- published
HAA_IN_TRUNK = (0.3735, 0.207, 0.0)  # left front
HFE_IN_HIP = (0.0, 0.0, -0.08)
KFE_IN_UPPER_LEG = (0.0, 0.0, -0.35)
FOOT_IN_LOWER_LEG = (0.0, 0.0, -0.346)  # center of the spherical foot
FOOT_RADIUS = 0.02175
KNEE_RADIUS = 0.02  # of the lower leg's collision cylinder, which ends at the knee

# contact points of the trunk, m, left front -- derived: extreme points of its collision mesh
# (trunk.dae) at the bottom, where it is longest, at its widest, and at the top
TRUNK_CORNERS = {
    "bottom": (0.645, 0.188, -0.104),
    "side": (0.301, 0.298, 0.02),
    "top": (0.493, 0.205, 0.27),
}

# bodies: mass kg, center of mass m, ixx iyy izz ixy ixz iyz about it kg m^2 -- published; right
# legs have the numbers of the left ones, hind legs those of the front ones rotated by pi about z
TRUNK: Row = (
    60.96,
    (0.056, 0.0215, 0.00358),
    (1.5725937, 8.5015928, 9.1954911, 0.028375, -0.203139, -0.004462),
)
HIP: Row = (2.93, (-0.16931, 0.0, -0.04263), (0.00571, 0.05486, 0.05071, -5e-5, -0.00159, -4e-5))
UPPER_LEG: Row = (
    2.638,
    (0.02625, 0.0, -0.15074),
    (0.02719, 0.02811, 0.00368, -2e-5, -0.00302, -1e-4),
)
LOWER_LEG: Row = (0.881, (-4e-5, -1e-4, -0.1254), (0.01256, 0.01233, 0.00047, 0.0, 6e-5, 1e-5))

# joints -- published; hydraulic, without gears or rotors
RANGES = {  # rad, front; hind HFE and KFE have the opposite sign
    "HAA": (-1.2217304764, 0.436332312999),
    "HFE": (-0.872664625997, 1.2217304764),
    "KFE": (-2.44346095279, -0.349065850399),
}
TORQUE = 150.0  # N m; a comment in the source says 120
SPEED, DAMPING = 12.0, 0.1  # rad/s, N m s/rad

STAND = {
    "HAA": -0.2,
    "HFE": 0.75,
    "KFE": -1.5,
}  # rad, front; hind HFE and KFE have the opposite sign -- published

CITATION: Citation = (
    OGUNSOLA.at("the robot of the paper"),
    HYQ_DESCRIPTION.at("numbers"),
)
NOTES = (
    (
        "Source: hyq_no_sensors.urdf and hyq.srdf of hyq-description (IIT, Apache-2.0), as in PyPI"
        " example-robot-data 6.0.0. Only numbers are taken from it, no file is copied."
    ),
    (
        "Published: masses, inertias, lengths, joint ranges, torque limits (150 N m; a comment in"
        " the source says 120), damping, radii of foot and lower leg, standing angles. Derived:"
        " standing height of the base, corners of the trunk's mesh. The IMU (18 g) is not modeled."
    ),
    (
        "In the source, the trunk's center of mass is 21.5 mm left of the middle. Another published"
        " model (control toolbox) has a total mass of 83.3 kg."
    ),
)


def describe() -> Mechanism:
    """Build the robot: 13 bodies, 18 degrees of freedom, 86.756 kg.

    Contact candidates are the feet, the knees and the corners of the trunk.
    """
    bodies = [Body("trunk", -1, Joint("floating_base", "free"), _inertia(TRUNK, 1))]
    feet, knees, frames, actuators = [], [], [], []
    for leg, (front, left) in LEGS.items():
        bodies += _leg(leg, len(bodies), front, left)
        shank = len(bodies) - 1
        feet.append(Candidate(f"{leg}_foot", shank, np.array(FOOT_IN_LOWER_LEG), FOOT_RADIUS))
        # the knee is attached to the upper leg: its center is the same, and fewer joints move it
        knee = np.array(KFE_IN_UPPER_LEG)
        knees.append(Candidate(f"{leg}_knee", shank - 1, knee, KNEE_RADIUS))
        frames.append(Frame(f"{leg}_foot", shank, np.array(FOOT_IN_LOWER_LEG)))
        actuators += [
            Actuator(f"{leg}_{joint}", f"{leg}_{joint}", -TORQUE, TORQUE) for joint in RANGES
        ]
    return Mechanism(
        name="hyq",
        bodies=tuple(bodies),
        candidates=(*feet, *knees, *_trunk_corners()),
        frames=tuple(frames),
        actuators=tuple(actuators),
        keyframes={"stand": stand()},
        notes=NOTES,
    )


def stand() -> Array:
    """Compute the coordinates (19,) of the published stand posture; the feet touch z = 0."""
    spread, lean, knee = STAND.values()
    leg = (
        HFE_IN_HIP[2]
        + KFE_IN_UPPER_LEG[2] * np.cos(lean)
        + FOOT_IN_LOWER_LEG[2] * np.cos(lean + knee)
    )
    angles = [angle for front, _ in LEGS.values() for angle in (spread, front * lean, front * knee)]
    return np.array([0.0, 0.0, FOOT_RADIUS - leg * np.cos(spread), 1.0, 0.0, 0.0, 0.0, *angles])


def _leg(leg: str, first: int, front: int, left: int) -> list[Body]:
    """Build the three bodies of one leg; the first becomes body `first` of the robot."""
    haa = np.array(HAA_IN_TRUNK) * (front, left, 1)
    hip, upper, lower = (_inertia(row, front) for row in (HIP, UPPER_LEG, LOWER_LEG))
    return [
        Body(f"{leg}_hip", 0, _joint(leg, "HAA", (-left, 0, 0), 1), hip, haa),
        Body(
            f"{leg}_upper_leg",
            first,
            _joint(leg, "HFE", (0, 1, 0), front),
            upper,
            np.array(HFE_IN_HIP),
        ),
        Body(
            f"{leg}_lower_leg",
            first + 1,
            _joint(leg, "KFE", (0, 1, 0), front),
            lower,
            np.array(KFE_IN_UPPER_LEG),
        ),
    ]


def _trunk_corners() -> list[Candidate]:
    """Create twelve candidates at the corners of the trunk's bottom, sides and top."""
    return [
        Candidate(f"trunk_{leg}_{level}", 0, np.array(corner) * (front, left, 1))
        for level, corner in TRUNK_CORNERS.items()
        for leg, (front, left) in LEGS.items()
    ]


def _joint(leg: str, name: str, axis: tuple[int, int, int], front: int) -> Joint:
    lower, upper = sorted(front * bound for bound in RANGES[name])
    return Joint(
        f"{leg}_{name}",
        "hinge",
        axis=np.array(axis),
        lower=lower,
        upper=upper,
        damping=DAMPING,
        velocity_limit=SPEED,
    )


def _inertia(row: Row, front: int) -> Inertia:
    """Create an inertia from a row of the table, rotated by pi about z for hind legs (front -1)."""
    mass, com, (ixx, iyy, izz, ixy, ixz, iyz) = row
    moments = (ixx, iyy, izz, ixy, front * ixz, front * iyz)
    return Inertia.of_moments(mass, np.array(com) * (front, front, 1), moments)
