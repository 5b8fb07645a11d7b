"""Mini Cheetah: a 9 kg electric quadruped of MIT, twelve joints.

Its knees point backwards. Its feet, knees, hip motors and the corners of its trunk may touch the
ground.

Frames are located at the joints, parallel to the base when all angles are zero: x forward, y left,
z up. Legs in the order FR, FL, HR, HL; joints abad (+x axis), hip and knee (-y axis). SI units.

Status of each number: *published* = copied from the source; *derived* = computed from published
numbers; *estimate* = not available in a readable source.
Source: ``MiniCheetah.h``, ``Quadruped.cpp``, ``ActuatorModel.h``, ``rt_spi.cpp`` and
``FSM_State_RecoveryStand.cpp`` of github mit-biomimetics/Cheetah-Software @c71c5a1 (MIT license).
Only numbers are taken from it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import Actuator, Body, Candidate, Frame, Inertia, Joint, Mechanism
from tarsus.references.data import CHEETAH_SOFTWARE
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation

Array = NDArray[np.float64]

LEGS = {"FR": (1, -1), "FL": (1, 1), "HR": (-1, -1), "HL": (-1, 1)}  # name: (front +1, left +1)

# geometry, m -- published
ABAD_IN_BASE = (0.19, 0.049, 0.0)  # front left
HIP_IN_ABAD = (0.0, 0.062, 0.0)  # left
KNEE_IN_THIGH = (0.0, 0.0, -0.209)
CONTACT_IN_SHANK = (0.0, 0.004, -0.195)  # left; lowest point of the foot
FOOT_RADIUS = 0.015  # estimate: the source has a point, which is the sphere's lowest point here
BASE_BOX = (0.38, 0.098, 0.1)  # edges of the trunk's box, whose corners touch -- published

# radii of the contact spheres at knee and hip motor, m -- estimate: the source has a point at the
# knee and nothing at the hip. The motors are 96 mm wide (from memory): with this radius the robot
# is 0.48 m long and 0.27 m wide
KNEE_RADIUS, HIP_RADIUS = 0.02, 0.048

# bodies (left): mass kg, center of mass m, ixx iyy izz ixy ixz iyz about it kg m^2 -- published,
# except for the thigh's inertia, which is derived: the published one, rotated by pi about z,
# (1983, 2103, 408, 245, -13, -1.5)e-6, violates the triangle inequality (2295 > 1791 + 408). It is
# replaced by the nearest matrix that a mass distribution can have.
BASE = (3.3, (0.0, 0.0, 0.0), (0.011253, 0.036203, 0.042673, 0.0, 0.0, 0.0))
ABAD = (0.54, (0.0, 0.036, 0.0), (381e-6, 560e-6, 444e-6, 58e-6, 0.45e-6, 0.95e-6))
THIGH = (
    0.634,
    (0.0, -0.016, -0.02),
    (2.0141191e-3, 2.12216697e-3, 4.5828367e-4, 2.20578728e-4, -1.28485724e-5, -1.30704906e-6),
)
SHANK = (0.064, (0.0, 0.0, -0.061), (245e-6, 248e-6, 6e-6, 0.0, 0.0, 0.0))

# rotors: kg, m (front left), kg m^2 along and across the spin axis, gear ratios -- published
ROTOR_MASS = 0.055
ROTOR_SPIN, ROTOR_ACROSS = 63e-6, 33e-6
ROTOR_IN_BASE = (0.125, 0.049, 0.0)  # abad rotor, spins about x
ROTOR_IN_ABAD = (0.0, 0.04, 0.0)  # hip rotor, spins about y
ROTOR_IN_THIGH = (0.0, 0.0, 0.0)  # knee rotor, spins about y
GEARS = {"abad": 6.0, "hip": 6.0, "knee": 9.33}

# motors: battery voltage V, flux linkage times pole pairs V s/rad -- published; the back-EMF is
# 2 FLUX per rad/s of the rotor, which limits the joint speed to VOLTAGE / (2 FLUX gear) -- derived
# from getTorque of the source
VOLTAGE, FLUX = 24.0, 0.05

# joints -- torque N m, damping N m s/rad, dry friction N m published; ranges in rad estimated from
# memory
TORQUES = {"abad": 17.0, "hip": 17.0, "knee": 26.0}
RANGES = {"abad": 2.094, "hip": 4.712, "knee": 2.705}
DAMPING, DRY_FRICTION = 0.01, 0.2

STAND = {"abad": 0.0, "hip": -0.8, "knee": 1.6}  # rad -- published

CITATION: Citation = (
    CHEETAH_SOFTWARE.at("numbers; joint ranges and contact radii: ESTIMATE"),
    TEIXEIRA_DE_PAULA_2024.at("the robot of the paper"),
)
NOTES = (
    (
        "Source: github mit-biomimetics/Cheetah-Software @c71c5a1 (MIT license). Only numbers are"
        " taken from it, no file is copied."
    ),
    (
        "The masses of the rotors (12 x 0.055 kg, published) are added to the bodies that carry"
        " them. Their spin is modeled by the armature gear^2 * 63e-6 kg m^2 (derived); the"
        " gyroscopic coupling of the rotors is not modeled."
    ),
    "Thigh inertia: derived, because the published matrix violates the triangle inequality.",
    (
        "Contact radii of foot, knee and hip motor (0.015, 0.02 and 0.048 m) and joint ranges:"
        " estimated. Corners of the trunk and standing angles: published. Height of the base:"
        " derived."
    ),
)


def describe() -> Mechanism:
    """Build the robot: 13 bodies, 18 degrees of freedom, 8.912 kg.

    Contact candidates are the feet, the knees, the hip motors and the corners of the trunk.
    """
    rotors = [_rotor(_mirror(ROTOR_IN_BASE, front, left), "x") for front, left in LEGS.values()]
    base = Body("base", -1, Joint("floating_base", "free"), _fused(_inertia(BASE, 1), *rotors))
    bodies, feet, joints, frames, actuators = [base], [], [], [], []
    for leg, (front, left) in LEGS.items():
        first = len(bodies)
        bodies += _leg(leg, first, front, left)
        lowest = _mirror(CONTACT_IN_SHANK, 1, left)
        center = lowest + np.array([0.0, 0.0, FOOT_RADIUS])
        feet.append(Candidate(f"{leg}_foot", first + 2, center, FOOT_RADIUS))
        # joint spheres are attached to the body above: same center, and fewer joints move them
        motor = _mirror(ROTOR_IN_ABAD, 1, left)
        joints += [
            Candidate(f"{leg}_hip", first, motor, HIP_RADIUS),
            Candidate(f"{leg}_knee", first + 1, np.array(KNEE_IN_THIGH), KNEE_RADIUS),
        ]
        frames.append(Frame(f"{leg}_foot", first + 2, center))
        actuators += [
            Actuator(f"{leg}_{joint}", f"{leg}_{joint}_joint", -limit, limit)
            for joint, limit in TORQUES.items()
        ]
    return Mechanism(
        name="mini_cheetah",
        bodies=tuple(bodies),
        candidates=(*feet, *joints, *_base_corners()),
        frames=tuple(frames),
        actuators=tuple(actuators),
        keyframes={"stand": stand()},
        notes=NOTES,
    )


def stand() -> Array:
    """Compute the coordinates (19,) of the published stand posture; the feet touch z = 0."""
    thigh, shank = -KNEE_IN_THIGH[2], -CONTACT_IN_SHANK[2] - FOOT_RADIUS
    lean = STAND["hip"]
    height = thigh * np.cos(lean) + shank * np.cos(lean + STAND["knee"]) + FOOT_RADIUS
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0, *(list(STAND.values()) * len(LEGS))])


def _leg(leg: str, first: int, front: int, left: int) -> list[Body]:
    """Build the three bodies of one leg; the first becomes body `first` of the robot."""
    hip_rotor = _rotor(_mirror(ROTOR_IN_ABAD, 1, left), "y")
    knee_rotor = _rotor(_mirror(ROTOR_IN_THIGH, 1, left), "y")
    abad = _fused(_inertia(ABAD, left), hip_rotor)
    thigh = _fused(_inertia(THIGH, left), knee_rotor)
    shank = _inertia(SHANK, left)
    at_abad, at_hip = _mirror(ABAD_IN_BASE, front, left), _mirror(HIP_IN_ABAD, 1, left)
    return [
        Body(f"{leg}_abad", 0, _joint(leg, "abad", (1, 0, 0)), abad, at_abad),
        Body(f"{leg}_thigh", first, _joint(leg, "hip", (0, -1, 0)), thigh, at_hip),
        Body(
            f"{leg}_shank",
            first + 1,
            _joint(leg, "knee", (0, -1, 0)),
            shank,
            np.array(KNEE_IN_THIGH),
        ),
    ]


def _base_corners() -> list[Candidate]:
    """Create candidates at the eight corners of the trunk's box."""
    corner = 0.5 * np.array(BASE_BOX)
    return [
        Candidate(f"base_{leg}_{level}", 0, corner * (front, left, up))
        for level, up in (("top", 1), ("bottom", -1))
        for leg, (front, left) in LEGS.items()
    ]


