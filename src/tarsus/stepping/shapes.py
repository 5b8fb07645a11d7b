"""Solids in the world: capsules as segments, boxes as blocks."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Cuboid, Pair, Solid
from tarsus.spatial.rotation import constant
from tarsus.stepping.boxes import Block
from tarsus.stepping.pairs import Segment

Shape = Segment | Block


def shape_of(kin: Kinematics, solid: Solid) -> Shape:
    """A solid in the world."""
    if not isinstance(solid, Cuboid):
        return Segment.of(kin, solid)
    R, r = kin.world_rotation[solid.body], kin.world_position[solid.body]
    middle = r + ca.mtimes(R, constant(solid.middle))
    return Block(middle, ca.mtimes(R, constant(solid.rotation)), constant(solid.half))


def shapes_of(kin: Kinematics, pairs: Iterable[Pair]) -> dict[str, Shape]:
    """The solids of pairs in the world, by name."""
    solids = {solid.name: solid for pair in pairs for solid in (pair.first, pair.second)}
    return {name: shape_of(kin, solid) for name, solid in solids.items()}
