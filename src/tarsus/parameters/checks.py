"""Checks of single numbers that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import InvalidValue


def is_integer(value: Any) -> bool:
    """Return whether it is a whole number; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether it is a number; True and False are none."""
    return isinstance(value, float | int | np.number) and not isinstance(value, bool)


def check_positive(name: str, value: Any, unit: str = "", subject: str | None = None) -> float:
    """Return the value as a number; InvalidValue unless it is positive and finite.

    subject: the parameter, if `name` is not its name
    """
    if not is_number(value) or not (value > 0 and np.isfinite(value)):
        number = f"a positive number of {unit}" if unit else "a positive number"
        raise InvalidValue(
            f"{name} must be {number}, not {value!r}.", name if subject is None else subject
        )
    return float(value)
