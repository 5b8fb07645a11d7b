"""Tarsus itself: the hard law, and springs under RK4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.stand import Stand
from tarsus.simulation.simulation import Simulation
from tarsus_bench.peers.base import FRICTION, Array, PeerEngine, Work

WORLDS = 1024


class TarsusPeer(PeerEngine):
    """Laws and steppers of Tarsus, the servo compiled into the step."""

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
        self._work, batch = work, variant.startswith("batch")
        self.worlds = WORLDS if batch else 1
        springs = variant == "rk4"
        options: dict[str, Any] = {"precision": "float32"} if variant.endswith("32") else {}
        self._simulation = Simulation(
            work.robot,
            Compliant(mu=FRICTION) if springs else Moreau(mu=FRICTION),
            "rk4" if springs else "midpoint",
            controller=Stand(work.kp, work.kd) if work.kp else None,
            dt=work.dt,
            worlds=self.worlds,
            **options,
        )

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        law = self._simulation.law
        described = {name: value for name, value in vars(law).items() if np.isscalar(value)}
        bits = "float64" if self._simulation.target.bits == 64 else "float32"
        return {
            "version": version("tarsus"),
            "number format": bits,
            "law": f"{type(law).__name__}: {described}",
            "stepper": type(self._simulation.stepper).__name__,
        }

    def mass(self) -> float:
        return self._simulation.robot.mass

    def reset(self) -> None:
        self._simulation.reset()
        self._simulation.set(q=self._work.q, u=self._work.u)

    def state(self) -> tuple[Array, Array]:
        q, u = self._simulation.q, self._simulation.u
        return (q, u) if self.worlds == 1 else (q[0], u[0])

    def advance(self, steps: int) -> None:
        self._simulation.advance(steps * self._work.dt)
