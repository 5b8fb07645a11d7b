"""Computation time of the sections of a compiled step, from the processor's cycle counter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.program import CYCLES
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.step_program import step_program
from tarsus_papers.gehring2014.configurations import CYCLE, Configuration, create_trot
from tarsus_papers.gehring2014.runs import initial_worlds

Array = NDArray[np.float64]
# times of one configuration: mean and deviation in µs by section; iterations
Sections = Mapping[str, Any]

SECTIONS = ("M, h", "M^-1", "G_B", "u_E", "rest")  # of figure 7, from the bottom
GAIT_CYCLES, QUICK_GAIT_CYCLES = 25, 2  # 20 s (section Computation Effort for One Time Step)
BEFORE, QUICK_BEFORE = 4.0, 1.6  # s of trot before
# further rounds while the total time shrinks by this factor in two rounds, up to this multiple
MIN_SHRINKAGE, MAX_ROUNDS_FACTOR = 0.998, 5
# steps timed together with the system clock: few, so that some round is not interrupted
CHUNK = 40


@dataclass(eq=False)
class TimedProgram:
    """A configuration's program with time stamps, at the start of control updates of the gait.

    Attributes
    ----------
    wall_fraction : float
        Fraction of the wall time spent in the sections, once measured: median over chunks of steps,
        each run twice in a row, because the speed of a processor changes.
    """

    configuration: Configuration
    worlds: Worlds
    steps: int
    wall_fraction: float = 0.0

    def sections(self, rounds: int, tick: float) -> Sections:
        """Measure mean and deviation of the sections and the step in µs, and the iterations."""
        start = {r.name: self.worlds.get(r.name) for r in self.worlds.program.of_kind("state")}
        fastest, shares, records, totals = np.array(np.inf), [], {}, []
        while len(totals) < rounds or (
            totals[-1] < MIN_SHRINKAGE * totals[-3] and len(totals) < MAX_ROUNDS_FACTOR * rounds
        ):
            write_registers(self.worlds, start)
            overhead = min(_measure_seconds(self.worlds, 0) for _ in range(CHUNK))
            wall = [
                _measure_seconds(self.worlds, CHUNK) - overhead for _ in range(self.steps // CHUNK)
            ]
            write_registers(self.worlds, start)
            records = self.worlds.record(self.steps)
            cycles = records[CYCLES][:, 0]
            by_chunk = cycles[: len(wall) * CHUNK].reshape(len(wall), -1).sum(axis=1)
            shares.append(by_chunk * tick / wall)
            fastest = np.minimum(fastest, cycles)
            totals.append(fastest.sum())
        self.wall_fraction = float(np.median(shares))
        iterations = records["iterations"][:, 0, 0]
        return self._statistics(fastest * tick * 1e6, iterations)

    def _statistics(self, times: Array, iterations: Array) -> Sections:
        n = self.configuration.evaluations_per_update
        by_name = dict(zip(self.worlds.program.sections, times.T, strict=True))
        columns = {name: by_name[name] / n for name in SECTIONS if name in by_name}
        columns["step"] = sum(columns.values(), np.zeros(self.steps))
        columns["controller"] = by_name["controller"]
        varies = bool(np.ptp(iterations))
        return {
            "mean": {name: float(column.mean()) for name, column in columns.items()},
            "deviation": {name: float(column.std()) for name, column in columns.items()},
            "iterations": float(iterations.mean()),
            "with_iterations": (
                float(np.corrcoef(columns["u_E"], iterations)[0, 1]) if varies else None
            ),
        }


def _measure_seconds(worlds: Worlds, steps: int) -> float:
    """Measure the wall time of the next steps in s."""
    began = perf_counter()
    worlds.advance(steps)
    return perf_counter() - began


def timed_program(configuration: Configuration, quick: bool) -> TimedProgram:
    """Create the timed program of a configuration, some cycles after the start of its trot."""
    simulation = configuration.simulation(create_trot())
    untimed = initial_worlds(simulation)
    untimed.advance(round((QUICK_BEFORE if quick else BEFORE) / simulation.dt))
    registers = {r.name: untimed.get(r.name) for r in untimed.program.of_kind("state", "parameter")}
    program = step_program(replace(simulation.plan, timed=True))
    worlds = write_registers(Worlds(program, 1, lanes=1), registers)
    return TimedProgram(
        configuration, worlds, CYCLE * (QUICK_GAIT_CYCLES if quick else GAIT_CYCLES)
    )
