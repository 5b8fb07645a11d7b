"""Inputs that a user sets during a simulation: commands, pushes, masks, mass scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown
from tarsus.program.run.backend import Backend

MOST_STEPS = 1e9  # of one call: more than a day's work
LONGEST = 0.1  # s: in less than three such steps a robot of our size falls over its whole height


def steps(seconds: float, dt: float) -> int:
    """The steps of dt that make a time, one at least; TarsusError if there is no end of them."""
    if not np.isfinite(seconds) or seconds <= 0:
        raise TarsusError(f"the duration must be a positive number of seconds, not {seconds}.")
    if seconds / dt > MOST_STEPS:
        raise TarsusError(
            f"a duration of {seconds:g} s takes {seconds / dt:.3g} steps of {dt:g} s; at most"
            f" {MOST_STEPS:g} are run at once."
        )
    return max(round(seconds / dt), 1)


def step(dt: float) -> float:
    """A time step, s; TarsusError for one that is not positive, or that no legged robot bears."""
    if not np.isfinite(dt) or dt <= 0:
        raise TarsusError(f"dt must be a positive number of seconds, not {dt}.")
    if dt > LONGEST:
        meant = f"; did you mean {dt / 1000:g}?" if dt / 1000 <= LONGEST else ""
        raise TarsusError(
            f"dt = {dt:g} s is longer than any step that a legged robot bears, {LONGEST:g} s"
            f"{meant or '.'}"
        )
    return float(dt)


def pushed_bodies(chosen: Robot, names: str | Sequence[str]) -> tuple[str, ...]:
    """The bodies that may be pushed; TarsusError with near names for an unknown one."""
    given = (names,) if isinstance(names, str) else tuple(names)
    return tuple(chosen.bodies[chosen.body_index(name)].name for name in given)


def wrenches(
    bodies: Sequence[str], push: Mapping[str, ArrayLike], held: Backend
) -> NDArray[np.float64]:
    """The register `push` of `held` with forces (3,), or forces and moments (6,), of all worlds or
    each, by body.
    """
    # is there a body to push?
    if not bodies:
        raise TarsusError(
            'no body of this simulation can be pushed: name some with pushes=["base"].'
        )
    # the wrenches held, those named replaced
    values, fetched = held.get("push").astype(float), getattr(held.arrays, "asnumpy", np.asarray)
    for name, given in push.items():
        if name not in bodies:
            raise unknown("pushed body", name, bodies)
        # checked: it fits all worlds or each
        wrench = np.asarray(fetched(given), float)
        if (
            wrench.shape not in [(3,), (6,), (len(values), 3), (len(values), 6)]
            or not np.isfinite(wrench).all()
        ):
            raise TarsusError(
                f"the push on {name!r} must be a finite force (3,), or force and moment (6,), of"
                " all worlds or each."
            )
        # a force alone has no moment
        first = 6 * bodies.index(name)
        values[:, first : first + 6] = 0.0
        values[:, first : first + wrench.shape[-1]] = wrench
    return values


def mask(where: ArrayLike, worlds: Backend) -> Any:
    """A mask (worlds,) where the worlds live; TarsusError for another shape."""
    chosen = worlds.arrays.asarray(where, bool)
    if chosen.shape != (worlds.count,):
        raise TarsusError(
            f"where must be a mask of shape ({worlds.count},), one truth value a world, not"
            f" {chosen.shape}."
        )
    return chosen


def mass_scales(scales: Mapping[str, ArrayLike], worlds: int) -> NDArray[np.float64]:
    """Factors (worlds, bodies) on the masses of the bodies named."""
    columns = [np.broadcast_to(np.asarray(v, float), worlds) for v in scales.values()]
    if not all(np.all(column > 0) for column in columns):
        raise TarsusError("mass_scale must be positive for every body and world.")
    return np.stack(columns, -1)


def commands(controller: object, command: Mapping[str, ArrayLike], worlds: Backend) -> Any:
    """All commands (worlds, commands) of a controller, those named changed."""
    if not isinstance(controller, Controller) or not controller.commands:
        raise TarsusError("this controller takes no commands.")
    names, arrays = list(controller.commands), worlds.arrays
    columns = list(worlds.output("command").astype(float).T)
    for name, value in command.items():
        if name not in names:
            raise unknown("command", name, names)
        given = arrays.asarray(value, float)
        columns[names.index(name)] = arrays.broadcast_to(given, (worlds.count,))
    return arrays.stack(columns, -1)
