"""The contacts between a robot and the ground in MuJoCo's last step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.mujoco_runs.library import mujoco

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroundContact:
    """One contact of a robot's geom with something that cannot move."""

    geom: int
    """Index of the robot's geom."""
    gap: float
    """Distance to the ground, m; negative for penetration."""
    point: Array
    """World position (3,), m."""
    frame: Array
    """Contact axes (3, 3) in world axes: rows are the outward normal and two tangents."""
    force: Array
    """Force (3,) on the robot along the rows of `frame`, N."""
    friction: float
    """Friction coefficient [1]."""


def ground_contacts(model: Any, data: Any) -> Iterator[GroundContact]:
    """Iterate over the contacts of moving geoms with fixed ones; skip the robot's self-contacts."""
    if not data.ncon:
        return
    contact_force, six = mujoco().mj_contactForce, np.zeros(6)
    geoms, contacts = data.contact.geom, data.contact
    fixed = (model.body_weldid[model.geom_bodyid[geoms]] == 0).tolist()
    gaps, points, frames = contacts.dist, contacts.pos, contacts.frame.reshape(-1, 3, 3)
    friction = contacts.friction[:, 0]
    for k, sides in enumerate(fixed):
        if sum(sides) != 1:
            continue
        # MuJoCo's frame points from the first geom to the second
        contact_force(model, data, k, six)
        yield GroundContact(
            geom=int(geoms[k, 1 if sides[0] else 0]),
            gap=float(gaps[k]),
            point=points[k],
            frame=frames[k] if sides[0] else -frames[k],
            force=six[:3].copy(),
            friction=float(friction[k]),
        )


def contact_jacobian(model: Any, data: Any, contact: GroundContact) -> Array:
    """Compute the Jacobian (3, nv) of the contact point as a point of the robot, in world axes."""
    jacobian = np.zeros((3, model.nv))
    body = model.geom_bodyid[contact.geom]
    mujoco().mj_jac(model, data, jacobian, None, contact.point, body)
    return jacobian
