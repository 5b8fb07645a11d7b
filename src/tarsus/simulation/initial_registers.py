"""Set the initial registers of the worlds of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Backend
from tarsus.simulation.step_program import Plan, initial_values

B = TypeVar("B", bound=Backend)


def initial_registers(
    plan: Plan, dt: float, changed: Mapping[str, Any] | None = None
) -> dict[str, NDArray[Any]]:
    """Create every register at time zero by name, except `action`.

    Parameters
    ----------
    plan
        Compiled step.
    dt
        Time step, in s.
    changed
        Registers with other values.

    Returns
    -------
    dict
        Values by name, shape (size,) for all worlds, or (worlds, size).
    """
    return initial_values(plan) | {"dt": np.array([dt])} | dict(changed or {})


def write_registers(worlds: B, registers: Mapping[str, Any]) -> B:
    """Write registers and return the worlds."""
    for name, value in registers.items():
        worlds.set(name, value)
    return worlds
