"""Which motor is the mirror image of which, seen in the plane between left and right."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism

APART = 5e-3  # m: a joint may be off its image's place by so much
ALIGNED = 1e-2  # rad: and its axis

TURNED = np.array([-1.0, 1.0, -1.0])  # the image of an axis of rotation
MOVED = np.array([1.0, -1.0, 1.0])  # that of a displacement


def mirrored_motors(
    mechanism: Mechanism, stand: NDArray[np.float64]
) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
    """The image of every motor, and the sign of its displacement there; None where one has none.

    stand (nq,): coordinates that are their own image; the base upright, heading along x
    A robot whose motors are displaced by d from `stand` has the image sign * d[image].
    """
    # where the joints are, and their axes
    q = np.array(stand, float)
    q[:3], q[3:7] = 0.0, (1.0, 0.0, 0.0, 0.0)
    kin = kinematics(mechanism, SX(ca.DM(q)))
    bodies = [mechanism.joint_index(motor.joint) for motor in mechanism.actuators]
    places = np.array([ca.DM(kin.world_position[b]).full().ravel() for b in bodies])
    turns = [ca.DM(kin.world_rotation[b]).full() for b in bodies]
    joints = [mechanism.bodies[b].joint for b in bodies]
    axes = np.array([turn @ joint.axis for turn, joint in zip(turns, joints, strict=True)])
    # the joint at each one's image
    images, signs = [], []
    for joint, place, axis in zip(joints, places, axes, strict=True):
        there = np.linalg.norm(places - MOVED * place, axis=1) < APART
        along = axes @ ((TURNED if joint.kind == "hinge" else MOVED) * axis)
        same = np.array([other.kind == joint.kind for other in joints])
        found = np.flatnonzero(there & same & (np.abs(along) > np.cos(ALIGNED)))
        if len(found) != 1:
            return None
        images.append(int(found[0]))
        signs.append(float(np.sign(along[found[0]])))
    return tuple(images), tuple(signs)
