"""Contact forces as arrows in their friction cones, colored by what the contact does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose
from tarsus.viewer import solids
from tarsus.viewer.drawn import Color, DrawnShape
from tarsus.viewer.track import IMPACT, OPEN, SLIP, STICK, Contacts

Array = NDArray[np.float64]
PHASES: dict[int, tuple[str, Color]] = {  # Okabe and Ito's colors
    STICK: ("sticks", (0.0, 0.62, 0.45)),
    SLIP: ("slips", (0.84, 0.37, 0.0)),
    IMPACT: ("impact", (0.80, 0.20, 0.55)),
}
LONG = 1.2  # of the robot's size: the arrow of its whole weight
LONGEST = 2.0  # of its size: longer ones are cut
FAINT = 0.01  # of its weight: no arrow for less
THICK = 0.016  # of its size
CONE = 0.3  # of its size: how high cones are


@dataclass(frozen=True)
class Scale:
    """How large a robot is, m, and how heavy, N: arrows and cones are drawn by that."""

    size: float
    weight: float


def arrow_vector(force: Array, scale: Scale) -> Array | None:
    """The arrow (3,), m, of a force (3,), N; None of one that is too faint."""
    size = float(np.linalg.norm(force))
    if not size > FAINT * scale.weight:
        return None
    length = min(LONG * size / scale.weight, LONGEST) * scale.size
    return force * (length / size)


def arrows(contacts: Contacts, scale: Scale) -> list[DrawnShape]:
    """The forces on the robot, as shapes in the world."""
    found = []
    for k in np.flatnonzero(contacts.phase != OPEN):
        vector = arrow_vector(contacts.force[k], scale)
        if vector is not None:
            length, radius = float(np.linalg.norm(vector)), THICK * scale.size
            mesh = solids.arrow(radius, length, min(5 * radius, 0.6 * length))
            pose = Pose(contacts.point[k], solids.along(vector))
            found.append(DrawnShape(WORLD, mesh.at(pose), PHASES[int(contacts.phase[k])][1]))
    return found


def cones(contacts: Contacts, scale: Scale) -> list[DrawnShape]:
    """The friction cones of the contacts that are closed, as shapes in the world."""
    found = []
    for k in np.flatnonzero((contacts.phase != OPEN) & np.isfinite(contacts.mu)):
        mu = float(contacts.mu[k])
        side = CONE * scale.size / np.hypot(1.0, mu)
        pose = Pose(contacts.point[k], solids.along(contacts.normal[k]))
        mesh = solids.cone(mu * side, side).at(pose)
        found.append(DrawnShape(WORLD, mesh, PHASES[int(contacts.phase[k])][1]))
    return found
