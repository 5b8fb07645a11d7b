"""A law whose memory advances with time: a spring and a damper in series (Maxwell)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from scipy.linalg import expm

import tarsus
from tarsus.contact.problem import Contact
from tarsus.parameters import Value, parameter, stiffness

MASS, K, C, G = 2.0, 1e4, 300.0, 9.81  # kg, N/m, N s/m, m/s^2
TIME = 0.03  # s


@dataclass(frozen=True)
class Maxwell(tarsus.ForceLaw):
    """Force f with f' = -k v - (k / c) f, implicit in time."""

    contact_memory: ClassVar[int] = 1
    k: Value = stiffness(K, "N/m", "stiffness")
    c: Value = parameter(C, "N s/m", "damping in series", "(0, inf)")

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        stretched = memory - p.k * contact.dt * contact.velocity[0]
        f = ca.fmax(stretched / (1 + p.k * contact.dt / p.c), 0)
        return ca.vertcat(f, 0, 0), f


def sinking_speed(time: float, dt: float, stepper: str) -> float:
    """Speed of a ball after a time on the ground, m/s."""
    ball = tarsus.world(tarsus.Ball(radius=0.1, mass=MASS))
    simulation = tarsus.Simulation(ball, Maxwell(), stepper, dt=dt)
    simulation.set(q=[0.0, 0.0, 0.1 - 1e-9, 1.0, 0.0, 0.0, 0.0])
    simulation.advance(time)
    return -float(simulation.u[2])


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler", "rk4"])
def test_the_ball_sinks_as_the_linear_system_does(stepper: str) -> None:
    """In the end at m g / c. Before, the error is of first order in dt."""
    assert sinking_speed(2.0, 5e-4, stepper) == pytest.approx(MASS * G / C, rel=1e-6)
    # states: sinking speed, force, 1
    system = np.array([[0, -1 / MASS, G], [K, -K / C, 0], [0, 0, 0]])
    expected = float((expm(TIME * system) @ [0.0, 0.0, 1.0])[0])
    coarse, fine = (abs(sinking_speed(TIME, dt, stepper) / expected - 1) for dt in (5e-4, 2.5e-4))
    assert fine < 0.6 * coarse and coarse < 0.2
