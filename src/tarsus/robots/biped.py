"""Biped after Rengifo 2009: two rectangular feet, fourteen joints. ESTIMATE.

Rengifo 2009 describes the structure (Fig. 8: five links, two feet, fourteen motors, eight contact
vertices) but gives no numbers. All numbers here are ESTIMATES: segment fractions of a human body
(Winter 2009, quoted from memory) of HEIGHT and MASS, the class of robot the authors worked with.
The corners of its soles and trunk, and spheres at hips, knees and ankles, may touch the ground.

Frames are located at the joints, parallel to the trunk when all angles are zero: x forward, y left,
z up; legs R, L. SI units. The joint order hip (yaw, roll, pitch), knee, ankle (pitch, roll, yaw) is
an assumption that gives exactly fourteen joints. Joints whose axes intersect are connected by
massless bodies.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.references.books import WINTER_2009
from tarsus.references.papers import RENGIFO_2009
from tarsus.references.reference import Citation

Array = NDArray[np.float64]

SIDES = {"R": -1, "L": 1}  # name: left +1
HEIGHT, MASS = 1.60, 45.0  # m, kg -- ESTIMATE

# lengths, m -- ESTIMATE
THIGH, SHIN, TRUNK = 0.245 * HEIGHT, 0.246 * HEIGHT, 0.288 * HEIGHT
HIP = 0.048 * HEIGHT  # half of the distance between the hips
FOOT = np.array([0.152, 0.055, 0.039]) * HEIGHT  # length, width, height
HEEL = 0.25  # fraction of the foot's length behind the ankle

# fraction of the total mass, then as fractions of the segment's length: center of mass from the
# upper end, radius of gyration; radius for the inertia about the segment's long axis, and of the
# contact spheres at its ends, m -- ESTIMATE
TRUNK_FRACTIONS = (0.678, 0.626, 0.496)  # center of mass from the hips upwards
THIGH_FRACTIONS, THIGH_RADIUS = (0.100, 0.433, 0.323), 0.06
SHIN_FRACTIONS, SHIN_RADIUS = (0.0465, 0.433, 0.302), 0.045
FOOT_MASS_FRACTION = 0.0145
TRUNK_BOX = (0.29, 0.20)  # m, width and depth of the trunk, whose corners touch

# joints of a leg: name, axis, range rad, body it moves -- ESTIMATE
JOINTS = (
    ("hip_yaw", (0, 0, 1), (-0.6, 0.6), "hip_1"),
    ("hip_roll", (1, 0, 0), (-0.5, 0.5), "hip_2"),
    ("hip_pitch", (0, 1, 0), (-1.6, 1.0), "thigh"),
    ("knee", (0, 1, 0), (0.0, 2.3), "shin"),
    ("ankle_pitch", (0, 1, 0), (-0.9, 0.9), "ankle_1"),
    ("ankle_roll", (1, 0, 0), (-0.5, 0.5), "ankle_2"),
    ("ankle_yaw", (0, 0, 1), (-0.6, 0.6), "foot"),
)

ROTOR = 0.01  # kg m^2, reflected inertia of a geared electric motor -- ESTIMATE
STAND = {"hip_pitch": -0.25, "knee": 0.5, "ankle_pitch": -0.25}  # rad; all else 0 -- ESTIMATE

CITATION: Citation = (
    RENGIFO_2009.at("Fig. 8: structure"),
    WINTER_2009.at("segment fractions, from memory; all numbers: ESTIMATE"),
)
NOTES = (
    (
        "Structure: Rengifo 2009, Fig. 8 (five links, two rectangular feet, fourteen joints, eight"
        " contact vertices). The paper states no masses or lengths, and the tables in the group's"
        " other papers were not legible."
    ),
    (
        "ESTIMATE: all numbers, from the segment fractions (Winter, from memory) of a human body of"
        " 1.60 m and 45 kg; the order of the joint axes; joint ranges; standing posture. There are"
        " no torque limits. Every joint has a reflected rotor inertia of 0.01 kg m^2: without it,"
        " joints whose axes intersect would have no inertia where the axes align."
    ),
    (
        "ESTIMATE: contacts other than the soles. The trunk is the box of its inertia; hips, knees"
        " and ankles are spheres with the radii of thigh (0.06 m) and shin (0.045 m)."
    ),
)


def describe() -> Mechanism:
    """Build the robot: 15 bodies (8 massless), 20 degrees of freedom, 45 kg.

    Contact candidates are the eight corners of the soles, hips, knees, ankles and the corners of
    the trunk.
    """
    bodies = [Body("trunk", -1, Joint("floating_base", "free"), _trunk())]
    soles, joints, frames, actuators = [], [], [], []
    for side, left in SIDES.items():
        bodies += _leg(side, len(bodies), left)
        foot = len(bodies) - 1
        soles += _vertices(side, foot)
        joints += _joint_spheres(side, left, foot)
        center = np.array([(0.5 - HEEL) * FOOT[0], 0.0, -FOOT[2]])
        frames.append(Frame(f"{side}_sole", foot, center))
        actuators += [Actuator(f"{side}_{name}", f"{side}_{name}") for name, *_ in JOINTS]
    return Mechanism(
        name="biped",
        bodies=tuple(bodies),
        candidates=(*soles, *joints, *_trunk_corners()),
        frames=tuple(frames),
        actuators=tuple(actuators),
        keyframes={"stand": stand()},
        notes=NOTES,
    )


def stand() -> Array:
    """Compute the coordinates (21,) of the stand posture, with the soles on the plane z = 0."""
    lean, knee = STAND["hip_pitch"], STAND["knee"]
    height = THIGH * np.cos(lean) + SHIN * np.cos(lean + knee) + FOOT[2]
    leg = [STAND.get(name, 0.0) for name, *_ in JOINTS]
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, *leg, *leg])


def _leg(side: str, first: int, left: int) -> list[Body]:
    """Build the seven bodies of one leg; the first is body `first` of the robot, on the trunk."""
    # positions in the parent, and inertias of the bodies that have mass
    positions = {
        "hip_1": (0.0, left * HIP, 0.0),
        "shin": (0.0, 0.0, -THIGH),
        "ankle_1": (0.0, 0.0, -SHIN),
    }
    inertias = {
        "thigh": _segment(THIGH_FRACTIONS, -THIGH, THIGH_RADIUS**2 / 2),
        "shin": _segment(SHIN_FRACTIONS, -SHIN, SHIN_RADIUS**2 / 2),
        "foot": _foot(),
    }
    # one body per joint, each attached to the previous one
    bodies = []
    for k, (name, axis, (lower, upper), body) in enumerate(JOINTS):
        joint = Joint(
            f"{side}_{name}",
            "hinge",
            axis=np.array(axis),
            lower=lower,
            upper=upper,
            armature=ROTOR,
        )
        parent = first + k - 1 if k else 0
        position = np.array(positions.get(body, (0.0, 0.0, 0.0)))
        inertia = inertias.get(body, Inertia(0.0))
        bodies.append(Body(f"{side}_{body}", parent, joint, inertia, position))
    return bodies


def _vertices(side: str, foot: int) -> list[Candidate]:
    """Create a contact candidate at each of the four corners of a sole."""
    x, y = FOOT[0] * np.array([-HEEL, 1 - HEEL]), FOOT[1] * np.array([-0.5, 0.5])
    corners = product(zip(("heel", "toe"), x, strict=True), zip(("right", "left"), y, strict=True))
    return [
        Candidate(f"{side}_foot_{end}_{flank}", foot, np.array([along, across, -FOOT[2]]))
        for (end, along), (flank, across) in corners
    ]


def _joint_spheres(side: str, left: int, foot: int) -> list[Candidate]:
    """Create spheres at hip, knee and ankle, each attached to the body above the joint."""
    thigh, shin = foot - 4, foot - 3
    return [
        Candidate(f"{side}_hip", 0, np.array([0.0, left * HIP, 0.0]), THIGH_RADIUS),
        Candidate(f"{side}_knee", thigh, np.array([0.0, 0.0, -THIGH]), SHIN_RADIUS),
        Candidate(f"{side}_ankle", shin, np.array([0.0, 0.0, -SHIN]), SHIN_RADIUS),
    ]


def _trunk_corners() -> list[Candidate]:
    """Create candidates at the eight corners of the trunk, from the hips to the shoulders."""
    width, depth = TRUNK_BOX
    corners = product((depth / 2, -depth / 2), (width / 2, -width / 2), (TRUNK, 0.0))
    return [Candidate(f"trunk_{k}", 0, np.array(corner)) for k, corner in enumerate(corners)]


def _trunk() -> Inertia:
    width, depth = TRUNK_BOX
    return _segment(TRUNK_FRACTIONS, TRUNK, (width**2 + depth**2) / 12)


def _segment(fractions: tuple[float, float, float], length: float, axial: float) -> Inertia:
    """Compute the inertia of a segment along z.

    Parameters
    ----------
    fractions
        Fraction of the robot's mass; center of mass and radius of gyration as fractions of length.
    length
        Length from the joint in m, negative for a segment that points down.
    axial
        Moment of inertia about z per mass, m^2.
    """
    mass_fraction, center, gyration = fractions
    mass, across = MASS * mass_fraction, (gyration * length) ** 2
    return Inertia(
        mass, np.array([0.0, 0.0, center * length]), mass * np.diag([across, across, axial])
    )


def _foot() -> Inertia:
    """Compute the inertia of a foot, a uniform box."""
    mass, (x, y, z) = MASS * FOOT_MASS_FRACTION, FOOT
    moments = np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2]) / 12
    return Inertia(mass, np.array([(0.5 - HEEL) * x, 0.0, -z / 2]), mass * np.diag(moments))
