"""Arrays that a user gives a simulation: masks, torques, numbers of a shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.program.run.backend import Backend


def world_mask(where: ArrayLike | None, worlds: Backend) -> Any:
    """Return a mask (worlds,) where the worlds live, None for all; InvalidValue for another shape,
    or for indices.
    """
    if where is None:
        return None
    given = worlds.arrays.asarray(where)
    if given.shape != (worlds.count,):
        found = f"an array of shape {given.shape}" if given.ndim else repr(where)
        hint = "" if worlds.count == 1 else f"; world 1 alone is np.arange({worlds.count}) == 1"
        raise InvalidValue(
            f"where must be a mask of shape ({worlds.count},), one truth value per world, not"
            f" {found}{hint}.",
            "where",
        )
    if given.dtype != bool:
        raise InvalidValue(
            f"where must hold truth values, one per world, not numbers such as {given.ravel()[0]}.",
            "where",
        )
    return given


def write_action(torques: Any, name: str, in_place: NDArray[Any] | None, worlds: Backend) -> None:
    """Write torques (actuators,) of all worlds or (worlds, actuators) of each for the next step.

    name: "action", or "controller" for what a controller returned
    in_place: the register itself, if there is one world
    InvalidValue with this name for another shape or numbers that are not finite.
    """
    # a quick check of the usual case: NaN and infinity show in the square
    if isinstance(torques, np.ndarray) and in_place is not None:
        like = torques.shape == in_place.shape and torques.dtype == in_place.dtype
        if like and isfinite(torques.dot(torques)):
            in_place[:] = torques
            return
    worlds.set("action", check_action(torques, name, worlds))


def check_action(torques: Any, name: str, worlds: Backend) -> Any:
    """Return the torques if they are of the right shape and finite, else raise an InvalidValue."""
    size = worlds.program.sizes["action"]
    what = "the return value of the controller" if name == "controller" else name
    return check_numbers(what, torques, [(size,), (worlds.count, size)], worlds, name)


def check_numbers(
    what: str,
    given: Any,
    shapes: Sequence[tuple[int, ...]],
    worlds: Backend,
    subject: str | None = None,
) -> Any:
    """Return finite numbers in one of the shapes, where the worlds live; else raise InvalidValue.

    what: the value in words
    subject: the option or parameter, if `what` is not its name
    """
    subject = what if subject is None else subject
    try:
        value = worlds.arrays.asarray(given, float)
    except (TypeError, ValueError):
        value = None
    if value is None or given is None:
        kind = "a number" if () in shapes else "numbers"
        raise InvalidValue(f"{what} must be {kind}, not {given!r}.", subject)
    if value.shape not in shapes:
        several = worlds.count > 1
        if () in shapes:
            each = f", or one for each of {worlds.count} worlds" if several else ""
            raise InvalidValue(
                f"{what} must be one number{each}, not an array of shape {value.shape}.", subject
            )
        allowed = [str(shape) for shape in shapes if several or len(shape) == 1]
        raise InvalidValue(
            f"{what} must have shape {' or '.join(allowed)}, not {value.shape}.", subject
        )
    if not bool(worlds.arrays.isfinite(value).all()):
        raise InvalidValue(f"{what} must be finite; it holds NaN or infinity.", subject)
    return value


def to_numpy(worlds: Backend, value: Any) -> NDArray[np.float64]:
    """Return an array in this computer's memory."""
    return np.asarray(getattr(worlds.arrays, "asnumpy", np.asarray)(value), float)
