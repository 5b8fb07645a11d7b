"""Convert measurements of a foot or a ground into the constants of a spring and damper, and back.

The bounce: a mass m meets a spring c and damper d that cannot pull, m x'' = -max(c x + d x', 0),
until the force is zero. With zeta = d / (2 sqrt(c m)) and omega = sqrt(c / m), the force first
vanishes at t = 2 acos(zeta) / (omega sqrt(1 - zeta^2)), and the ratio of the speeds after and
before is

    e = exp(-2 zeta acos(zeta) / sqrt(1 - zeta^2));    for zeta > 1: exp(-2 zeta acosh(zeta) /
    sqrt(zeta^2 - 1)),

which is 1 at zeta = 0, exp(-2) = 0.135 at zeta = 1, and tends to 1 / (4 zeta^2). It is exact
without gravity. A mass that lands with speed v under gravity g bounces less: e is then too large,
by less than 5 zeta g / (omega v) (measured for zeta <= 2, g / (omega v) <= 0.1). A foot that lands
more slowly may not leave the ground at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import IncompatibleOptions, InvalidValue

Array = NDArray[np.float64]
MAX_DAMPING_RATIO = 1e6  # upper end of the search: e = 2.5e-13
BISECTIONS = 80  # of an interval of logarithms, down to round-off


def material(
    depth: ArrayLike,
    load: ArrayLike,
    mass: ArrayLike,
    *,
    damping_ratio: ArrayLike | None = None,
    restitution: ArrayLike | None = None,
) -> dict[str, float | Array]:
    """Compute stiffness and damping of the law `compliant` for measured properties of a contact.

    Parameters
    ----------
    depth : array_like
        Penetration of a foot at rest under `load`, m.
    load : array_like
        Normal force, N.
    mass : array_like
        Mass felt at the contact, kg.
    damping_ratio : array_like, optional
        Damping ratio of the contact with this mass; exact.
    restitution : array_like, optional
        Coefficient of restitution of a bounce, above 0 and at most 1; gravity makes the real bounce
        lower, see the module's docstring. Pass either this or `damping_ratio`.

    Returns
    -------
    dict
        Parameters `c_N` in N/m and `d_N` in N s/m of `Compliant`.

    Raises
    ------
    IncompatibleOptions
        If both or neither of `damping_ratio` and `restitution` are given.
    InvalidValue
        If no spring and damper has these properties.

    Examples
    --------
    A foot with 0.3 kg sinks 1 mm under 22 N and rebounds with 20 % of its speed:

    >>> from tarsus import Compliant, material
    >>> constants = material(1e-3, 22.0, 0.3, restitution=0.2)
    >>> round(float(constants["c_N"]))
    22000
    >>> law = Compliant(**constants)
    """
    if (damping_ratio is None) == (restitution is None):
        raise IncompatibleOptions(
            "pass exactly one of damping_ratio and restitution.", "damping_ratio"
        )
    # the spring from the depth, the damper from one of the two ratios
    c_N = stiffness(depth, load)
    zeta = (
        damping_ratio_of(restitution)
        if restitution is not None
        else np.asarray(damping_ratio, float)
    )
    return {"c_N": c_N, "d_N": damping(c_N, mass, zeta)}


def stiffness(depth: ArrayLike, load: ArrayLike) -> Array:
    """Compute c_N, N/m, of a spring that yields by `depth`, m, under `load`, N; exact."""
    return _positive("load", load) / _positive("depth", depth)


def penetration(c_N: ArrayLike, load: ArrayLike) -> Array:
    """Compute the depth at rest, m, under `load`, N; exact."""
    return _positive("load", load) / _positive("c_N", c_N)


def damping(c_N: ArrayLike, mass: ArrayLike, damping_ratio: ArrayLike) -> Array:
    """Compute d_N = 2 zeta sqrt(c_N m), N s/m, for a contact with the effective mass `mass`, kg."""
    zeta = np.asarray(damping_ratio, float)
    if not np.all(zeta >= 0):
        raise InvalidValue("damping_ratio must not be negative.", "damping_ratio")
    return 2 * zeta * np.sqrt(_positive("c_N", c_N) * _positive("mass", mass))


def damping_ratio(c_N: ArrayLike, d_N: ArrayLike, mass: ArrayLike) -> Array:
    """Compute zeta = d_N / (2 sqrt(c_N m)) for a contact with the effective mass `mass`, kg."""
    return np.asarray(d_N, float) / (2 * np.sqrt(_positive("c_N", c_N) * _positive("mass", mass)))


def restitution(damping_ratio: ArrayLike) -> Array:
    """Compute the exact restitution e of a bounce, without adhesion or gravity, given zeta."""
    zeta = np.asarray(damping_ratio, float)
    if not np.all(zeta >= 0):
        raise InvalidValue("damping_ratio must not be negative.", "damping_ratio")
    below, above = np.minimum(zeta, 1), np.maximum(zeta, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        under = np.arccos(below) / np.sqrt((1 - below) * (1 + below))
        over = np.arccosh(above) / np.sqrt((above - 1) * (above + 1))
    critical = np.abs(zeta - 1) < 1e-7  # both quotients tend to 1 - (zeta - 1) / 3
    quotient = np.where(critical, 1 - (zeta - 1) / 3, np.where(zeta < 1, under, over))
    return np.exp(-2 * zeta * quotient)


def damping_ratio_of(restitution_target: ArrayLike) -> Array:
    """Compute the damping ratio zeta with restitution e in (0, 1], by bisection to round-off."""
    e = np.asarray(restitution_target, float)
    if not np.all((e > restitution(MAX_DAMPING_RATIO)) & (e <= 1)):
        raise InvalidValue(
            "restitution must be above 0 and at most 1: a spring and damper cannot stop a mass"
            " without rebound.",
            "restitution",
        )
    low, high = np.full(e.shape, -40.0), np.full(e.shape, np.log(MAX_DAMPING_RATIO))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        bouncy = restitution(np.exp(middle)) > e
        low, high = np.where(bouncy, middle, low), np.where(bouncy, high, middle)
    return np.where(e == 1, 0.0, np.exp(0.5 * (low + high)))


def _positive(name: str, value: ArrayLike) -> Array:
    array = np.asarray(value, float)
    if not np.all(array > 0):
        raise InvalidValue(f"{name} must be positive.", name)
    return array
