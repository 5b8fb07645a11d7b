"""Check single numbers that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import InvalidValue


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; booleans are not."""
    return isinstance(value, float | int | np.number) and not isinstance(value, bool)


def check_positive(name: str, value: Any, unit: str = "", subject: str | None = None) -> float:
    """Convert a value to a float; raise InvalidValue unless it is positive and finite.

    Parameters
    ----------
    name
        Name of the value in messages.
    value
        Value given by the user.
    unit
        Unit for the message.
    subject
        Name of the parameter, if it differs from `name`.
    """
    if not is_number(value) or not (value > 0 and np.isfinite(value)):
        number = f"a positive number of {unit}" if unit else "a positive number"
        raise InvalidValue(
            f"{name} must be {number}, not {value!r}.", name if subject is None else subject
        )
    return float(value)
