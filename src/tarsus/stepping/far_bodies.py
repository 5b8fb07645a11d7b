"""Gaps above uneven ground of what seldom touches: bodies that are far from it are not looked at
point by point.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import outlines
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.edges_near import EdgeBounds
from tarsus.stepping.ground import Turned, below_lowest
from tarsus.stepping.touching_point import OPEN_GAP

GROUPED = 4  # candidates: fewer of a body are looked at at once: the ball around them is a look too
HIGH = 1e3  # m: how high what is far is said to be above the ground


@dataclass(frozen=True, eq=False)
class BodyPoints:
    """Candidates of one body, and the ball around them: its center (3,), body frame, and radius,
    m.
    """

    candidates: list[Candidate]
    center: NDArray[np.float64]
    radius: float

    @staticmethod
    def of(candidates: list[Candidate]) -> BodyPoints:
        """The ball around the middle of the box around them."""
        points = np.array([candidate.position for candidate in candidates])
        center = (points.min(0) + points.max(0)) / 2
        sizes = [c.radius + (0 if c.outline is None else c.outline.size) for c in candidates]
        return BodyPoints(
            candidates, center, float(np.max(np.linalg.norm(points - center, axis=1) + sizes))
        )


def groups(scene: Scene, spotted: Collection[str]) -> list[BodyPoints]:
    """The rare candidates by body, where there are more than a few; not those with spots, and none
    that an edge or face joins to a contact that is always looked at: what lies between the
    candidates of a group lies in its ball.
    """
    # whoever is joined to what is looked at alone is so too
    rare = [scene.candidates[i] for i in scene.rare]
    alone = {scene.candidates[i].name for i in scene.usual} | set(spotted)
    joined = [{*span.ends, *filter(None, span.beside)} for span in scene.spans]
    while more := {n for names in joined if names & alone for n in names} - alone:
        alone |= more
    # the others, body by body
    found: dict[int, list[Candidate]] = {}
    for candidate in rare:
        if candidate.name not in alone:
            found.setdefault(candidate.body, []).append(candidate)
    return [BodyPoints.of(own) for own in found.values() if len(own) >= GROUPED]


def gaps_of_groups(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    which: Sequence[BodyPoints],
    builder: Builder,
) -> dict[str, tuple[SX, tuple[SX, SX]]]:
    """Of every candidate of groups, by name, its gap, m, and what `EdgeBounds.seen` says there;
    OPEN_GAP and HIGH in worlds where the ball around its group does not touch.
    """
    # the ground below the middle of each ball
    bounds = EdgeBounds.of(scene, terrain)
    bodies = [group.candidates[0].body for group in which]
    poses = builder.hold("poses", [(kin.world_rotation[b], kin.world_position[b]) for b in bodies])
    balls = [
        at + ca.mtimes(R, constant(group.center))
        for group, (R, at) in zip(which, poses, strict=True)
    ]
    grounds = scene.terrain.surfaces(balls, terrain)
    # in worlds where one is near, below all that is in it
    found = {}
    for group, pose, ball, ground in zip(which, poses, balls, grounds, strict=True):
        count = len(group.candidates)
        near = bounds.closes(bounds.seen(ball, *ground)[0], group.radius)

        def looked(
            _: Values, group: BodyPoints = group, pose: tuple[SX, SX] = pose
        ) -> tuple[Values, SX]:
            return _looked(scene, terrain, bounds, group, pose), SX(0)

        far = {"gap": SX(np.full(count, OPEN_GAP)), "height": SX(np.full(count, HIGH))}
        now = builder.loop(far, looked, 1, near)
        for k, candidate in enumerate(group.candidates):
            z = pose[1][2] + ca.dot(pose[0][2, :].T, constant(candidate.position))
            found[candidate.name] = now["gap"][k], (now["height"][k], z)
    return found


def _looked(
    scene: Scene, terrain: object, bounds: EdgeBounds, group: BodyPoints, pose: tuple[SX, SX]
) -> Values:
    """Gaps of a group, m, and how high its centers are above the ground."""
    R, at = pose
    own = group.candidates
    centers = [at + ca.mtimes(R, constant(c.position)) for c in own]
    turned = [None if c.outline is None else Turned(outlines.numbers(c.outline), R) for c in own]
    first = scene.terrain.surfaces(centers, terrain)
    lowest = below_lowest(scene, terrain, centers, turned, first)
    gaps = [distance - c.radius for c, (_, distance, _) in zip(own, lowest, strict=True)]
    heights = [bounds.seen(c, *ground)[0] for c, ground in zip(centers, first, strict=True)]
    return {"gap": ca.vertcat(*gaps), "height": ca.vertcat(*heights)}
