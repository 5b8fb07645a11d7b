"""Many more worlds of a live simulation, drawn as instances beside the first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name
from tarsus.morphology.fall import MIN_UPRIGHT, upright
from tarsus.parameters import names_with_role
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.page import Page
from tarsus.viewer.placing import APART, Placing, square
from tarsus.viewer.shapes import drawn_shapes

Array = NDArray[Any]
MOST = 20_000  # worlds on a page
FRICTION = "friction"


class Crowd:
    """Worlds 1, 2, ... of a live simulation, whose world 0 is the one with forces and plots.

    They start and are driven as it is. What `vary` names goes from its first value to its last over
    the square in which they stand, row by row; a change of it on the page is for world 0 alone.
    """

    def __init__(
        self,
        page: Page,
        simulation: Simulation,
        size: float,
        vary: Mapping[str, tuple[float, float]],
    ) -> None:
        self.simulation, self._vary = simulation, dict(vary)
        self._actor = page.actor(
            "others", drawn_shapes(simulation.robot), simulation.worlds, 1.0, shadows=False
        )
        self._placing = Placing(simulation.robot, simulation.worlds)
        self._unit = square(simulation.worlds + 1)[1:]
        self._apart = APART * size
        self._step = simulation.dt
        self._differ()

    @property
    def actor(self) -> Any:
        """What a switch hides."""
        return self._actor

    def _differ(self) -> None:
        """Give every world its own value of what is varied."""
        count = self.simulation.worlds
        values: Any = {n: np.linspace(*ends, count + 1)[1:] for n, ends in self._vary.items()}
        if values:
            self.simulation.set(**values)

    def take(self, simulation: Simulation) -> None:
        """Go on with another simulation, from the state that is."""
        q, u = self.simulation.uncut_state
        simulation.set(q=q, u=u)
        self.simulation = simulation
        self._differ()

    def set(self, **values: Any) -> None:
        """What the page sets, for all but what differs between them."""
        if kept := {name: value for name, value in values.items() if name not in self._vary}:
            self.simulation.set(**kept)

    def advance(self, steps: int) -> None:
        """Simulate steps."""
        self.simulation.advance(steps * self.simulation.dt)

    def show(self) -> None:
        """Move what is drawn to where they are."""
        whole, _ = self.simulation.uncut_state
        whole = np.where(np.isfinite(whole), whole, 0.0)
        places, turns = self._placing.at(whole)
        self._actor.place(places + (self._apart * self._unit)[:, None], turns)

    def fallen(self) -> NDArray[np.bool_]:
        """Which lie, or diverged (worlds,)."""
        whole, _ = self.simulation.uncut_state
        lean = upright(self.simulation.robot, whole)
        return ~(lean >= MIN_UPRIGHT) | ~np.isfinite(whole).all(axis=1)

    def raise_fallen(self) -> None:
        """Those that lie start again."""
        lie = self.fallen()
        if lie.any():
            self.simulation.reset(where=lie)


def variations(texts: tuple[str, ...], law: Any) -> dict[str, tuple[float, float]]:
    """What `--vary NAME=FIRST:LAST` asks for: parameters of a law, `friction` by whatever name.

    TarsusError for a name that the law has not, or what is no two numbers.
    """
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, ends = text.partition("=")
        if name == FRICTION and names_with_role(type(law), FRICTION):
            name = names_with_role(type(law), FRICTION)[0]
        if name not in law.parameters():
            known = [FRICTION, *law.parameters()]
            raise unknown_name("parameter of the law", name, known).within("--vary")
        try:
            first, last = (float(end) for end in ends.split(":"))
        except ValueError:
            raise InvalidValue(f"--vary must be NAME=FIRST:LAST, not {text!r}.", "--vary") from None
        found[name] = first, last
    return found
