"""Central pattern generator: phase oscillators that synchronize to the phase offsets of a gait.

Each oscillator is coupled to the first, which runs freely:

    dphi_i/dt = f + k e_i,   e_i = phi_0 + o_i - phi_i, wrapped to -1/2 <= e_i < 1/2,

so an error decays at the rate k from any initial phase. Phases and offsets are in cycles, [0, 1).
Kuramoto's oscillators have sin(2 pi e) / (2 pi) instead of e: the same close to synchrony, slower
close to opposition, and at the cost of a sine. The foot curves of Teixeira de Paula 2024, section
6.2, are driven by a pattern generator of this family.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca


def phase_rates(
    phases: ca.SX, offsets: Sequence[float], frequency: float, coupling: float
) -> ca.SX:
    """Compute the phase rates, shape (n,), in cycles/s.

    Parameters
    ----------
    phases
        Phases, shape (n,), in cycles.
    offsets
        Phase offsets of the gait, in cycles.
    frequency
        Frequency f, in Hz.
    coupling
        Coupling k, in 1/s.
    """
    rates = [ca.SX(frequency)]
    for i in range(1, len(offsets)):
        error = phases[0] - phases[i] + (offsets[i] - offsets[0]) % 1.0
        rates.append(frequency + coupling * (error - ca.floor(error + 0.5)))
    return ca.vertcat(*rates)


def advance_phases(phases: ca.SX, rates: ca.SX, dt: ca.SX) -> ca.SX:
    """Advance the phases, shape (n,), by a time `dt` in s, wrapped to [0, 1)."""
    ahead = phases + dt * rates
    return ahead - ca.floor(ahead)
