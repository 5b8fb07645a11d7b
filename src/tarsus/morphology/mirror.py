"""Find the mirror image of each motor in the plane between left and right."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism

POSITION_TOLERANCE = 5e-3  # m
ANGLE_TOLERANCE = 1e-2  # rad

ROTATION_IMAGE = np.array([-1.0, 1.0, -1.0])  # factors on an axis of rotation
POSITION_IMAGE = np.array([1.0, -1.0, 1.0])  # factors on a displacement


def mirrored_motors(
    mechanism: Mechanism, stand: NDArray[np.float64]
) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
    """Compute the mirror image of every motor, and the sign of its displacement there.

    A robot whose motors are displaced by d from `stand` has the image sign * d[image].

    Parameters
    ----------
    mechanism
        Mechanism with `actuators`.
    stand
        Symmetric coordinates (nq,), with the base upright and heading along x.

    Returns
    -------
    tuple or None
        Index of the image of each motor, and signs; None if a motor has no image.
    """
    # positions and axes of joints
    q = np.array(stand, float)
    q[:3], q[3:7] = 0.0, (1.0, 0.0, 0.0, 0.0)
    kin = kinematics(mechanism, SX(ca.DM(q)))
    bodies = [mechanism.joint_index(motor.joint) for motor in mechanism.actuators]
    positions = np.array([ca.DM(kin.world_position[b]).full().ravel() for b in bodies])
    rotations = [ca.DM(kin.world_rotation[b]).full() for b in bodies]
    joints = [mechanism.bodies[b].joint for b in bodies]
    axes = np.array([R @ joint.axis for R, joint in zip(rotations, joints, strict=True)])
    # the joint at the image of each
    images, signs = [], []
    for joint, position, axis in zip(joints, positions, axes, strict=True):
        distances = np.linalg.norm(positions - POSITION_IMAGE * position, axis=1)
        factors = ROTATION_IMAGE if joint.kind == "hinge" else POSITION_IMAGE
        cosines = axes @ (factors * axis)
        aligned = np.abs(cosines) > np.cos(ANGLE_TOLERANCE)
        same = np.array([other.kind == joint.kind for other in joints])
        matches = np.flatnonzero((distances < POSITION_TOLERANCE) & same & aligned)
        if len(matches) != 1:
            return None
        images.append(int(matches[0]))
        signs.append(float(np.sign(cosines[matches[0]])))
    return tuple(images), tuple(signs)
