"""Recorded steps of a gait, which can be repeated to count iterations and to measure time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.program.ir.program import Program
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.substeps import Substeps
from tarsus_papers.gehring2014.configurations import (
    CYCLE,
    DT,
    MIDPOINT,
    ONCE,
    Configuration,
    create_trot,
)

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class RecordedSteps:
    """Start values (steps, size) of a gait's steps, and a program that makes one step.

    The program applies the recorded torques of the controller.
    """

    program: Program
    starts: dict[str, Array]

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.starts["q"])

    def worlds(self, lanes: int | None = None, copies: int = 1) -> Worlds:
        """Create a world for each step, or `copies` of all of them in sequence."""
        worlds = Worlds(self.program, copies * self.count, lanes=lanes)
        self.restart(worlds)
        return worlds

    def restart(self, worlds: Worlds) -> None:
        """Reset all worlds to the start values of their steps."""
        copies = worlds.count // self.count
        write_registers(
            worlds, {name: np.tile(value, (copies, 1)) for name, value in self.starts.items()}
        )

    def with_alpha(self, alpha: float | None) -> RecordedSteps:
        """Return the same steps with another relaxation; None for a law without one."""
        if alpha is None:
            return self
        return replace(self, starts=self.starts | {"law.alpha": np.full((self.count, 1), alpha)})

    def seconds(self, worlds: Worlds) -> float:
        """Measure the mean processor time (s) of a step, all made in sequence on one thread."""
        self.restart(worlds)
        began = thread_time()
        worlds.advance(1)
        return (thread_time() - began) / worlds.count


@cache
def record_cycle(configuration: Configuration, before: float) -> RecordedSteps:
    """Record one trotting cycle, after `before` seconds of trot in closed loop."""
    simulation = configuration.simulation(create_trot())
    worlds = initial_worlds(simulation)
    worlds.advance(round(before / simulation.dt))
    records = worlds.record(CYCLE + 1)
    uncontrolled = configuration.simulation(None)
    starts = {name: records[name][:-1, 0] for name in ("q", "u", "memory", "bilateral")}
    starts["action"] = records["tau"][1:, 0]
    parameters = {
        name: np.tile(value, (len(starts["q"]), 1))
        for name, value in _parameters(uncontrolled).items()
    }
    return RecordedSteps(uncontrolled.program, parameters | starts)


def initial_worlds(simulation: Simulation) -> Worlds:
    """Create the worlds of a simulation's program with their initial values."""
    worlds = Worlds(
        simulation.program, simulation.worlds, lanes=1 if simulation.worlds == 1 else None
    )
    return write_registers(
        worlds, initial_registers(simulation.plan, simulation.dt, {"q": simulation.q})
    )


def _parameters(simulation: Simulation) -> dict[str, Array]:
    values = initial_registers(simulation.plan, simulation.dt)
    return {name: value for name, value in values.items() if name not in ("q", "u", "memory")}


def fine_forces(configuration: Configuration, law: Law, substeps: int, before: float) -> Array:
    """Compute normal forces (steps, contacts) in N over a trotting cycle with shorter steps.

    The step is DT / substeps; the torques are updated at 400 Hz. The cycle is recorded after
    `before` seconds of trot.
    """
    coarse = Substeps(MIDPOINT, substeps) if substeps > 1 else MIDPOINT
    closed_loop = initial_worlds(configuration.simulation(create_trot(), law, stepper=coarse))
    closed_loop.advance(round(before / DT) - 1)
    records = closed_loop.record(CYCLE + 1)
    uncontrolled = configuration.simulation(None, law, stepper=ONCE, dt=DT / substeps)
    worlds = write_registers(
        initial_worlds(uncontrolled), {name: records[name][0] for name in ("q", "u", "memory")}
    )
    forces = []
    for torque in records["tau"][1:]:
        worlds.set("action", torque)
        forces.append(worlds.record(substeps)["impulse"][:, 0] / uncontrolled.dt)
    return np.concatenate(forces)[:, ::3]
