"""StarlETH: a 23 kg electric quadruped of ETH Zurich, twelve joints.

The robot of Gehring 2014: series-elastic joints, knees pointing inwards.

Frames are located at the joints, parallel to the base when all angles are zero: x forward, y left,
z up. Legs in the order LF, RF, LH, RH; joints HAA (+x axis), HFE and KFE (+y axis). SI units.

Status of each number: *published* = copied from a source; *derived* = computed from published
numbers; *ESTIMATE* = not available in a readable source.
Sources, numbers only (neither states a license):
[rbs] ``data/rbs/starlETH.rbs`` of github plusminus34/Interactive_thin_shells_Bachelor_thesis
@3aafd3f: masses, moments, joints, collision shapes, with axes (forward, up, right) rotated to
(forward, left, up). [cad] ``resources/StarlETH_Model.xml`` and CAD shells of github
TomaszAugustyn/CollisionDetectionStarlETH @54b0348, which state the same base (0.505 x 0.370 m), hip
(0.0685 m) and thigh (0.200 m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.references.data import STARLETH_CAD, STARLETH_RBS
from tarsus.references.papers import GEHRING_2014
from tarsus.references.reference import Citation

Array = NDArray[np.float64]

LEGS = {"LF": (1, 1), "RF": (1, -1), "LH": (-1, 1), "RH": (-1, -1)}  # name: (front +1, left +1)

# geometry, m -- published [rbs], confirmed by [cad]
HAA_IN_BASE = (0.2525, 0.185, 0.0)  # left front
HFE_IN_HIP = (0.0, 0.0, -0.0685)
KFE_IN_THIGH = (0.0, 0.0, -0.2)
FOOT_IN_SHANK = (
    0.0,
    0.0,
    -0.2,
)  # center of the spherical foot; [cad] states 0.235 m to the contact, 7 mm more
FOOT_RADIUS = 0.028  # derived from the sphere of the CAD shell

# bodies: mass kg, center of mass m, ixx iyy izz about it kg m^2 -- masses, centers of mass and the
# base's moments published [rbs]; other moments derived: those of [rbs] are taken to refer to the
# joint above the body and are moved to the center of mass (about the center of a 0.31 kg, 0.2 m
# thigh, 0.00828 kg m^2 would exceed m l^2 / 4)
BASE = (13.16, (0.0, 0.0, 0.0), (0.226, 0.393, 0.553))
HIP = (1.8, (0.0, 0.0, -0.055), (0.009275, 0.003035, 0.00721))
THIGH = (0.31, (0.0, 0.0, -0.148), (0.00148976, 0.00142976, 0.000215))
SHANK = (0.32, (0.0, 0.0, -0.084), (0.00112108, 0.00124208, 0.0002))

# joints -- ranges in rad published [rbs], there about the rightward axis; torque in N m ESTIMATE
# (from memory)
RANGES = {
    "HAA": (-1.5, 1.5),
    "HFE": (-1.5, 1.5),
    "KFE": (-2.5, 0.0),
}  # front; the hind KFE has the opposite sign
TORQUE = 30.0

# contact points besides the feet: corners of the trunk's two collision boxes, m -- published [rbs]
TOP_CORNER = (0.295, 0.13, 0.1)  # left front; of the upper box, 0.59 x 0.26 x 0.10 m
BOTTOM_CORNER = (0.245, 0.09, -0.1)  # of the lower box, 0.49 x 0.18 x 0.10 m
# radii of the joints, m -- ESTIMATE: the radii of the collision capsules next to them ([rbs] 0.05,
# 0.03, 0.03)
JOINT_RADII = {"HAA": 0.05, "HFE": 0.04, "KFE": 0.03}

STAND = {
    "HAA": 0.0,
    "HFE": 0.7,
    "KFE": -1.4,
}  # rad, front; hind HFE and KFE have the opposite sign -- ESTIMATE

CITATION: Citation = (
    GEHRING_2014.at("the robot of the paper"),
    STARLETH_RBS.at("masses, joints, ranges"),
    STARLETH_CAD.at("lengths; posture and torque limits: ESTIMATE"),
)
NOTES = (
    (
        "Sources: [rbs] github plusminus34/Interactive_thin_shells_Bachelor_thesis @3aafd3f and"
        " [cad] github TomaszAugustyn/CollisionDetectionStarlETH @54b0348 (no license stated). Only"
        " numbers are taken from them, no file is copied."
    ),
    (
        "Published: masses, centers of mass, joint positions and ranges. Derived: inertias of the"
        " legs, assuming that the published moments refer to the joints."
    ),
    "Foot radius 0.028 m: derived from the CAD shell.",
    (
        "ESTIMATE: standing posture (each foot directly below its hip), torque limit of 30 N m,"
        " contact radii of the joints (0.05, 0.04 and 0.03 m), height of the base's center of mass"
        " (that of the HAA axes)."
    ),
    (
        "Series elasticity is not modeled, nor are the rotors, which are on the motor side of the"
        " springs."
    ),
)


def describe() -> Mechanism:
    """Build the robot: 13 bodies, 18 degrees of freedom, 22.88 kg.

    Contact candidates are the feet, the joints and the corners of the trunk.
    """
    bodies = [Body("base", -1, Joint("floating_base", "free"), _inertia(BASE))]
    feet, joints, frames, actuators = [], [], [], []
    for leg, (front, left) in LEGS.items():
        hip = len(bodies)
        bodies += _leg(leg, hip, front, left)
        feet.append(Candidate(f"{leg}_foot", hip + 2, np.array(FOOT_IN_SHANK), FOOT_RADIUS))
        frames.append(Frame(f"{leg}_foot", hip + 2, np.array(FOOT_IN_SHANK)))
        # joint spheres are attached to the body above: same center, and fewer joints move them
        points = {
            "HAA": (0, bodies[hip].position),
            "HFE": (hip, HFE_IN_HIP),
            "KFE": (hip + 1, KFE_IN_THIGH),
        }
        joints += [
            Candidate(f"{leg}_{joint}", body, np.array(point), JOINT_RADII[joint])
            for joint, (body, point) in points.items()
        ]
        actuators += [
            Actuator(f"{leg}_{joint}", f"{leg}_{joint}", -TORQUE, TORQUE) for joint in RANGES
        ]
    return Mechanism(
        name="starleth",
        bodies=tuple(bodies),
        candidates=(*feet, *joints, *_trunk_corners()),
        frames=tuple(frames),
        actuators=tuple(actuators),
        keyframes={"stand": stand()},
        notes=NOTES,
    )


def stand() -> Array:
    """Compute the coordinates (19,) of the stand posture, with the feet on the plane z = 0."""
    lean, knee = STAND["HFE"], STAND["KFE"]
    shank = FOOT_IN_SHANK[2] * np.cos(lean + knee)
    height = FOOT_RADIUS - HFE_IN_HIP[2] - KFE_IN_THIGH[2] * np.cos(lean) - shank
    angles = [
        angle for front, _ in LEGS.values() for angle in (STAND["HAA"], front * lean, front * knee)
    ]
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, *angles])


def _leg(leg: str, first: int, front: int, left: int) -> list[Body]:
    """Build the three bodies of one leg; the first becomes body `first` of the robot."""
    haa = np.array(HAA_IN_BASE) * (front, left, 1)
    return [
        Body(f"{leg}_HIP", 0, _joint(leg, "HAA", (1, 0, 0), front), _inertia(HIP), haa),
        Body(
            f"{leg}_THIGH",
            first,
            _joint(leg, "HFE", (0, 1, 0), front),
            _inertia(THIGH),
            np.array(HFE_IN_HIP),
        ),
        Body(
            f"{leg}_SHANK",
            first + 1,
            _joint(leg, "KFE", (0, 1, 0), front),
            _inertia(SHANK),
            np.array(KFE_IN_THIGH),
        ),
    ]


def _joint(leg: str, name: str, axis: tuple[int, int, int], front: int) -> Joint:
    lower, upper = sorted(front * bound for bound in RANGES[name])
    return Joint(f"{leg}_{name}", "hinge", axis=np.array(axis), lower=lower, upper=upper)


def _trunk_corners() -> list[Candidate]:
    """Create eight candidates: the top corners of the upper box, the bottom ones of the lower."""
    return [
        Candidate(f"{leg}_{level}", 0, np.array(corner) * (front, left, 1))
        for level, corner in (("top", TOP_CORNER), ("bottom", BOTTOM_CORNER))
        for leg, (front, left) in LEGS.items()
    ]


def _inertia(row: tuple[float, tuple[float, float, float], tuple[float, float, float]]) -> Inertia:
    """Create an inertia from a row of the table; every body is symmetric."""
    mass, com, moments = row
    return Inertia(mass, np.array(com), np.diag(moments))
