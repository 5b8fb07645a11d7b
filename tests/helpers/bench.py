"""Test bench for contact alone: one mechanism on a terrain under a law."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.program import Program
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.step_program import Plan, step_program
from tarsus.stepping.base import Scene, Stepper
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane
from tarsus.validation.bodies import BOX, GRAVITY, Vector, box, point_mass

Array = NDArray[np.float64]


@dataclass(eq=False)
class Bench:
    """A mechanism on a terrain under a law: compiled once, run from many starts.

    run(...) takes registers by name, each (size,) or (worlds, size) ("law.mu" and so on as
    (worlds,)), and gives the log of every state and report: (steps, worlds, size).
    """

    mechanism: Mechanism
    law: Law = field(default_factory=Moreau)
    terrain: Terrain = field(default_factory=Plane)
    controller: Any = None
    stepper: Stepper = field(default_factory=Midpoint)

    def __post_init__(self) -> None:
        scene = Scene(self.mechanism, self.law, self.terrain, self.mechanism.candidates)
        self.plan = Plan(scene, self.stepper, self.controller)
        self.program: Program = step_program(self.plan)

    def start(self, dt: float, **values: ArrayLike) -> dict[str, Array]:
        """All registers at the start of a run, each (worlds, size)."""
        full = initial_registers(self.plan, dt)
        for name, value in values.items():
            array = np.asarray(value, float)
            key = name.replace("law_", "law.")
            full[key] = array[..., None] if key.startswith("law.") else array
        worlds = max(np.atleast_2d(v).shape[0] for v in full.values())
        return {name: np.broadcast_to(v, (worlds, np.shape(v)[-1])) for name, v in full.items()}

    def worlds(
        self,
        dt: float,
        *,
        bits: int = 64,
        threads: int = 1,
        lanes: int | None = None,
        **values: Any,
    ) -> Worlds:
        """Compiled worlds at the start."""
        full = self.start(dt, **values)
        made = Worlds(self.program, len(full["q"]), bits=bits, threads=threads, lanes=lanes)
        return write_registers(made, full)

    def run(self, steps: int, dt: float, **options: Any) -> dict[str, Array]:
        """The log of `steps` steps."""
        return self.worlds(dt, **options).record(steps)


def sole(mass: float = 2.0, half: Array = BOX, gravity: Vector = GRAVITY) -> Mechanism:
    """The box with only its four lower corners: with all eight, hard laws compile five times as
    much code.
    """
    whole = box(mass, half, gravity)
    return replace(whole, candidates=tuple(c for c in whole.candidates if c.position[2] < 0))


@cache
def bench(body: str, law: Law) -> Bench:
    """A body on the plane; `heavy` is the sole, a hundred times its mass."""
    mechanisms = {"point": point_mass, "box": box, "sole": sole, "heavy": lambda: sole(200.0)}
    return Bench(mechanisms[body](), law)


def contacts(log: dict[str, Array]) -> Array:
    """Impulses (steps, worlds, contacts, 3)."""
    return log["impulse"].reshape(*log["impulse"].shape[:2], -1, 3)
