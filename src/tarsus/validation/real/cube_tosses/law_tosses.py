"""A law on the tosses: every toss under every candidate is one world of one batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.engines.base import Start
from tarsus.engines.tarsus import TarsusEngine
from tarsus.identification.ranges import SearchRange
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import declared, name_of, names_with_role
from tarsus.simulation import resolve
from tarsus.validation.real.cube_tosses.candidates import SCENE, ranges
from tarsus.validation.real.cube_tosses.data import FRAME, GIVEN_MU, G, Tosses, cube
from tarsus.validation.real.cube_tosses.errors import TossErrors, errors

Array = NDArray[np.float64]
HARD, SOFT = 4, 27  # steps a frame: 1.7 ms; and 0.25 ms, for springs and forces at an instant
QUICKEST = "exact"
MOST = 1 << 13  # worlds at once


class Tosser(ABC):
    """What moves the cube: a law, or MuJoCo.

    name: as lists call it
    tried: its parameters that are identified
    """

    name: str
    tried: Mapping[str, SearchRange]

    @abstractmethod
    def given(self) -> dict[str, float]:
        """Its parameters as given: friction from the data, its own defaults otherwise."""

    @abstractmethod
    def paths(self, tosses: Tosses, values: Mapping[str, Array]) -> Array:
        """Coordinates (candidates, tosses, frames, 7) from each toss's first frame.

        values: parameters and numbers of `SCENE`, each (candidates,)
        """

    def errors(self, tosses: Tosses, values: Mapping[str, Array]) -> TossErrors:
        """Errors of candidates, a few at a time so that memory stays small."""
        count = len(next(iter(values.values())))
        at_once = max(1, MOST // len(tosses))
        parts = []
        for first in range(0, count, at_once):
            some = {name: value[first : first + at_once] for name, value in values.items()}
            parts.append(errors(tosses, self.paths(tosses, some)))
        return TossErrors(*(np.concatenate([getattr(p, n) for p in parts]) for n in vars(parts[0])))


class LawTosses(Tosser):
    """A law by name, the path to a file with one's own, or a law; of several solvers `exact`, here
    the quickest.

    rounding: radius of the cube's corners, m
    """

    def __init__(self, law: str | Law, rounding: float = 0.0, threads: int = 1) -> None:
        own = resolve.law(law)
        self.name = law if isinstance(law, str) else name_of(own)
        solvers = declared(type(own)).get("solver")
        if solvers is not None and QUICKEST in solvers.choices:
            own = replace(own, **{"solver": QUICKEST})
        self.tried = ranges(self.name, own)
        # what is left out by default, mu_K, is the same as mu unless it is tried
        missing = [n for n in self.tried if getattr(own, n) is None]
        self._law = replace(own, **{name: GIVEN_MU for name in missing})
        springs = names_with_role(type(own), "stiffness")
        self._steps = SOFT if own.at_instants or springs else HARD
        self._engine = TarsusEngine(self.name, "midpoint", self._law, threads)
        self._body, self._filled = cube(rounding), missing

    def given(self) -> dict[str, float]:
        known = declared(type(self._law))
        return {
            name: GIVEN_MU
            if known[name].role in ("friction", "kinetic_friction")
            else float(np.asarray(getattr(self._law, name)))
            for name in self.tried
        }

    def paths(self, tosses: Tosses, values: Mapping[str, Array]) -> Array:
        # one world for each candidate and toss
        count = len(next(iter(values.values())))
        each = {name: np.repeat(value, len(tosses)) for name, value in values.items()}
        parameters = {name: value for name, value in each.items() if name not in SCENE}
        for name in self._filled:  # Coulomb friction, unless the coefficient is given
            if name not in each and "mu" in each:
                parameters[name] = each["mu"]
        start = _started(self._body, tosses, each, parameters, count)
        session = self._engine.begin(start, FRAME / self._steps)
        # frame by frame
        frames = tosses.q.shape[1]
        path = np.empty((start.worlds, frames, 7))
        path[:, 0] = start.q
        for k in range(1, frames):
            session.advance(self._steps)
            path[:, k] = session.state()[0]
        if "height" in each:
            path[..., 2] += each["height"][:, None]
        return path.reshape(count, len(tosses), frames, 7)


def _started(
    body: Mechanism,
    tosses: Tosses,
    each: Mapping[str, Array],
    parameters: Mapping[str, Array],
    count: int,
) -> Start:
    """Return the start of every world, the board's height taken off."""
    q, u = np.tile(tosses.q[:, 0], (count, 1)), np.tile(tosses.u[:, 0], (count, 1))
    zero = np.zeros(len(q))
    q[:, 2] -= each.get("height", zero)
    u[:, 2] -= G * each.get("back", zero)
    rise = each.get("tilt_x", zero), each.get("tilt_y", zero)
    slope, heading = np.arctan(np.hypot(*rise)), np.arctan2(rise[1], rise[0])
    return Start(body, q, u, slope, heading, parameters)
