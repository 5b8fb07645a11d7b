"""A central pattern generator: phase oscillators, pulled to a gait's phase offsets.

Oscillators in a star: each listens to the first, which runs free,

    dphi_i/dt = f + k e_i,   e_i = phi_0 + o_i - phi_i, the short way round: -1/2 <= e_i < 1/2,

so an error dies out at the rate k from every start. Phases and offsets are in turns, [0, 1).
Kuramoto's oscillators have sin(2 pi e) / (2 pi) for e: the same near agreement, slower near the
opposite, one sine more. Teixeira de Paula 2024, section 6.2, drives its foot curves by a pattern
generator of this family.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca


def phase_rates(
    phases: ca.SX, offsets: Sequence[float], frequency: float, coupling: float
) -> ca.SX:
    """Rates (n,) turns/s of phases (n,).

    offsets: turns
    frequency: Hz
    coupling: k, 1/s
    """
    rates = [ca.SX(frequency)]
    for i in range(1, len(offsets)):
        ahead = phases[0] - phases[i] + (offsets[i] - offsets[0]) % 1.0
        rates.append(frequency + coupling * (ahead - ca.floor(ahead + 0.5)))
    return ca.vertcat(*rates)


def advance(phases: ca.SX, rates: ca.SX, dt: ca.SX) -> ca.SX:
    """Phases (n,) after dt (s), wrapped into [0, 1)."""
    ahead = phases + dt * rates
    return ahead - ca.floor(ahead)
