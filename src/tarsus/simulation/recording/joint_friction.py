"""Check dry friction in joints: at most f at rest, exactly f against motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Backend
from tarsus.simulation.step_program import Plan
from tarsus.stepping.joint_states import CREEP_RATE, CREEP_RATE_FLOAT32
from tarsus.stepping.lockable_joints import find_lockable_joints

Array = NDArray[Any]
MIN_TURN_RATIO = 10.0  # of the creep rate; faster joints slide


def friction_limits(plan: Plan, worlds: Backend) -> Array:
    """Collect the dry friction (1 or worlds, nu), in N m or N, of joints whose law is solved.

    Joints whose friction varies are not checked: the log does not have its values.
    """
    mechanism = plan.scene.mechanism
    bodies = zip(mechanism.bodies, mechanism.u_slices, strict=True)
    joints = {k: body.joint for body, u_slice in bodies for k in range(u_slice.start, u_slice.stop)}
    places = [row.u for row in find_lockable_joints(plan.scene) if row.has_friction]
    places = [u for u in places if joints[u].friction is None]
    limits = np.zeros((1, mechanism.nu))
    limits[:, places] = [joints[u_slice].dry_friction for u_slice in places]
    if plan.varied.dry_friction:
        by_world = np.atleast_2d(worlds.get("varied.dry_friction"))
        limits = np.repeat(limits, len(by_world), axis=0)
        names = list(plan.varied.dry_friction)
        for u_slice in places:
            if joints[u_slice].name in names:
                limits[:, u_slice] = by_world[:, names.index(joints[u_slice].name)]
    return limits


def friction_residual(limits: Array, acted: tuple[Array, Array], u: Array, single: bool) -> Array:
    """Compute the largest violation of the friction law in any joint, (steps, worlds), in N m or N.

    Parameters
    ----------
    limits
        Dry friction from `friction_limits`.
    acted
        Forces of joint limits and of dry friction, shape (steps, worlds, nu). A joint at its limit
        is not checked for sliding.
    u
        Velocities after the step, shape (steps, worlds, nu).
    single
        Whether the step runs in float32.
    """
    at_end, friction = acted
    law = -limits * np.sign(u)
    turns = (np.abs(u) > MIN_TURN_RATIO * (CREEP_RATE_FLOAT32 if single else CREEP_RATE)) & (
        at_end == 0
    )
    off = np.where(turns, np.abs(friction - law), np.abs(friction) - limits)
    return np.where(limits > 0, np.maximum(off, 0), 0).max(-1, initial=0.0)
