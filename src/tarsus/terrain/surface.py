"""Ground given by a function of x and y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.parameters import component
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain

HINT = "write it with + - * / ** and functions of casadi, and casadi.if_else instead of if"


@dataclass(frozen=True)
class Surface(Terrain):
    """Ground of height z = height(x, y); its slopes are found by differentiation.

    Parameters
    ----------
    height : callable
        Function of x and y, two CasADi symbols in m, that returns one height in m.

    Raises
    ------
    InvalidValue
        If the function fails on symbols, or does not return one finite number that depends on x and
        y only.

    Examples
    --------
    >>> import casadi
    >>> from tarsus import Simulation, Surface
    >>> waves = Surface(height=lambda x, y: 0.02 * casadi.sin(10 * x))
    >>> simulation = Simulation("mini_cheetah", terrain=waves)
    >>> simulation.terrain.flat
    False
    """

    height: Callable[[SX, SX], Any] | None = component(
        None,
        "function of x and y, CasADi symbols in m, such as lambda x, y: 0.02 * casadi.sin(10 * x)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.height):
            raise InvalidValue(
                "Surface needs a function: Surface(height=lambda x, y: ...).", "height"
            )
        self._trace(SX.sym("x"), SX.sym("y"))

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        xy = SX.sym("xy", 2)
        height = self._trace(xy[0], xy[1])
        below = ca.substitute(ca.vertcat(height, ca.gradient(height, xy)), xy, point[:2])
        return _graph.distance_and_frame(point, below[0], below[1], below[2])

    def _trace(self, x: SX, y: SX) -> SX:
        assert self.height is not None
        # call the user's function on symbols
        try:
            given = self.height(x, y)
        except Exception as error:
            why = str(error).strip().split("\n")[-1]
            raise InvalidValue(
                f"Surface: height(x, y) failed on symbols ({why}): {HINT}.", "height"
            ) from error
        # one number must come back
        try:
            height = SX(given)
        except NotImplementedError:
            raise InvalidValue(
                f"Surface: height(x, y) must return one number, not {given!r}.", "height"
            ) from None
        if height.shape != (1, 1):
            raise InvalidValue(
                "Surface: height(x, y) must return one number, not an array of shape"
                f" {height.shape}.",
                "height",
            )
        # of x and y alone, and finite
        known = {x.element_hash(), y.element_hash()}
        if others := [s.name() for s in ca.symvar(height) if s.element_hash() not in known]:
            raise InvalidValue(
                f"Surface: height(x, y) must depend on x and y only, not on {', '.join(others)}.",
                "height",
            )
        if height.is_constant() and not ca.DM(height).is_regular():
            raise InvalidValue("Surface: height(x, y) must be finite.", "height")
        return height
