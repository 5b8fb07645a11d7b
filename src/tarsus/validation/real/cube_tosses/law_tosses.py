"""Simulation of tosses under a law: every toss with every candidate is one world of a batch."""

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
from tarsus.parameters import declared_fields, name_of, names_with_role
from tarsus.simulation import resolve
from tarsus.validation.real.cube_tosses.candidates import SCENE, ranges
from tarsus.validation.real.cube_tosses.data import FRAME, GIVEN_MU, G, Tosses, cube
from tarsus.validation.real.cube_tosses.errors import TossErrors, toss_errors

Array = NDArray[np.float64]
HARD, SOFT = 4, 27  # steps per frame: 1.7 ms, and 0.25 ms for springs and forces at an instant
FASTEST_SOLVER = "exact"
MAX_WORLDS = 1 << 13  # per batch


class Tosser(ABC):
    """Simulator of tosses: a law, or MuJoCo."""

    name: str
    """Name in tables."""
    search_ranges: Mapping[str, SearchRange]
    """Search range of each parameter that is identified."""

    @abstractmethod
    def given_parameters(self) -> dict[str, float]:
        """Return the parameters before identification: friction of the data, and defaults."""

    @abstractmethod
    def paths(self, tosses: Tosses, values: Mapping[str, Array]) -> Array:
        """Simulate each toss from its first frame.

        Parameters
        ----------
        tosses
            Recorded tosses.
        values
            Parameters of the law and of `SCENE`, each of shape (candidates,).

        Returns
        -------
        Array
            Coordinates, shape (candidates, tosses, frames, 7).
        """

    def errors(self, tosses: Tosses, values: Mapping[str, Array]) -> TossErrors:
        """Compute the errors of candidates, in chunks that limit memory."""
        count = len(next(iter(values.values())))
        chunk_size = max(1, MAX_WORLDS // len(tosses))
        chunks = []
        for first in range(0, count, chunk_size):
            chunk = {name: value[first : first + chunk_size] for name, value in values.items()}
            chunks.append(toss_errors(tosses, self.paths(tosses, chunk)))
        return TossErrors(
            *(np.concatenate([getattr(c, n) for c in chunks]) for n in vars(chunks[0]))
        )


class LawTosses(Tosser):
    """Simulator of tosses under a contact law of Tarsus.

    Parameters
    ----------
    law
        Contact law, its name, or the path of a Python file with a law. If it offers several
        solvers, `exact` is used, the fastest for a cube.
    rounding
        Radius of the cube's corners, m.
    threads
        Number of threads.
    """

    def __init__(self, law: str | Law, rounding: float = 0.0, threads: int = 1) -> None:
        resolved = resolve.resolve_law(law)
        self.name = law if isinstance(law, str) else name_of(resolved)
        solvers = declared_fields(type(resolved)).get("solver")
        if solvers is not None and FASTEST_SOLVER in solvers.choices:
            resolved = replace(resolved, **{"solver": FASTEST_SOLVER})
        self.search_ranges = ranges(self.name, resolved)
        # parameters that default to None, such as mu_K, equal mu unless they are tried
        missing = [n for n in self.search_ranges if getattr(resolved, n) is None]
        self._law = replace(resolved, **{name: GIVEN_MU for name in missing})
        springs = names_with_role(type(resolved), "stiffness")
        self._steps = SOFT if resolved.at_instants or springs else HARD
        self._engine = TarsusEngine(self.name, "midpoint", self._law, threads)
        self._body, self._equal_to_mu = cube(rounding), missing

    def given_parameters(self) -> dict[str, float]:
        known = declared_fields(type(self._law))
        return {
            name: GIVEN_MU
            if known[name].role in ("friction", "kinetic_friction")
            else float(np.asarray(getattr(self._law, name)))
            for name in self.search_ranges
        }

    def paths(self, tosses: Tosses, values: Mapping[str, Array]) -> Array:
        # one world for each candidate and toss
        count = len(next(iter(values.values())))
        each = {name: np.repeat(value, len(tosses)) for name, value in values.items()}
        parameters = {name: value for name, value in each.items() if name not in SCENE}
        for name in self._equal_to_mu:  # Coulomb friction, unless the coefficient is tried
            if name not in each and "mu" in each:
                parameters[name] = each["mu"]
        start = _build_initial_state(self._body, tosses, each, parameters, count)
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


def _build_initial_state(
    body: Mechanism,
    tosses: Tosses,
    each: Mapping[str, Array],
    parameters: Mapping[str, Array],
    count: int,
) -> Start:
    """Build the initial state of every world, relative to the height of the board."""
    q, u = np.tile(tosses.q[:, 0], (count, 1)), np.tile(tosses.u[:, 0], (count, 1))
    zero = np.zeros(len(q))
    q[:, 2] -= each.get("height", zero)
    u[:, 2] -= G * each.get("back", zero)
    rise = each.get("tilt_x", zero), each.get("tilt_y", zero)
    slope, heading = np.arctan(np.hypot(*rise)), np.arctan2(rise[1], rise[0])
    return Start(body, q, u, slope, heading, parameters)
