"""Tarsus itself: the hard law, and springs under RK4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.stand import Stand
from tarsus.engines.tarsus import SimulationSession
from tarsus.simulation.simulation import Simulation
from tarsus_bench.peers.base import FRICTION, PeerSession, Work

WORLDS = 1024


class TarsusPeer(SimulationSession, PeerSession):
    """Laws and steppers of Tarsus, with the servo compiled into the step."""

    package: ClassVar[str] = "tarsus"
    distributions: ClassVar[tuple[str, ...]] = ("tarsus",)
    own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "law moreau, stepper midpoint, one world",
        "batch": f"the same, {WORLDS} worlds",
        "batch_float32": f"the same, {WORLDS} worlds in float32",
        "rk4": "law compliant, stepper rk4, one world",
    }

    def __init__(self, work: Work, variant: str) -> None:
        PeerSession.__init__(self, work, variant)
        springs = variant == "rk4"
        options: dict[str, Any] = {"precision": "float32"} if variant.endswith("32") else {}
        simulation = Simulation(
            work.robot,
            Compliant(mu=FRICTION) if springs else Moreau(mu=FRICTION),
            "rk4" if springs else "midpoint",
            controller=Stand(work.kp, work.kd) if work.kp else None,
            dt=work.dt,
            worlds=WORLDS if variant.startswith("batch") else 1,
            **options,
        )
        SimulationSession.__init__(self, simulation)

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        law = self.simulation.law
        described = {name: value for name, value in vars(law).items() if np.isscalar(value)}
        bits = "float64" if self.simulation.target.bits == 64 else "float32"
        return {
            "version": version("tarsus"),
            "number format": bits,
            "law": f"{type(law).__name__}: {described}",
            "stepper": type(self.simulation.stepper).__name__,
        }

    def mass(self) -> float:
        return self.simulation.robot.mass

    def reset(self) -> None:
        self.simulation.reset()
        self.simulation.set(q=self._work.q, u=self._work.u)
