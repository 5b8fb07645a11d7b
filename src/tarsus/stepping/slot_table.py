"""The table that a slot looks up: a row for each contact that may touch, columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from casadi import SX

from tarsus.model.solids import Cuboid, Pair
from tarsus.model.spans import arcs, faces
from tarsus.stepping.base import EMPTY, Scene


def columns(scene: Scene) -> dict[str, int]:
    """Name -> how many numbers of it a row has, in order; what no contact of the scene has is left
    out. `held.Chosen`, `Second` and `Turns` say what they are.
    """
    wide = {"body": 1, "center": 3, "radius": 1}
    if scene.pairs:
        wide |= {"half": 3, "other": 1, "other_center": 3, "other_half": 3, "other_radius": 1}
    if any(pair.boxes for pair in scene.pairs):
        wide |= {"boxes": 1, "row": 1, "turn": 9, "other_turn": 9}
    if scene.spans:
        wide |= {"along": 3}
    if arcs(scene.spans):
        wide |= {"out": 3}
    if faces(scene.spans):
        wide |= {"across": 3}
    if scene.outlines:
        wide |= {"outline": len(scene.outlines[0])}
    return wide


def rows(scene: Scene) -> list[tuple[float, ...]]:
    """Of all contacts in the scene's order; zero where one has nothing of the kind, and EMPTY for
    the other body of what touches the ground.
    """
    # what each has
    touching = [scene.candidates[i] for i in scene.order[: len(scene.candidates)]]
    found: list[dict[str, Any]] = [
        {"body": c.body, "center": c.position, "radius": c.radius} for c in touching
    ]
    for s in scene.spans:
        own = {"body": s.body, "center": s.middle, "radius": s.radius}
        found.append(own | {"along": s.half, "out": s.out, "across": s.across})
    found += [_of_pair(pair) for pair in scene.pairs]
    if scene.outlines:
        for row, outline in zip(found, scene.outlines, strict=True):
            row["outline"] = outline
    # side by side
    wide = columns(scene)
    none = {name: np.zeros(size) for name, size in wide.items()} | {"other": EMPTY}
    return [
        tuple(float(x) for name in wide for x in np.ravel(row.get(name, none[name])))
        for row in found
    ]


def _of_pair(pair: Pair) -> dict[str, Any]:
    first, second = pair.first, pair.second
    turn, other_turn = (
        solid.rotation if isinstance(solid, Cuboid) else np.eye(3) for solid in (first, second)
    )
    return {
        "body": first.body,
        "center": first.middle,
        "radius": first.radius,
        "half": first.half,
        "other": second.body,
        "other_center": second.middle,
        "other_half": second.half,
        "other_radius": second.radius,
        "boxes": pair.boxes,
        "row": pair.row,
        "turn": turn,
        "other_turn": other_turn,
    }


def cut(row: SX, wide: Mapping[str, int]) -> dict[str, SX]:
    """A row's numbers (n,) by the names of its columns."""
    ends = np.cumsum([0, *wide.values()]).tolist()
    return {name: row[a:b] for name, a, b in zip(wide, ends, ends[1:], strict=False)}
