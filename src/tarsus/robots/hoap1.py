"""HOAP-1: Fujitsu's 5 kg humanoid of Sugihara 2006, twenty joints. ESTIMATE.

The legs have twelve joints, the arms eight. The corners of the soles and the torso, the head, and
points at the joints and hands may touch the ground. Frames are located at the joints, parallel to
the torso when all angles are zero: x forward, y left, z up; the arms point down. Order: right leg,
left leg, right arm, left arm. SI units.

Status of each number: *published* = stated in the source; *ESTIMATE* = a number of the successors
HOAP-2 and HOAP-3, or a substitute with its derivation. Of HOAP-1 itself only the mass (5 kg), the
height (0.480 m) and the number of joints are published (Sugihara 2006, Fig. 5). An encyclopedia
states 6 kg: `load("hoap1", mass=6.0)`. Sources, numbers only: [2] ``Hoap2.proto`` of github
cyberbotics/webots @013d935 (its license does not permit copying the file); [3] ``structure.xml`` of
github chili-epfl/hoap3_description (BSD), with the same layout of the legs.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.references.data import HOAP2_WEBOTS, HOAP3_DESCRIPTION
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation

Array = NDArray[np.float64]
Row = tuple[float, tuple[float, float, float], tuple[float, ...]]

SIDES = {"R": -1, "L": 1}  # name: left +1
MASS = 5.0  # kg -- published, Sugihara 2006

# geometry of the left side, m -- ESTIMATE: lengths of HOAP-2 [2]
HIP_IN_TORSO = (0.0, 0.039, -0.055)
KNEE_IN_THIGH = ANKLE_IN_SHANK = (0.0, 0.0, -0.1)  # HOAP-3: 0.105
SHOULDER_IN_TORSO = (0.0, 0.0995, 0.09)
ELBOW_IN_ARM = (0.0, 0.0, -0.101)
HAND_IN_FOREARM = (0.0, 0.0, -0.1)
SOLE = {"x": (-0.0358, 0.0582), "y": (-0.031, 0.031), "z": -0.0355}  # in the ankle's frame
TORSO_BOX = ((0.013, 0.0, 0.056), (0.05, 0.067, 0.0675))  # center and half edges
HEAD = ((0.0, 0.0, 0.1515), 0.038)  # center and radius, lowered so that the robot is 0.480 m tall

# bodies (left): mass kg, center of mass m, ixx iyy izz ixy ixz iyz about it kg m^2 -- ESTIMATE:
# HOAP-2's masses times 0.83828, which sum to 6 kg with locked waist, neck and wrists. Moments from
# [2], except for leg 1 to 3 and 5 and arm 1, whose moments are missing or impossible in [2] and are
# those of boxes of the same size; centers of mass of leg 1 and 3 from [3]
TORSO = (
    2.48279188,
    (4.59764735e-3, 0.0, 0.0592835924),
    (9.89196355e-3, 0.0115660133, 8.91683063e-3, 0, 5.23195524e-4),
)
LEG: tuple[Row, ...] = (
    (0.0330180767, (2.24e-3, 3e-3, 0.0336), (1.93293324e-5, 2.09802362e-5, 5.09028682e-6)),
    (0.144767182, (3.5e-3, 6e-4, -3.3e-3), (4.6035964e-5, 3.31637487e-5, 5.74846353e-5)),
    (0.367615728, (6.2e-3, 3.3e-3, -0.0665), (4.92268095e-4, 4.5351527e-4, 2.0442498e-4)),
    (
        0.239602361,
        (0.0117225, 2.97242e-3, -0.0429459),
        (4.45963664e-4, 4.43448831e-4, 9.38870872e-5, 8.38277564e-7, 5.78411519e-5, -4.19138782e-6),
    ),
    (
        0.143452763,
        (4.65209e-3, 7.81354e-4, 3.2429e-3),
        (6.2162864e-5, 2.98859923e-5, 5.37947861e-5),
    ),
    (
        0.131402523,
        (4.76595338e-3, 0.0, -0.0259100924),
        (7.25954226e-5, 1.30662092e-4, 1.49282445e-4, 0, -5.82957985e-6),
    ),
)
ARM: tuple[Row, ...] = (
    (0.166843222, (0.0, 0.0, 0.0), (5.70047675e-5, 4.44915258e-5, 5.70047675e-5)),
    (
        0.168861794,
        (-2.3e-3, 0.0, -9.9e-3),
        (7.20918705e-5, 2.33041163e-4, 2.16275612e-4, 0, 1.67655513e-5),
    ),
    (
        0.182985095,
        (-2.6e-5, -2.94852e-3, -0.0683622),
        (9.8078475e-5, 8.80191442e-5, 4.69435436e-5, 0, 0, -1.67655513e-6),
    ),
    (
        0.180055315,
        (-4.1348156e-3, -3.95357075e-3, -0.0580621291),
        (2.16560752e-4, 2.00707818e-4, 4.27352122e-5, -3.34380557e-6, 1.24890912e-6, 1.09227911e-5),
    ),
)

TABLE_MASS = TORSO[0] + 2 * sum(
    row[0] for row in LEG + ARM
)  # 6 kg; all inertias are scaled from it to the robot's mass

# joints (left): name, axis, range rad, position in the parent -- ESTIMATE: HOAP-2's ranges [2],
# with the zero of the arms pointing down
LEG_JOINTS = (
    ("J1_yaw", (0, 0, 1), (-0.541052, 1.58825), HIP_IN_TORSO),
    ("J2_roll", (1, 0, 0), (-0.36652, 0.541052), (0.0, 0.0, 0.0)),
    ("J3_pitch", (0, 1, 0), (-1.43117, 1.23918), (0.0, 0.0, 0.0)),
    ("J4_knee", (0, 1, 0), (-0.017453, 2.26893), KNEE_IN_THIGH),
    ("J5_ankle_pitch", (0, 1, 0), (-1.06465, 1.06465), ANKLE_IN_SHANK),
    ("J6_ankle_roll", (1, 0, 0), (-0.43633, 0.43633), (0.0, 0.0, 0.0)),
)
ARM_JOINTS = (
    ("J1_pitch", (0, 1, 0), (-3.159, 1.0646), SHOULDER_IN_TORSO),
    ("J2_roll", (1, 0, 0), (-0.0175, 1.6755), (0.0, 0.0, 0.0)),
    ("J3_yaw", (0, 0, -1), (-1.5882, 1.5882), (0.0, 0.0, 0.0)),
    ("J4_elbow", (0, 1, 0), (-2.0071, 0.01745), ELBOW_IN_ARM),
)
TORQUE, SPEED = 9.0, 5.0  # N m, rad/s -- ESTIMATE: placeholders of [2]
# kg m^2, reflected rotor inertia for MASS -- ESTIMATE: as in servos of humanoids of this size (a
# rotor of about 9e-8 kg m^2 and gears of about 190:1, from memory), to one digit
ROTOR = 0.003

STAND = {
    "J3_pitch": -0.2,
    "J4_knee": 0.4,
    "J5_ankle_pitch": -0.2,
}  # rad, legs; all other angles are 0 -- ESTIMATE

CITATION: Citation = (
    SUGIHARA_2006.at("Fig. 5: mass, height, number of joints"),
    HOAP2_WEBOTS.at("all other numbers: ESTIMATE"),
    HOAP3_DESCRIPTION.at("centers of mass: ESTIMATE"),
)
NOTES = (
    (
        "HOAP-1: only the mass (5 kg, Sugihara 2006; an encyclopedia states 6 kg), the height"
        " (0.48 m) and the number of joints (20) are published."
    ),
    (
        "ESTIMATE: everything else. Lengths, joint ranges and soles are those of HOAP-2"
        " (Hoap2.proto of github cyberbotics/webots @013d935; no file is copied). Masses are those"
        " of HOAP-2, scaled to the mass of HOAP-1. Some inertias are those of boxes, and some"
        " centers of mass those of HOAP-3 (github chili-epfl/hoap3_description, BSD)."
    ),
    (
        "ESTIMATE: standing posture, torque limit of 9 N m, speed limit of 5 rad/s (placeholders)."
        " Gears and rotors are unknown. Every joint has a reflected rotor inertia of 0.003 kg m^2,"
        " typical of servos of humanoids of this size; it scales with the mass."
    ),
    (
        "ESTIMATE: contacts other than the soles. They are the corners of the torso, a sphere for"
        " the head, and points at hips, knees, shoulders, elbows and hands."
    ),
)


def describe(mass: float = MASS) -> Mechanism:
    """Build the robot: 21 bodies, 26 degrees of freedom.

    Parameters
    ----------
    mass
        Total mass in kg, distributed as in HOAP-2.
    """
    if not 0 < mass < np.inf:
        raise InvalidValue(f"hoap1: the mass must be positive and finite, not {mass} kg.", "mass")
    # the torso
    scale = mass / TABLE_MASS
    bodies = [Body("torso", -1, Joint("floating_base", "free"), _inertia(TORSO, 1, scale))]
    # legs with soles, hips and knees
    feet, others, frames = [], _torso_candidates(), []
    for side, left in SIDES.items():
        bodies += _limb(f"{side}LEG", len(bodies), left, LEG_JOINTS, LEG, scale)
        foot, knee = len(bodies) - 1, len(bodies) - 4
        feet += _sole(side, foot)
        # points at joints are attached to the body above: fewer joints move them
        hip_position = np.array(HIP_IN_TORSO) * (1, left, 1)
        others += [
            Candidate(f"{side}_hip", 0, hip_position),
            Candidate(f"{side}_knee", knee, np.array(KNEE_IN_THIGH)),
        ]
        frames.append(Frame(f"{side}_foot", foot, np.array([np.mean(SOLE["x"]), 0.0, SOLE["z"]])))
    # arms with shoulders, elbows and hands
    for side, left in SIDES.items():
        bodies += _limb(f"{side}ARM", len(bodies), left, ARM_JOINTS, ARM, scale)
        forearm = len(bodies) - 1
        shoulder_position = np.array(SHOULDER_IN_TORSO) * (1, left, 1)
        others += [
            Candidate(f"{side}_shoulder", 0, shoulder_position),
            Candidate(f"{side}_elbow", forearm - 1, np.array(ELBOW_IN_ARM)),
            Candidate(f"{side}_hand", forearm, np.array(HAND_IN_FOREARM)),
        ]
    # a motor at every joint
    actuators = [Actuator(body.joint.name, body.joint.name, -TORQUE, TORQUE) for body in bodies[1:]]
    return Mechanism(
        name="hoap1",
        bodies=tuple(bodies),
        candidates=(*feet, *others),
        frames=tuple(frames),
        actuators=tuple(actuators),
        keyframes={"stand": stand()},
        notes=NOTES,
    )


def stand() -> Array:
    """Compute the coordinates (27,) of the stand posture, with the soles on the plane z = 0."""
    lean, knee = STAND["J3_pitch"], STAND["J4_knee"]
    height = (
        -HIP_IN_TORSO[2]
        - KNEE_IN_THIGH[2] * np.cos(lean)
        - ANKLE_IN_SHANK[2] * np.cos(lean + knee)
        - SOLE["z"]
    )
    leg = [STAND.get(name, 0.0) for name, *_ in LEG_JOINTS]
    return np.array(
        [0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, *leg, *leg, *np.zeros(2 * len(ARM_JOINTS))]
    )


def _limb(
    limb: str, first: int, left: int, joints: tuple, rows: tuple[Row, ...], scale: float
) -> list[Body]:
    """Build the bodies of a limb; the first is body `first` of the robot, attached to the torso."""
    bodies = []
    for k, ((name, axis, span, position), row) in enumerate(zip(joints, rows, strict=True)):
        # mirroring at the plane y = 0 reverses rotations about x and z, but not about y
        lower, upper = span if axis[1] or left > 0 else (-span[1], -span[0])
        joint = Joint(
            f"{limb}_{name}",
            "hinge",
            axis=np.array(axis),
            lower=lower,
            upper=upper,
            velocity_limit=SPEED,
            armature=ROTOR * scale * TABLE_MASS / MASS,
        )
        bodies.append(
            Body(
                f"{limb}_{k + 1}",
                first + k - 1 if k else 0,
                joint,
                _inertia(row, left, scale),
                np.array(position) * (1, left, 1),
            )
        )
    return bodies


def _sole(side: str, foot: int) -> list[Candidate]:
    """Create a contact candidate at each of the four corners of a sole."""
    corners = product(
        zip(("heel", "toe"), SOLE["x"], strict=True), zip(("right", "left"), SOLE["y"], strict=True)
    )
    return [
        Candidate(f"{side}_foot_{end}_{flank}", foot, np.array([x, y, SOLE["z"]]))
        for (end, x), (flank, y) in corners
    ]


def _torso_candidates() -> list[Candidate]:
    """Create candidates for the spherical head and the eight corners of the torso's box."""
    center, half = (np.array(v) for v in TORSO_BOX)
    corners = [center + half * signs for signs in product((1, -1), repeat=3)]
    return [
        Candidate("head", 0, np.array(HEAD[0]), HEAD[1]),
        *(Candidate(f"torso_{k}", 0, corner) for k, corner in enumerate(corners)),
    ]


def _inertia(row: Row, left: int, scale: float) -> Inertia:
    """Create an inertia from a row of the table, mirrored at y = 0 for the right side (left -1)."""
    mass, com, table_moments = row
    ixx, iyy, izz, ixy, ixz, iyz = (*table_moments, 0.0, 0.0, 0.0)[:6]
    moments = (ixx, iyy, izz, left * ixy, ixz, left * iyz)
    return Inertia.of_moments(mass, np.array(com) * (1, left, 1), moments).scale(scale)
