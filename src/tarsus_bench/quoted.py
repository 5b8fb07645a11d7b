"""Quoted figures of SimBenchmark, measured by its authors on their machine.

Its authors are also those of RaiSim. RaiSim is closed source and not in any package index, so its
figures are quoted and not measured. Their robot is another ANYmal (34.0 kg) with feet of 3 cm,
their position correction is off, and MuJoCo is version 1.5 with no-slip iterations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from tarsus.references.data import SIMBENCHMARK

STEPS = 50_000  # 250 s with steps of 5 ms, including the servo in C++
MACHINE = "Intel Core i7-7700HQ, 2.8 GHz"
SPEED_SOURCE = SIMBENCHMARK.at("data/anymal-stand/sample.csv, one robot, median of ten runs").text()
ROLLING_SOURCE = SIMBENCHMARK.at("data/rolling/sample.csv, 1000 iterations, no ERP").text()
BOUNCING_SOURCE = SIMBENCHMARK.at("data/bouncing/sample.csv, no ERP").text()
ENERGY_SOURCE = SIMBENCHMARK.at("data/anymal-energy/sample.csv").text()


@dataclass(frozen=True)
class QuotedSpeed:
    """Speed of a simulator with ANYmal standing, steps of 5 ms."""

    engine: str
    """Name and version of the simulator."""
    solver: str
    """Solver and its options."""
    seconds: float
    """Time for `STEPS` steps of one robot, s."""

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the steps per second."""
        return asdict(self) | {"steps_per_second": STEPS / self.seconds}


@dataclass(frozen=True)
class QuotedEnergy:
    """Energy error of a simulator with ANYmal in free flight for 2 s."""

    engine: str
    """Name and version of the simulator."""
    integrator: str
    """Time integrator."""
    dt: float
    """Step size, s."""
    energy_squared_J2: float
    """Mean squared error of the energy, J^2."""


@dataclass(frozen=True)
class QuotedContactErrors:
    """Mean squared errors of a simulator in the tests of rolling and bouncing."""

    engine: str
    """Name and version of the simulator."""
    solver: str
    """Solver and its options."""
    rolling_y: float
    """Error of velocities, force along y, steps of 1 ms, (m/s)^2."""
    rolling_xy: float
    """The same with the force at 60 degrees to x."""
    bouncing: float
    """Error of energy, restitution 1, steps of 10 ms, J^2; NaN if not measured."""


SPEEDS = (
    QuotedSpeed("RaiSim", "bisection", 0.4063985),
    QuotedSpeed("MuJoCo 1.5", "PGS, no-slip", 1.73089),
    QuotedSpeed("MuJoCo 1.5", "Newton, no-slip", 1.854535),
    QuotedSpeed("Bullet 2.88", "sequential impulses", 3.706675),
    QuotedSpeed("DART 6.4", "PGS", 5.751985),
    QuotedSpeed("DART 6.4", "Dantzig", 5.83235),
    QuotedSpeed("ODE 0.15.2", "Dantzig", 22.8405),
)
ENERGIES = (
    QuotedEnergy("RaiSim", "midpoint", 0.01, 1.39767),
    QuotedEnergy("RaiSim", "midpoint", 0.001, 0.0118404),
    QuotedEnergy("MuJoCo 1.5", "Euler", 0.01, 343.91),
    QuotedEnergy("MuJoCo 1.5", "Euler", 0.001, 3.48198),
    QuotedEnergy("MuJoCo 1.5", "RK4", 0.01, 5.56596e-11),
    QuotedEnergy("MuJoCo 1.5", "RK4", 0.001, 1.6273e-17),
    QuotedEnergy("Bullet 2.88", "Euler", 0.01, 342.786),
    QuotedEnergy("Bullet 2.88", "Euler", 0.001, 3.65233),
    QuotedEnergy("DART 6.4", "Euler", 0.01, 918.391),
    QuotedEnergy("DART 6.4", "Euler", 0.001, 236.756),
    QuotedEnergy("ODE 0.15.2", "Euler", 0.01, 378.123),
    QuotedEnergy("ODE 0.15.2", "Euler", 0.001, 3.89101),
)

CONTACT_ERRORS = (
    QuotedContactErrors("RaiSim", "bisection", 4.08353e-07, 4.08935e-07, 185.953),
    QuotedContactErrors("Bullet 2.88", "multi-body", 7.26424e-28, 3.85251e-27, 7.40664e06),
    QuotedContactErrors("ODE 0.15.2", "quick", 7.64856e-09, 3.14497, 18808.3),
    QuotedContactErrors("DART 6.4", "Dantzig", 0.42589, 3.14497, 7.37588e06),
    QuotedContactErrors("MuJoCo 1.5", "Newton, Euler", 0.0092196, 0.00705417, nan),
    QuotedContactErrors("MuJoCo 1.5", "Newton, RK4", 0.00317043, 0.00256571, nan),
)


def as_json() -> dict[str, Any]:
    """Return all quoted figures with their sources."""
    return {
        "machine": MACHINE,
        "speed": [row.as_json() for row in SPEEDS],
        "speed_source": SPEED_SOURCE,
        "energy": [asdict(row) for row in ENERGIES],
        "energy_source": ENERGY_SOURCE,
    }
