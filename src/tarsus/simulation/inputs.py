"""Check arrays that a user gives to a simulation: masks, torques, numbers of a given shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.program.run.backend import Backend


def world_mask(where: ArrayLike | None, worlds: Backend) -> Any:
    """Convert a mask (worlds,) to the device of the worlds; None: all.

    Raises
    ------
    InvalidValue
        If the mask has a wrong shape, or holds indices.
    """
    if where is None:
        return None
    given = worlds.arrays.asarray(where)
    if given.shape != (worlds.count,):
        shown = f"an array of shape {given.shape}" if given.ndim else repr(where)
        hint = "" if worlds.count == 1 else f"; world 1 alone is np.arange({worlds.count}) == 1"
        raise InvalidValue(
            f"where must be a mask of shape ({worlds.count},), one truth value per world, not"
            f" {shown}{hint}.",
            "where",
        )
    if given.dtype != bool:
        raise InvalidValue(
            f"where must contain truth values, one per world, not numbers such as"
            f" {given.ravel()[0]}.",
            "where",
        )
    return given


def write_action(torques: Any, name: str, in_place: NDArray[Any] | None, worlds: Backend) -> None:
    """Write torques (actuators,) or (worlds, actuators) for the next step.

    Parameters
    ----------
    torques
        The torques, or control signals.
    name
        "action", or "controller" if a controller returned them.
    in_place
        The register itself, if there is one world.
    worlds
        The worlds.

    Raises
    ------
    InvalidValue
        If the shape is wrong, or a number is not finite.
    """
    # fast path for the usual case: NaN and infinity show in the square
    if isinstance(torques, np.ndarray) and in_place is not None:
        like = torques.shape == in_place.shape and torques.dtype == in_place.dtype
        if like and isfinite(torques.dot(torques)):
            in_place[:] = torques
            return
    worlds.set("action", check_action(torques, name, worlds))


def check_action(torques: Any, name: str, worlds: Backend) -> Any:
    """Check torques; raise InvalidValue if their shape is wrong or a number is not finite."""
    size = worlds.program.sizes["action"]
    what = "the return value of the controller" if name == "controller" else name
    return check_numbers(what, torques, [(size,), (worlds.count, size)], worlds, name)


def check_numbers(
    what: str,
    numbers: Any,
    shapes: Sequence[tuple[int, ...]],
    worlds: Backend,
    subject: str | None = None,
) -> Any:
    """Check numbers to be finite and of an allowed shape; move them to the worlds' device.

    Parameters
    ----------
    what
        Name of the value in messages.
    numbers
        Value given by the user.
    shapes
        Allowed shapes.
    worlds
        The worlds.
    subject
        Name of the option or parameter, if it differs from `what`.

    Raises
    ------
    InvalidValue
        If a number is not finite, or the shape is not allowed.
    """
    subject = what if subject is None else subject
    try:
        value = worlds.arrays.asarray(numbers, float)
    except (TypeError, ValueError):
        value = None
    if value is None or numbers is None:
        kind = "a number" if () in shapes else "numbers"
        raise InvalidValue(f"{what} must be {kind}, not {numbers!r}.", subject)
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
        raise InvalidValue(f"{what} must be finite; it contains NaN or infinity.", subject)
    return value


def to_numpy(worlds: Backend, value: Any) -> NDArray[np.float64]:
    """Copy an array to this computer's memory."""
    return np.asarray(getattr(worlds.arrays, "asnumpy", np.asarray)(value), float)
