"""Largest stable dt of a contact force evaluated at the start or the midpoint of a step.

For a mass m on a spring c and damper d, with the force evaluated at the midpoint, dt is stable
while c dt^2 + 2 d dt < 4 m. Without a spring that is dt < 2 m / d, the limit of explicit Euler on a
damper; without a damper it is dt < 2 / omega.
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
BISECTIONS = 60
MIN_DEPTH, MAX_DEPTH = 1e-9, 1.0  # m: range of the search for the depth under a load
APPROACH_SPEED = 1e-9  # m/s: makes dampers count that act only in compression


def spring_limit(stiffness: ArrayLike, damping: ArrayLike, mass: ArrayLike) -> Array:
    """Compute the largest stable dt, s, of a spring and damper on a mass; infinite without either.

    Parameters
    ----------
    stiffness, damping : array_like
        N/m and N s/m.
    mass : array_like
        kg.
    """
    c, d, m = (np.asarray(value, float) for value in (stiffness, damping, mass))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(c + d > 0, 4 * m / (np.sqrt(d * d + 4 * m * c) + d), np.inf)


def step_limits(
    force: Force,
    parameters: dict[str, Array],
    memory: Array,
    masses: tuple[float, float],
    load: float,
) -> dict[str, float]:
    """Compute the smallest limits, s, of a force law at the depth that carries a load.

    Limits that are not finite, or without a depth that carries the load, are left out.

    Parameters
    ----------
    force : callable
        The method `force` of a `ForceLaw`; its tangent stiffness and damping along normal and
        tangents set the limits.
    parameters : dict
        Parameters of shape () or (worlds,).
    memory : ndarray
        Memory of a contact that has not touched.
    masses : tuple of float
        Mass that the contact feels along the normal, and the least in any direction, kg.
    load : float
        Normal force, N.
    """
    # the force as an expression, with the memory of a contact that has just touched
    gap, velocity, point = SX.sym("gap"), SX.sym("velocity", 3), SX.sym("point", 3)
    symbols = {name: SX.sym(name) for name in parameters}
    p, contact = SimpleNamespace(**symbols), Contact(gap, velocity, point, SX.eye(3))
    _, touched = force(Contact(gap, SX.zeros(3), SX.zeros(3), SX.eye(3)), p, SX(memory))
    f, _ = force(contact, p, touched)
    displacement = ca.vertcat(gap, point[1:])
    # its normal part, stiffness and damping, for all parameters at once
    inputs = [gap, velocity, point, *symbols.values()]
    normal = ca.Function("normal", inputs, [f[0]])
    slopes = ca.Function(
        "slopes",
        inputs,
        [ca.diag(-ca.jacobian(f, displacement)), ca.diag(-ca.jacobian(f, velocity))],
    )
    worlds = max((value.size for value in parameters.values()), default=1)
    values = [DM(np.broadcast_to(value, worlds)).T for value in parameters.values()]

    # evaluate a function at a depth, for a contact that closes at speed `approach`
    def evaluate(function: ca.Function, depth: Array, approach: float) -> list[Array]:
        speed = DM(np.tile([[-approach], [0], [0]], worlds))
        results = function.call([DM(-depth).T, speed, DM.zeros(3, worlds), *values])
        return [np.array(result) for result in results]

    # find the depth that carries the load by bisection
    low, high = np.full(worlds, MIN_DEPTH), np.full(worlds, MAX_DEPTH)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        carries = evaluate(normal, middle, 0.0)[0][0] >= load
        low, high = np.where(carries, low, middle), np.where(carries, middle, high)
    # the largest step of a spring and damper with these masses
    stiffness, damping = evaluate(slopes, high, APPROACH_SPEED)
    felt_masses = np.array([[masses[0]], [masses[1]], [masses[1]]])
    limits = spring_limit(np.maximum(stiffness, 0), np.maximum(damping, 0), felt_masses)
    valid = np.isfinite(stiffness) & np.isfinite(damping) & (high < MAX_DEPTH)
    limits = np.where(valid, limits, np.inf)
    # finite limits, the strictest of all worlds
    by_name = {
        "the ground's spring and damper": limits[0].min(),
        "friction near rest": limits[1:].min(),
    }
    return {name: float(limit) for name, limit in by_name.items() if np.isfinite(limit)}
