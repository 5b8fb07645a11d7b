"""What a slot holds, looked up by its number: a candidate, or a contact of a pair of solids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.spans import faces
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import EMPTY, Scene
from tarsus.stepping.lowest import Lowest
from tarsus.stepping.slot_table import columns, cut, rows
from tarsus.stepping.spots import Spot, Spots


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a slot holds: a candidate's number among the scene's usual and rare ones, EMPTY for
    none; its body's number, center (3,) there in m, and radius, m: those of any candidate if empty.

    outline (22,): where the scene has any (`Outline.numbers`)
    half (3,), against: of a scene with pairs, what makes a capsule of it, and the second of a pair,
        of which the body's number is below zero where the slot holds a candidate; half edges of a
        box
    boxes: of a scene with boxes that meet others
    spot: of a scene with spots; there is EMPTY where the slot holds none
    along (3,), place: of a scene with spans, half of one, m, zero of others, and where on it
        the ground is nearest (`stepping.between`)
    out (3,): of a scene with arcs, `Span.out`
    across (3,), aside: of a scene with faces, `Span.across`, and where on it the ground is nearest
    """

    number: SX
    body: SX
    center: SX
    radius: SX
    outline: SX | None = None
    half: SX | None = None
    against: Second | None = None
    boxes: Turns | None = None
    along: SX | None = None
    place: SX | None = None
    out: SX | None = None
    across: SX | None = None
    aside: SX | None = None
    spot: Spot | None = None


@dataclass(frozen=True, eq=False)
class Low:
    """Gaps of the rare candidates, m, and the least of all that is rare; of a scene with such, the
    lowest pairs, the lowest spans and the spots of ellipsoids.
    """

    candidates: list[SX]
    least: SX
    pairs: Lowest | None = None
    spans: Lowest | None = None
    spots: Spots = field(default_factory=dict)

    @property
    def others(self) -> list[Lowest]:
        """What was found beside the candidates."""
        return [found for found in (self.pairs, self.spans) if found is not None]


@dataclass(frozen=True, eq=False)
class Second:
    """The second capsule of a pair: its body's number, middle and half (3,) there, radius, m."""

    body: SX
    center: SX
    half: SX
    radius: SX


@dataclass(frozen=True, eq=False)
class Turns:
    """How many of a pair's solids are boxes, which of its contacts it is, and the rotations (3, 3)
    of both solids in their bodies.
    """

    count: SX
    row: SX
    first: SX
    second: SX


def looked_up(scene: Scene, numbers: list[SX], low: Low, j: SX, builder: Builder) -> Chosen:
    """What slot j holds; an empty one stands in for the candidate of its own place."""
    # its numbers in the table
    table = np.array(rows(scene))
    number, wide = numbers[0], table.shape[1]
    for k, held in enumerate(numbers[1:], 1):
        number = ca.if_else(j == k, held, number)
    place = builder.keep("place", ca.if_else(number >= 0, number, j))
    index = ca.vertcat(*(wide * place + k for k in range(wide)))
    found = cut(builder.lookup("candidates", table, index), columns(scene))
    # what it is
    chosen = Chosen(
        number,
        found["body"],
        found["center"],
        found["radius"],
        outline=found.get("outline"),
        half=found.get("half"),
        along=found.get("along"),
        out=found.get("out"),
        across=found.get("across"),
    )
    if low.spots:
        chosen = replace(chosen, spot=_spot(scene, number, low.spots))
    if low.spans is not None:
        where = ca.if_else(is_span(scene, number), low.spans.place(number), 0)
        aside = low.spans.aside(number) if faces(scene.spans) else None
        chosen = replace(chosen, place=where, aside=aside)
    if scene.pairs:
        second = (found[f"other{what}"] for what in ("", "_center", "_half", "_radius"))
        chosen = replace(chosen, against=Second(*second))
    if "boxes" in found:
        turned = (ca.reshape(found[name], 3, 3).T for name in ("turn", "other_turn"))
        chosen = replace(chosen, boxes=Turns(found["boxes"], found["row"], *turned))
    return chosen


def _spot(scene: Scene, number: SX, spots: Spots) -> Spot:
    """That of the contact with that number in the scene's order."""
    arm, there, away = SX.zeros(3), SX(EMPTY), SX.inf()
    for k, i in enumerate(scene.order[: len(scene.candidates)]):
        own, here = spots.get(scene.candidates[i].name), number == k
        if own is not None:
            arm, there = ca.if_else(here, own.arm, arm), ca.if_else(here, own.there, there)
            away = ca.if_else(here, own.away, away)
    return Spot(arm, there, away)


def is_span(scene: Scene, number: SX) -> SX:
    """1 for the number of a span, in the scene's order."""
    first = len(scene.candidates)
    return ca.logic_and(number >= first, number < first + len(scene.spans))
