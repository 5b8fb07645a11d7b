"""The known steppers, by what they can do."""

from __future__ import annotations

from collections.abc import Callable

from tarsus import registry
from tarsus.stepping.base import METHODS, Stepper


def named_where(fits: Callable[[Stepper], bool]) -> str:
    """Names of the known steppers that fit, with commas between them: for a message."""
    known = registry.member_classes(METHODS, "stepper", Stepper)
    return ", ".join(name for name, made in known.items() if fits(made()))
