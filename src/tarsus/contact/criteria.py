"""Criteria for any law: violations of the contact conditions, from problem and solution alone.

All functions are NumPy over any leading axes; contacts' components are (normal, tangent 1, tangent
2). Natural units: impulses in N s, velocities in m/s, their products in J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
OPEN, STICK, SLIP = 0, 1, 2
SLIDING = 1e-3  # m/s: what is slower as a step begins has static friction (Sugihara 2006's epsilon)
STATES = ("open", "stick", "slip")


@dataclass(frozen=True, eq=False)
class Solved:
    """A contact problem and its solution over one or many steps.

    gap (..., n): m
    impulse (..., n, 3): N s
    before, after (..., n, 3): contact velocities, m/s
    correction (..., n, 3): what the law adds to `after` before it asks for rest, m/s
    mu, e_N, e_T: friction and restitution coefficients [1], mu of all contacts or (..., n) of each
    mu_K: of contacts that slid faster than SLIDING before [1], shaped as mu; None: mu. Where it
        exceeds mu it may hold slower ones as well
    tolerance: what the solver promised, N s
    dt: the step, s
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
    def resting(self) -> Array:
        """The velocity after the step with the law's correction (..., n, 3), m/s."""
        return self.after + self.correction

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Where the gap was closed when the step looked, or a law pushed all the same."""
        return (self.gap <= 0) | (self.impulse[..., 0] != 0)

    @property
    def xi(self) -> Array:
        """xi = velocity after + restitution * velocity before (Gehring 2014, Eqn. (5)); a gap may
        close first.
        """
        factors = np.stack(np.broadcast_arrays(self.e_N, self.e_T, self.e_T), -1).astype(float)
        xi = self.resting + (factors[..., None, :] if factors.ndim > 1 else factors) * self.before
        xi[..., 0] += np.maximum(self.gap, 0) / self.dt
        return xi


def penetration(solved: Solved) -> Array:
    """How deep a contact lies in the ground, m."""
    return np.maximum(-solved.gap, 0)


def signorini(solved: Solved) -> Array:
    """|min(L_N / m, xi_N)| would mix units; here: |L_N xi_N|, and what pulls or approaches, J."""
    normal, xi = solved.impulse[..., 0], solved.xi[..., 0]
    wrong = (
        np.abs(normal * xi)
        + np.maximum(-normal, 0) * np.abs(xi)
        + np.abs(normal) * np.maximum(-xi, 0)
    )
    return np.where(solved.closed, wrong, 0)


def cone(solved: Solved) -> Array:
    """How far the friction impulse lies outside its disc, N s."""
    edge = _edge(solved)
    return np.where(solved.closed, np.maximum(_length(solved.impulse) - edge, 0), 0)


def dissipation(solved: Solved) -> Array:
    """Violation of the maximum-dissipation principle, J: mu L_N |xi_T| + L_T . xi_T.

    It is zero if friction opposes slip fully.
    """
    edge = _edge(solved)
    work = np.sum(solved.impulse[..., 1:] * solved.xi[..., 1:], -1)
    return np.where(solved.closed, np.abs(edge * _length(solved.xi) + work), 0)


def state(solved: Solved, margin: float = 1e-4) -> NDArray[np.int32]:
    """0 open (no push), 1 stick (friction in its disc), 2 slip (on its edge, to relative `margin`).

    What the solver's own tolerance leaves undecided counts as on the edge if it moves, as inside if
    it does not.
    """
    normal = solved.impulse[..., 0]
    edge = _edge(solved)
    inner = edge * (1 - margin) - 2 * solved.tolerance
    slips = (_length(solved.impulse) >= inner) & (_length(solved.resting) > 1e-6)
    return np.where(normal <= 0, OPEN, np.where(slips, SLIP, STICK)).astype(np.int32)


def slip_speed(solved: Solved) -> Array:
    """Tangential speed after the step of contacts that push, m/s, else 0."""
    return np.where(solved.impulse[..., 0] > 0, _length(solved.resting), 0)


def creep(solved: Solved, settled: float = 0.02) -> Array:
    """Tangential speed of contacts in stance, m/s: those whose friction was inside its disc for the
    last `settled` s.

    It is the way over the step by dt: the mean of the velocities before and after. The first axis
    is time. A landing foot is given that long to come to rest, whatever the law.
    """
    stick = state(solved) == STICK
    steps = 1 if not np.isfinite(solved.dt) else max(round(settled / solved.dt), 1)
    steps = min(steps, len(stick))
    stood = np.zeros_like(stick)
    if steps:
        windows = np.lib.stride_tricks.sliding_window_view(stick, steps, axis=0)
        stood[steps - 1 :] = windows.all(-1)
    return np.where(stood, _length(0.5 * (solved.before + solved.after)), 0)


def residuals(solved: Solved) -> dict[str, float]:
    """The largest violation of each kind over everything."""
    measures = {
        "signorini_J": signorini(solved),
        "cone_Ns": cone(solved),
        "dissipation_J": dissipation(solved),
        "penetration_m": penetration(solved),
        "creep_m_per_s": creep(solved),
    }
    return {name: float(np.nanmax(value, initial=0.0)) for name, value in measures.items()}


def _edge(solved: Solved) -> Array:
    """mu L_N (..., n): the radius of each contact's friction disc, N s."""
    normal = solved.impulse[..., 0]
    given = solved.mu if solved.mu_K is None else solved.mu_K
    mu, mu_K = (
        of if of.ndim == normal.ndim else of[..., None]
        for of in (np.asarray(solved.mu), np.asarray(given))
    )
    return np.where(_length(solved.before) > SLIDING, mu_K, np.maximum(mu, mu_K)) * normal


def _length(vectors: Array) -> Array:
    return np.hypot(vectors[..., 1], vectors[..., 2])
