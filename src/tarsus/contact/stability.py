"""Largest stable dt of a contact force evaluated at the start or the midpoint of a step.

A mass m on a spring c and damper d, the force taken at the midpoint: dt is stable while c dt^2 + 2
d dt < 4 m. Without a spring that is dt < 2 m / d, the limit of explicit Euler on a damper; without
a damper dt < 2 / omega.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from casadi import DM, SX
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.problem import Contact

Array = NDArray[np.float64]
Force = Callable[[Contact, Any, SX], tuple[SX, SX]]
HALVINGS = 60
SHALLOW, DEEP = 1e-9, 1.0  # m: where the depth under a load is looked for
APPROACH = 1e-9  # m/s: a damper that acts in compression alone counts


def spring_limit(stiffness: ArrayLike, damping: ArrayLike, mass: ArrayLike) -> Array:
    """The largest stable dt, s, of stiffness, N/m, and damping, N s/m, under `mass`, kg; infinite
    without either.
    """
    c, d, m = (np.asarray(value, float) for value in (stiffness, damping, mass))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(c + d > 0, 4 * m / (np.sqrt(d * d + 4 * m * c) + d), np.inf)


def of_force(
    force: Force,
    parameters: dict[str, Array],
    memory: Array,
    masses: tuple[float, float],
    load: float,
) -> dict[str, float]:
    """The smallest limits, s, of a force law at the depth that carries `load`, N, of all worlds.

    force: as a `ForceLaw` has it, by its tangent stiffness and damping, along the normal and across
    parameters: each (), or (worlds,)
    memory: of a contact that has not touched
    masses: kg, that the contact feels along the normal and, less, where it feels least

    What is not finite, or has no depth that carries the load, is left out.
    """
    # the force as an expression, its memory that of a contact that has just touched
    gap, velocity, point = SX.sym("gap"), SX.sym("velocity", 3), SX.sym("point", 3)
    symbols = {name: SX.sym(name) for name in parameters}
    p, contact = SimpleNamespace(**symbols), Contact(gap, velocity, point, SX.eye(3))
    _, touched = force(Contact(gap, SX.zeros(3), SX.zeros(3), SX.eye(3)), p, SX(memory))
    f, _ = force(contact, p, touched)
    place = ca.vertcat(gap, point[1:])
    # its normal part, stiffness and damping, for all parameters at once
    inputs = [gap, velocity, point, *symbols.values()]
    normal = ca.Function("normal", inputs, [f[0]])
    slopes = ca.Function(
        "slopes", inputs, [ca.diag(-ca.jacobian(f, place)), ca.diag(-ca.jacobian(f, velocity))]
    )
    worlds = max((value.size for value in parameters.values()), default=1)
    values = [DM(np.broadcast_to(value, worlds)).T for value in parameters.values()]

    # a function at a depth, for a contact that closes at speed `approach`
    def at(function: ca.Function, depth: Array, approach: float) -> list[Array]:
        speed = DM(np.tile([[-approach], [0], [0]], worlds))
        found = function.call([DM(-depth).T, speed, DM.zeros(3, worlds), *values])
        return [np.array(part) for part in found]

    # the depth that carries the load, by halving the interval
    low, high = np.full(worlds, SHALLOW), np.full(worlds, DEEP)
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        carries = at(normal, middle, 0.0)[0][0] >= load
        low, high = np.where(carries, low, middle), np.where(carries, middle, high)
    # the largest step of a spring and damper with the masses felt
    stiffness, damping = at(slopes, high, APPROACH)
    felt = np.array([[masses[0]], [masses[1]], [masses[1]]])
    limits = spring_limit(np.maximum(stiffness, 0), np.maximum(damping, 0), felt)
    limits = np.where(np.isfinite(stiffness) & np.isfinite(damping) & (high < DEEP), limits, np.inf)
    # what limits at all, the strictest of all worlds
    found = {
        "the ground's spring and damper": limits[0].min(),
        "friction near rest": limits[1:].min(),
    }
    return {name: float(limit) for name, limit in found.items() if np.isfinite(limit)}
