"""Criteria for any law: violations of the contact conditions, given problem and solution.

All functions are NumPy over any leading axes; components are ordered (normal, tangent 1, tangent
2). Impulses are in N s, velocities in m/s, their products in J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
OPEN, STICK, SLIP = 0, 1, 2
# m/s: slower contacts have static friction in a step (epsilon of Sugihara 2006)
SLIDING = 1e-3
STATES = ("open", "stick", "slip")


@dataclass(frozen=True, eq=False)
class SolvedContacts:
    """Contact problem and its solution over one or many steps.

    Attributes
    ----------
    gap
        Shape (..., n), m.
    impulse
        Shape (..., n, 3), N s.
    before, after
        Contact velocities, shape (..., n, 3), m/s.
    correction
        Velocity that the law adds to `after` before it requires rest, shape (..., n, 3), m/s.
    mu, e_N, e_T
        Friction and restitution coefficients; mu of all contacts, or (..., n) of each.
    mu_K
        Friction coefficient of contacts that slid faster than SLIDING before, shaped as mu; None if
        it is mu. Where it exceeds mu, it may hold slower contacts as well.
    tolerance
        Tolerance of the solver, N s.
    dt
        Length of the step, s.
    """

    gap: Array
    impulse: Array
    before: Array
    after: Array
    mu: ArrayLike = 0.0
    e_N: ArrayLike = 0.0
    e_T: ArrayLike = 0.0
    tolerance: float = 1e-6
    dt: float = np.inf
    mu_K: ArrayLike | None = None
    correction: Array | float = 0.0

    @property
    def resting_velocity(self) -> Array:
        """Velocity after the step plus the law's correction (..., n, 3), m/s."""
        return self.after + self.correction

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Whether the gap was closed at the evaluation, or the contact has an impulse."""
        return (self.gap <= 0) | (self.impulse[..., 0] != 0)

    @property
    def xi(self) -> Array:
        """Velocity xi, the velocity after plus restitution times the velocity before the impact.

        The normal component also holds gap / dt, so that an open gap may first close. Gehring 2014,
        Eqn. (5).
        """
        factors = np.stack(np.broadcast_arrays(self.e_N, self.e_T, self.e_T), -1).astype(float)
        xi = (
            self.resting_velocity
            + (factors[..., None, :] if factors.ndim > 1 else factors) * self.before
        )
        xi[..., 0] += np.maximum(self.gap, 0) / self.dt
        return xi


def penetration(solved: SolvedContacts) -> Array:
    """Compute the penetration depth of each contact, m."""
    return np.maximum(-solved.gap, 0)


def signorini(solved: SolvedContacts) -> Array:
    """Compute the violation of Signorini's condition, J.

    |min(L_N / m, xi_N)| would mix units; this is |L_N xi_N| plus contributions of pulling impulses
    and approaching velocities.
    """
    normal, xi = solved.impulse[..., 0], solved.xi[..., 0]
    violation = (
        np.abs(normal * xi)
        + np.maximum(-normal, 0) * np.abs(xi)
        + np.abs(normal) * np.maximum(-xi, 0)
    )
    return np.where(solved.closed, violation, 0)


def cone(solved: SolvedContacts) -> Array:
    """Compute the distance of the friction impulse from its disc, N s."""
    edge = _edge(solved)
    return np.where(solved.closed, np.maximum(_length(solved.impulse) - edge, 0), 0)


def dissipation(solved: SolvedContacts) -> Array:
    """Compute the violation of the maximum-dissipation principle, J: mu L_N |xi_T| + L_T . xi_T.

    It is zero if friction opposes slip fully.
    """
    edge = _edge(solved)
    work = np.sum(solved.impulse[..., 1:] * solved.xi[..., 1:], -1)
    return np.where(solved.closed, np.abs(edge * _length(solved.xi) + work), 0)


def state(solved: SolvedContacts, margin: float = 1e-4) -> NDArray[np.int32]:
    """Determine the state of each contact: 0 open, 1 stick, 2 slip.

    A contact is open without impulse, sticks if its friction lies inside its disc, and slips if it
    lies on the edge, up to the relative `margin`. Where the solver's tolerance leaves this
    undecided, a contact that moves slips, and one that does not sticks.
    """
    normal = solved.impulse[..., 0]
    edge = _edge(solved)
    inner = edge * (1 - margin) - 2 * solved.tolerance
    slips = (_length(solved.impulse) >= inner) & (_length(solved.resting_velocity) > 1e-6)
    return np.where(normal <= 0, OPEN, np.where(slips, SLIP, STICK)).astype(np.int32)


def slip_speed(solved: SolvedContacts) -> Array:
    """Compute the tangential speed after the step of contacts that push, m/s, else 0."""
    return np.where(solved.impulse[..., 0] > 0, _length(solved.resting_velocity), 0)


def creep(solved: SolvedContacts, settled: float = 0.02) -> Array:
    """Compute the tangential speed of stance contacts, m/s, else 0.

    Stance contacts had their friction inside its disc for the last `settled` s, so that with every
    law a landing foot has this time to come to rest. The speed is the displacement over the step
    divided by dt: the mean of the velocities before and after. The first axis is time.
    """
    stick = state(solved) == STICK
    steps = 1 if not np.isfinite(solved.dt) else max(round(settled / solved.dt), 1)
    steps = min(steps, len(stick))
    in_stance = np.zeros_like(stick)
    if steps:
        windows = np.lib.stride_tricks.sliding_window_view(stick, steps, axis=0)
        in_stance[steps - 1 :] = windows.all(-1)
    return np.where(in_stance, _length(0.5 * (solved.before + solved.after)), 0)


def residuals(solved: SolvedContacts) -> dict[str, float]:
    """Compute the largest violation of each condition over all contacts and steps."""
    measures = {
        "signorini_J": signorini(solved),
        "cone_Ns": cone(solved),
        "dissipation_J": dissipation(solved),
        "penetration_m": penetration(solved),
        "creep_m_per_s": creep(solved),
    }
    return {name: float(np.nanmax(value, initial=0.0)) for name, value in measures.items()}


def _edge(solved: SolvedContacts) -> Array:
    """Compute mu L_N (..., n), the radius of each contact's friction disc, N s."""
    normal = solved.impulse[..., 0]
    kinetic = solved.mu if solved.mu_K is None else solved.mu_K
    mu, mu_K = (
        value if value.ndim == normal.ndim else value[..., None]
        for value in (np.asarray(solved.mu), np.asarray(kinetic))
    )
    return np.where(_length(solved.before) > SLIDING, mu_K, np.maximum(mu, mu_K)) * normal


def _length(vectors: Array) -> Array:
    return np.hypot(vectors[..., 1], vectors[..., 2])
