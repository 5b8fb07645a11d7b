"""Single free bodies and what it takes to run them: for tests of contact alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.program.ir.blocks import Program
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.step_program import Plan, initial_values, step_program
from tarsus.stepping.base import Scene
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane

Array = NDArray[np.float64]
G = 9.81
HALF = np.array([0.1, 0.075, 0.04])  # m, half edges of the box: 0.2 x 0.15 x 0.08
GRAVITY = (0.0, 0.0, -G)


def point_mass(mass: float = 1.0, gravity: tuple[float, float, float] = GRAVITY) -> Mechanism:
    """A body that touches with its center alone and so never turns."""
    inertia = Inertia(mass, np.zeros(3), 0.01 * np.eye(3))
    return _free("point", inertia, (Candidate("center", 0, np.zeros(3)),), gravity)


def sphere(mass: float = 1.0, radius: float = 0.1) -> Mechanism:
    """A solid sphere."""
    inertia = Inertia(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))
    return _free("sphere", inertia, (Candidate("ball", 0, np.zeros(3), radius),))


def box(
    mass: float = 2.0, half: Array = HALF, gravity: tuple[float, float, float] = GRAVITY
) -> Mechanism:
    """A solid box that touches with its eight corners."""
    squares = (2 * half) ** 2
    inertia = Inertia(mass, np.zeros(3), np.diag(mass / 12 * (squares.sum() - squares)))
    corners = [np.array(signs) * half for signs in product((1.0, -1.0), repeat=3)]
    return _free(
        "box",
        inertia,
        tuple(Candidate(f"corner_{k}", 0, c) for k, c in enumerate(corners)),
        gravity,
    )


def rod(mass: float = 1.0, half: float = 0.5) -> Mechanism:
    """A thin rod along x that touches with its ends; round about its own axis it has the inertia of
    a ball.
    """
    inertia = Inertia(mass, np.zeros(3), mass * (2 * half) ** 2 / 12 * np.eye(3))
    return _free(
        "rod", inertia, tuple(Candidate(f"end_{k}", 0, np.array([k * half, 0, 0])) for k in (-1, 1))
    )


def _free(
    name: str,
    inertia: Inertia,
    candidates: tuple[Candidate, ...],
    gravity: tuple[float, float, float] = GRAVITY,
) -> Mechanism:
    return Mechanism(
        name,
        (Body(name, -1, Joint("free", "free"), inertia),),
        candidates,
        gravity_acceleration=gravity,
    )


def pose(position: ArrayLike, angle: float = 0.0, axis: ArrayLike = (0.0, 1.0, 0.0)) -> Array:
    """Coordinates (7,) at a position, turned by `angle` about a unit `axis`."""
    return np.concatenate([position, [np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis)])


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

    def __post_init__(self) -> None:
        scene = Scene(self.mechanism, self.law, self.terrain, self.mechanism.candidates)
        self.plan = Plan(scene, Midpoint(), self.controller)
        self.program: Program = step_program(self.plan)

    def start(self, dt: float, **values: ArrayLike) -> dict[str, Array]:
        """All registers that a run starts from, each (worlds, size)."""
        full = initial_values(self.plan) | {"dt": np.array([dt])}
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
        for name, value in full.items():
            made.set(name, value)
        return made

    def run(self, steps: int, dt: float, **options: Any) -> dict[str, Array]:
        """The log of `steps` steps."""
        return self.worlds(dt, **options).record(steps)
