"""Notices of where a simulation starts, made anew where it is put elsewhere."""

from __future__ import annotations

from typing import Any

from tarsus.errors import Notice
from tarsus.program.run.backend import Array, Backend
from tarsus.simulation import notices
from tarsus.simulation.inputs import fetched
from tarsus.simulation.step_program import Plan


class ToldAgain:
    """A simulation as what is told of it: of choices once, of coordinates that were written as the
    next run begins.
    """

    plan: Plan
    dt: float
    notices: list[Notice]
    _worlds: Backend
    _initial: dict[str, Array]
    _of_start: list[Notice]  # what is told of placing it at the start
    _of_state: list[Notice]  # what `notices` say of a state
    _moved: bool = False  # whether the state was written since the notices spoke of it

    def _tell_of_start(self, q: Array, placing: list[Notice]) -> None:
        """Notices of the coordinates that it starts with, and of how it came there."""
        self._of_start = [*placing, *notices.of_state(self.plan, q, self.dt)]
        self._of_state = self._of_start
        self.notices += self._of_start

    def _tell_again(self) -> None:
        """As a run begins: notices of where it starts in place of those of another start."""
        if not self._moved:
            return
        q = fetched(self._worlds, self._worlds.get("q"))
        self.notices[:] = [notice for notice in self.notices if notice not in self._of_state]
        self._of_state = self._of_start
        if not _alike(q, self._initial["q"]):
            self._of_state = notices.of_state(self.plan, q, self.dt, "this run")
        self.notices += self._of_state
        self._moved = False


def _alike(q: Array, start: Any) -> bool:
    """Whether all worlds are where they started."""
    return bool((q == start).all())
