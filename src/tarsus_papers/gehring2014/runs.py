"""Recorded steps of a gait that can be repeated, each from its own start.

They serve for counting iterations and for timing.
"""

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
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.substeps import Substeps
from tarsus_papers.gehring2014.configurations import CYCLE, DT, Configuration, trotting

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class RecordedSteps:
    """Steps of a gait without its controller: their starts (steps, size), and a program.

    The program makes one step, with the torques that the controller gave.
    """

    program: Program
    starts: dict[str, Array]

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.starts["q"])

    def worlds(self, lanes: int | None = None, copies: int = 1) -> Worlds:
        """Create a world for each step at its start, or `copies` of all of them in sequence."""
        worlds = Worlds(self.program, copies * self.count, lanes=lanes)
        self.restart(worlds)
        return worlds

    def restart(self, worlds: Worlds) -> None:
        """Reset all worlds to the starts of their steps."""
        copies = worlds.count // self.count
        write_registers(
            worlds, {name: np.tile(value, (copies, 1)) for name, value in self.starts.items()}
        )

    def at(self, alpha: float | None) -> RecordedSteps:
        """Return the same steps with another relaxation, None for a law without one."""
        if alpha is None:
            return self
        return replace(self, starts=self.starts | {"law.alpha": np.full((self.count, 1), alpha)})

    def seconds(self, worlds: Worlds) -> float:
        """Return the mean processor time (s) of a step, all made in sequence on one thread."""
        self.restart(worlds)
        began = thread_time()
        worlds.advance(1)
        return (thread_time() - began) / worlds.count


@cache
def record_cycle(configuration: Configuration, before: float) -> RecordedSteps:
    """Record one trotting cycle, after `before` seconds of trot in closed loop."""
    simulation = configuration.simulation(trotting())
    worlds = at_start(simulation)
    worlds.advance(round(before / simulation.dt))
    records = worlds.record(CYCLE + 1)
    alone = configuration.simulation(None)
    starts = {name: records[name][:-1, 0] for name in ("q", "u", "memory", "bilateral")}
    starts["action"] = records["tau"][1:, 0]
    same = {
        name: np.tile(value, (len(starts["q"]), 1)) for name, value in _parameters(alone).items()
    }
    return RecordedSteps(alone.program, same | starts)


def at_start(simulation: Simulation) -> Worlds:
    """Return the worlds of a simulation's program at their starts."""
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
    """Return normal forces (steps, contacts) in N over a trotting cycle at a finer step.

    The step is DT / substeps; torques are held at 400 Hz. The trot has run `before` seconds.
    """
    coarse = Substeps(Midpoint(), substeps) if substeps > 1 else Midpoint()
    closed_loop = at_start(configuration.simulation(trotting(), law, stepper=coarse))
    closed_loop.advance(round(before / DT) - 1)
    records = closed_loop.record(CYCLE + 1)
    alone = configuration.simulation(None, law, stepper=Midpoint(forces="once"), dt=DT / substeps)
    worlds = write_registers(
        at_start(alone), {name: records[name][0] for name in ("q", "u", "memory")}
    )
    forces = []
    for torque in records["tau"][1:]:
        worlds.set("action", torque)
        forces.append(worlds.record(substeps)["impulse"][:, 0] / alone.dt)
    return np.concatenate(forces)[:, ::3]
