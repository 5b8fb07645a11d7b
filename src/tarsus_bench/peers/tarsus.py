"""Tarsus itself: several laws and steppers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.control.gaits.stand import Stand
from tarsus.engines.tarsus import SimulationSession
from tarsus.parameters import names_with_role
from tarsus.simulation.simulation import Simulation
from tarsus_bench.peers.base import FRICTION, PeerSession, Work

WORLDS = 1024
METHODS = {  # law and stepper of the variants other than moreau and midpoint
    "rk4": ("compliant", "rk4"),
    "symplectic_euler": ("moreau", "symplectic_euler"),
    "event_driven": ("moreau", "event_driven"),
    "soft_convex": ("soft_convex", "midpoint"),
    "hertz": ("hertz", "midpoint"),
}


class TarsusPeer(SimulationSession, PeerSession):
    """Laws and steppers of Tarsus, with the servo compiled into the step."""

    package: ClassVar[str] = "tarsus"
    distributions: ClassVar[tuple[str, ...]] = ("tarsus",)
    has_own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "law moreau, stepper midpoint, one world",
        "batch": f"the same, {WORLDS} worlds",
        "batch_float32": f"the same, {WORLDS} worlds in float32",
    } | {name: f"law {law}, stepper {step}, one world" for name, (law, step) in METHODS.items()}

    def __init__(self, work: Work, variant: str) -> None:
        PeerSession.__init__(self, work, variant)
        law, stepper = METHODS.get(variant, ("moreau", "midpoint"))
        contact = registry.create("tarsus.contact.laws", "law", law, Law)
        frictions = names_with_role(type(contact), "friction")
        options: dict[str, Any] = {"precision": "float32"} if variant.endswith("32") else {}
        simulation = Simulation(
            work.robot,
            replace(contact, **dict.fromkeys(frictions, FRICTION)),
            stepper,
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
