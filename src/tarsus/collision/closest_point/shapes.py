"""Solids placed in the world: capsules as segments, boxes as blocks."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from tarsus.collision.closest_point.capsule_box import Block
from tarsus.collision.closest_point.segments import Segment
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Cuboid, Pair, Solid
from tarsus.spatial.rotation import constant

Shape = Segment | Block


def place_shape(kin: Kinematics, solid: Solid) -> Shape:
    """Place a solid in the world."""
    if not isinstance(solid, Cuboid):
        return Segment.of(kin, solid)
    R, r = kin.world_rotation[solid.body], kin.world_position[solid.body]
    middle = r + ca.mtimes(R, constant(solid.middle))
    return Block(middle, ca.mtimes(R, constant(solid.rotation)), constant(solid.half))


def place_shapes(kin: Kinematics, pairs: Iterable[Pair]) -> dict[str, Shape]:
    """Place the solids of pairs in the world, by name."""
    solids = {solid.name: solid for pair in pairs for solid in (pair.first, pair.second)}
    return {name: place_shape(kin, solid) for name, solid in solids.items()}
