"""Meshes of contact forces and friction cones, colored by the state of the contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose
from tarsus.viewer import solids
from tarsus.viewer.drawn_shape import Color, DrawnShape
from tarsus.viewer.track import IMPACT, OPEN, SLIP, STICK, Contacts

Array = NDArray[np.float64]
PHASES: dict[int, tuple[str, Color]] = {  # Okabe and Ito's colors
    STICK: ("stick", (0.0, 0.62, 0.45)),
    SLIP: ("slip", (0.84, 0.37, 0.0)),
    IMPACT: ("impact", (0.80, 0.20, 0.55)),
}
WEIGHT_LENGTH = 1.2  # arrow length of a force equal to the robot's weight, in robot sizes
MAX_LENGTH = 2.0  # longest arrow, in robot sizes
MIN_FORCE = 0.01  # smallest force with an arrow, in robot weights
ARROW_RADIUS = 0.016  # in robot sizes
CONE_SIDE = 0.3  # length of a cone's side, in robot sizes


@dataclass(frozen=True)
class Scale:
    """Scale of arrows and cones: the robot's size, m, and weight, N."""

    size: float
    weight: float


def arrow_vector(force: Array, scale: Scale) -> Array | None:
    """Scale a force (3,) in N to an arrow (3,) in m; None if the force is too small to draw."""
    size = float(np.linalg.norm(force))
    if not size > MIN_FORCE * scale.weight:
        return None
    length = min(WEIGHT_LENGTH * size / scale.weight, MAX_LENGTH) * scale.size
    return force * (length / size)


def arrows(contacts: Contacts, scale: Scale) -> list[DrawnShape]:
    """Create the contact forces on the robot as shapes in the world frame."""
    shapes = []
    for k in np.flatnonzero(contacts.phase != OPEN):
        vector = arrow_vector(contacts.force[k], scale)
        if vector is not None:
            length, radius = float(np.linalg.norm(vector)), ARROW_RADIUS * scale.size
            mesh = solids.arrow(radius, length, min(5 * radius, 0.6 * length))
            pose = Pose(contacts.point[k], solids.rotation_to(vector))
            shapes.append(DrawnShape(WORLD, mesh.at(pose), PHASES[int(contacts.phase[k])][1]))
    return shapes


def cones(contacts: Contacts, scale: Scale) -> list[DrawnShape]:
    """Create the friction cones of the closed contacts as shapes in the world frame."""
    shapes = []
    for k in np.flatnonzero((contacts.phase != OPEN) & np.isfinite(contacts.mu)):
        mu = float(contacts.mu[k])
        side = CONE_SIDE * scale.size / np.hypot(1.0, mu)
        pose = Pose(contacts.point[k], solids.rotation_to(contacts.normal[k]))
        mesh = solids.cone(mu * side, side).at(pose)
        shapes.append(DrawnShape(WORLD, mesh, PHASES[int(contacts.phase[k])][1]))
    return shapes
