"""The contact candidates of a mechanism over a terrain, numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.model.outline import NO_OUTLINE
from tarsus.model.solids import Pair
from tarsus.model.spans import Span
from tarsus.terrain.base import Terrain

EMPTY = -1  # contact number of a slot that holds no contact


@dataclass(frozen=True, eq=False)
class Geometry:
    """A mechanism, its terrain, and everything that may come into contact.

    Primary candidates, such as feet, are looked at in every step. Secondary ones (candidates,
    spans and pairs) touch only when the robot falls; while none of them does, a step is solved
    without them. Contacts are numbered in this order: primary candidates, secondary candidates,
    spans, pairs.

    Parameters
    ----------
    mechanism : Mechanism
        The robot's bodies and joints.
    terrain : Terrain
        The ground.
    candidates : tuple of Candidate
        Points, balls, rims and ellipsoids that may touch the ground.
    secondary : tuple of int
        Indices of the secondary ones among the candidates.
    slots : int
        Number of contacts that a step can hold once a secondary one touches; 0 without any.
    spans : tuple of Span
        Segments, arcs and faces between candidates, which may touch uneven ground.
    pairs : tuple of Pair
        Contacts between two solids of the mechanism.
    closes : callable
        Maps a gap in m to 1 if a contact that was open in the last step closes there, else to 0.
    """

    mechanism: Mechanism
    terrain: Terrain
    candidates: tuple[Candidate, ...]
    secondary: tuple[int, ...]
    slots: int
    spans: tuple[Span, ...]
    pairs: tuple[Pair, ...]
    closes: Callable[[SX], SX]

    @cached_property
    def primary(self) -> tuple[int, ...]:
        """Indices of the primary candidates."""
        secondary = set(self.secondary)
        return tuple(i for i in range(len(self.candidates)) if i not in secondary)

    @property
    def order(self) -> tuple[int, ...]:
        """Index into `contacts` of each contact number."""
        first = len(self.candidates)
        return (*self.primary, *self.secondary, *range(first, len(self.contacts)))

    @property
    def contacts(self) -> tuple[Candidate | Span | Pair, ...]:
        """All that may touch: candidates, spans, pairs."""
        return (*self.candidates, *self.spans, *self.pairs)

    @property
    def contact_names(self) -> list[str]:
        """Names of the candidates, spans and pairs."""
        return [contact.name for contact in self.contacts]

    @property
    def report_count(self) -> int:
        """Number of contacts whose impulses a step reports: the primary ones, then the slots."""
        return len(self.primary) + self.slots

    @cached_property
    def outlines(self) -> list[NDArray[np.float64]]:
        """`Outline.numbers` by contact number; empty if no candidate is a rim or an ellipsoid."""
        if all(candidate.outline is None for candidate in self.candidates):
            return []
        known = [self.candidates[i].outline for i in self.order[: len(self.candidates)]]
        known += [None] * (len(self.spans) + len(self.pairs))
        return [(outline or NO_OUTLINE).numbers for outline in known]

    @property
    def all_secondary(self) -> Geometry:
        """Copy of this geometry in which every candidate is secondary, without pairs."""
        return replace(self, secondary=tuple(range(len(self.candidates))), pairs=())

    def is_span(self, number: SX) -> SX:
        """Return 1 if the contact of that number is a span, else 0."""
        first = len(self.candidates)
        return ca.logic_and(number >= first, number < first + len(self.spans))
