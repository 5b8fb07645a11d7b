"""What a slot holds, looked up by its number: a candidate, or a contact of a pair of solids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.model.solids import Cuboid, Pair
from tarsus.model.spans import arcs, faces
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import EMPTY, Scene
from tarsus.stepping.lowest import Lowest
from tarsus.stepping.spots import Spot, Spots

TURNS = 20  # numbers of `Turns`


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
    rows = described(scene)
    number, wide = numbers[0], len(rows[0])
    for k, held in enumerate(numbers[1:], 1):
        number = ca.if_else(j == k, held, number)
    place = builder.keep("place", ca.if_else(number >= 0, number, j))
    index = ca.vertcat(*(wide * place + k for k in range(wide)))
    found = entries(builder.lookup("candidates", np.array(rows), index))
    chosen = Chosen(number, found[0], ca.vertcat(*found[1:4]), found[4])
    # what it may be
    if low.spots:
        chosen = replace(chosen, spot=_spot(scene, number, low.spots))
    if scene.outlines:
        size = len(scene.outlines[0])
        chosen, found = replace(chosen, outline=ca.vertcat(*found[-size:])), found[:-size]
    if low.spans is not None:
        where = ca.if_else(is_span(scene, number), low.spans.place(number), 0)
        if faces(scene.spans):
            aside = low.spans.aside(number)
            chosen = replace(chosen, across=ca.vertcat(*found[-3:]), aside=aside)
            found = found[:-3]
        if arcs(scene.spans):
            chosen, found = replace(chosen, out=ca.vertcat(*found[-3:])), found[:-3]
        chosen = replace(chosen, along=ca.vertcat(*found[-3:]), place=where)
    if not scene.pairs:
        return chosen
    ends = [0, 3, 4, 7, 10, 11]
    half, body, center, along, radius = ca.vertsplit(ca.vertcat(*found[5:16]), ends)
    turns = None
    if any(pair.boxes for pair in scene.pairs):
        first, second = (ca.reshape(ca.vertcat(*found[k : k + 9]), 3, 3).T for k in (18, 27))
        turns = Turns(found[16], found[17], first, second)
    return replace(chosen, half=half, against=Second(body, center, along, radius), boxes=turns)


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


def described(scene: Scene) -> list[tuple[float, ...]]:
    """The numbers of `Chosen` of all contacts, in the scene's order."""
    touching = [scene.candidates[i] for i in scene.order[: len(scene.candidates)]]
    rows: list[tuple[float, ...]] = [(c.body, *c.position, c.radius) for c in touching]
    rows += [(s.body, *s.middle, s.radius) for s in scene.spans]
    if scene.pairs:
        turned = any(pair.boxes for pair in scene.pairs)
        ground = (*(0.0,) * 3, EMPTY, *(0.0,) * 6, 0.0, *(0.0,) * (TURNS if turned else 0))
        rows = [(*row, *ground) for row in rows]
        for pair in scene.pairs:
            c, d = pair.first, pair.second
            second = (d.body, *d.middle, *d.half, d.radius)
            own = (c.body, *c.middle, c.radius, *c.half, *second)
            rows.append((*own, *_turns(pair)) if turned else own)
    if scene.spans:
        bent, wide = arcs(scene.spans), faces(scene.spans)
        none = (0.0,) * (3 + 3 * bent + 3 * wide)
        halves = [
            (*s.half, *(s.out if bent else ()), *(s.across if wide else ())) for s in scene.spans
        ]
        along = [none] * len(touching) + halves + [none] * len(scene.pairs)
        rows = [(*row, *own) for row, own in zip(rows, along, strict=True)]
    if not scene.outlines:
        return rows
    return [(*row, *own) for row, own in zip(rows, scene.outlines, strict=True)]


def _turns(pair: Pair) -> tuple[float, ...]:
    """The numbers of `Turns`, TURNS of them."""
    rotations = [
        solid.rotation if isinstance(solid, Cuboid) else np.eye(3)
        for solid in (pair.first, pair.second)
    ]
    return (pair.boxes, pair.row, *rotations[0].ravel(), *rotations[1].ravel())
