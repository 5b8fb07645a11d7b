"""Extra worlds of a live simulation, drawn as instances next to the first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.morphology.fall import MIN_UPRIGHT, uprightness
from tarsus.parameters import names_with_role
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.body_poses import GRID_SPACING, BodyPoses, grid_positions
from tarsus.viewer.page import Page
from tarsus.viewer.shapes import drawn_shapes

Array = NDArray[Any]
MAX_WORLDS = 20_000  # worlds on a page
FRICTION = "friction"


class ExtraWorlds:
    """Worlds 1, 2, ... of a live simulation; forces and plots show world 0.

    They have the same initial state, commands and parameters as world 0. The parameters in `vary`
    change linearly from their first to their last value over the grid of robots, row by row. The
    page's controls for these parameters affect world 0 only.

    Parameters
    ----------
    page
        Page to draw on.
    simulation
        Batch of the extra worlds.
    size
        Largest extent of the robot, in m.
    vary
        First and last value of each varied parameter.
    """

    def __init__(
        self,
        page: Page,
        simulation: Simulation,
        size: float,
        vary: Mapping[str, tuple[float, float]],
    ) -> None:
        self.simulation, self._vary = simulation, dict(vary)
        self._actor = page.add_actor(
            "others", drawn_shapes(simulation.robot), simulation.worlds, 1.0, shadows=False
        )
        self._poses = BodyPoses(simulation.robot, simulation.worlds)
        self._offsets = GRID_SPACING * size * grid_positions(simulation.worlds + 1)[1:]
        self._set_varied()

    @property
    def actor(self) -> Any:
        """Robots on the page."""
        return self._actor

    def _set_varied(self) -> None:
        """Set the varied parameters of every world."""
        count = self.simulation.worlds
        values: Any = {n: np.linspace(*span, count + 1)[1:] for n, span in self._vary.items()}
        if values:
            self.simulation.set(**values)

    def continue_with(self, simulation: Simulation) -> None:
        """Continue with another simulation from the current state."""
        q, u = self.simulation.uncut_state
        simulation.set(q=q, u=u)
        self.simulation = simulation
        self._set_varied()

    def set(self, **values: Any) -> None:
        """Set commands and parameters, except those that vary between the worlds."""
        if shared := {name: value for name, value in values.items() if name not in self._vary}:
            self.simulation.set(**shared)

    def advance(self, steps: int) -> None:
        """Simulate a number of steps."""
        self.simulation.advance(steps * self.simulation.dt)

    def show(self) -> None:
        """Move the robots on the page to their current poses."""
        q, _ = self.simulation.uncut_state
        q = np.where(np.isfinite(q), q, 0.0)
        positions, quaternions = self._poses.at(q)
        self._actor.place(positions + self._offsets[:, None], quaternions)

    def fallen(self) -> NDArray[np.bool_]:
        """Find the worlds that have fallen or diverged, shape (worlds,)."""
        q, _ = self.simulation.uncut_state
        tilt = uprightness(self.simulation.robot, q)
        return ~(tilt >= MIN_UPRIGHT) | ~np.isfinite(q).all(axis=1)

    def reset_fallen(self) -> None:
        """Reset the worlds that have fallen or diverged."""
        fallen = self.fallen()
        if fallen.any():
            self.simulation.reset(where=fallen)


def variations(texts: tuple[str, ...], law: Any) -> dict[str, tuple[float, float]]:
    """Parse the first and last value of each parameter in `--vary NAME=FIRST:LAST`.

    The name `friction` stands for the law's own name of its friction coefficient.

    Raises
    ------
    UnknownName
        If the law has no such parameter.
    InvalidValue
        If a text is not of the form NAME=FIRST:LAST.
    """
    varied: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, span = text.partition("=")
        if name == FRICTION and names_with_role(type(law), FRICTION):
            name = names_with_role(type(law), FRICTION)[0]
        if name not in law.parameters():
            known = [FRICTION, *law.parameters()]
            raise unknown_name_error("parameter of the law", name, known).with_context("--vary")
        try:
            first, last = (float(end) for end in span.split(":"))
        except ValueError:
            raise InvalidValue(f"--vary must be NAME=FIRST:LAST, not {text!r}.", "--vary") from None
        varied[name] = first, last
    return varied