def _joint(leg: str, name: str, axis: tuple[int, int, int]) -> Joint:
    return Joint(
        f"{leg}_{name}_joint",
        "hinge",
        axis=np.array(axis),
        lower=-RANGES[name],
        upper=RANGES[name],
        armature=GEARS[name] ** 2 * ROTOR_SPIN,
        velocity_limit=VOLTAGE / (2 * FLUX * GEARS[name]),
        damping=DAMPING,
        dry_friction=DRY_FRICTION,
    )


def _mirror(front_left: tuple[float, float, float], front: int, left: int) -> Array:
    """Mirror a point of the front left leg to another leg; `front` and `left` are +1 or -1."""
    return np.array(front_left) * np.array([front, left, 1])


def _inertia(
    row: tuple[float, tuple[float, float, float], tuple[float, ...]], left: int
) -> Inertia:
    """Create an inertia from a row of the table, mirrored at y = 0 for the right side (left -1)."""
    mass, com, (ixx, iyy, izz, ixy, ixz, iyz) = row
    moments = (ixx, iyy, izz, left * ixy, ixz, left * iyz)
    return Inertia.of_moments(mass, _mirror(com, 1, left), moments)


def _rotor(position: Array, spin_axis: str) -> Inertia:
    moments = [ROTOR_SPIN if axis == spin_axis else ROTOR_ACROSS for axis in "xyz"]
    return Inertia(ROTOR_MASS, position, np.diag(moments))


def _fused(*parts: Inertia) -> Inertia:
    """Combine inertias in the same frame by the parallel axis theorem.

    They are summed at once, not pairwise as in `model.poses.joined`: the products of mirrored
    rotors then cancel to exact zeros, which cost compiled programs nothing.
    """
    mass = sum(part.mass for part in parts)
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    about = np.zeros((3, 3))
    for part in parts:
        arm = part.com - com
        about += part.about_com + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertia(mass, com, about)
