"""A central pattern generator: one phase oscillator per leg, pulled to a gait's phase offsets.

Kuramoto phase oscillators in a star: every leg listens to leg 0, which runs free,

    dphi_i/dt = f + k / (2 pi) * sin(2 pi (phi_0 + o_i - phi_i)),

so the error e of a leg obeys de/dt = -k / (2 pi) sin(2 pi e): it dies out at the rate k from every
start but the exact opposite. Phases and offsets are in turns, [0, 1). One sine per following leg.
Document 003, section 6.2, drives its foot curves by a pattern generator of this family.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np


def phase_rates(phases: ca.SX, offsets: Sequence[float], frequency: float, coupling: float) -> ca.SX:
    """Rates (n,) turns/s of phases (n,); offsets: turns; frequency: Hz; coupling k: 1/s."""
    rates = [ca.SX(frequency)]
    for i in range(1, len(offsets)):
        ahead = phases[0] - phases[i] + (offsets[i] - offsets[0]) % 1.0
        rates.append(frequency + coupling / (2 * np.pi) * ca.sin(2 * np.pi * ahead))
    return ca.vertcat(*rates)


def advance(phases: ca.SX, rates: ca.SX, dt: ca.SX) -> ca.SX:
    """Phases (n,) after dt (s), wrapped into [0, 1)."""
    ahead = phases + dt * rates
    return ahead - ca.floor(ahead)
