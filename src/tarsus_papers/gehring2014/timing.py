"""Computation time of the sections of a compiled step, from the processor's counter."""

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
from tarsus_papers.gehring2014.configurations import CYCLE, Configuration, trotting
from tarsus_papers.gehring2014.runs import at_start

Array = NDArray[np.float64]
# of one configuration: mean and deviation in µs by section, iterations
Sections = Mapping[str, Any]

SECTIONS = ("M, h", "M^-1", "G_B", "u_E", "rest")  # those of figure 7, from below
GAIT_CYCLES, QUICK_GAIT_CYCLES = 25, 2  # 20 s (section Computation Effort for One Time Step)
BEFORE, QUICK_BEFORE = 4.0, 1.6  # s of trot before
# more rounds while two of them gain more than that, to so many times the rounds
STILL, PATIENCE = 0.998, 5
# steps timed by the system's clock: few, so that some round makes them without an interruption
AT_ONCE = 40


@dataclass(eq=False)
class TimedProgram:
    """A configuration's program with time stamps, at the start of control updates of the gait.

    Attributes
    ----------
    part_of_wall : float
        Share of the sections in the wall time, once measured.
    """

    configuration: Configuration
    worlds: Worlds
    steps: int
    part_of_wall: float = 0.0

    def sections(self, rounds: int, tick: float) -> Sections:
        """Return mean and deviation of every section and of the step in µs, and the iterations."""
        start = {r.name: self.worlds.get(r.name) for r in self.worlds.program.of_kind("state")}
        quickest, wall, records, totals = np.array(np.inf), np.array(np.inf), {}, []
        while len(totals) < rounds or (
            totals[-1] < STILL * totals[-3] and len(totals) < PATIENCE * rounds
        ):
            write_registers(self.worlds, start)
            call = min(_seconds(self.worlds, 0) for _ in range(AT_ONCE))
            wall = np.minimum(
                wall, [_seconds(self.worlds, AT_ONCE) - call for _ in range(self.steps // AT_ONCE)]
            )
            write_registers(self.worlds, start)
            records = self.worlds.record(self.steps)
            quickest = np.minimum(quickest, records[CYCLES][:, 0])
            totals.append(quickest.sum())
        self.part_of_wall = float(quickest.sum() * tick / wall.sum())
        iterations = records["iterations"][:, 0, 0]
        return self._summed_up(quickest * tick * 1e6, iterations)

    def _summed_up(self, spent: Array, iterations: Array) -> Sections:
        n = self.configuration.evaluations_per_update
        by_name = dict(zip(self.worlds.program.sections, spent.T, strict=True))
        columns = {name: by_name[name] / n for name in SECTIONS if name in by_name}
        columns["step"] = sum(columns.values(), np.zeros(self.steps))
        columns["controller"] = by_name["controller"]
        grows = bool(np.ptp(iterations))
        return {
            "mean": {name: float(column.mean()) for name, column in columns.items()},
            "deviation": {name: float(column.std()) for name, column in columns.items()},
            "iterations": float(iterations.mean()),
            "with_iterations": (
                float(np.corrcoef(columns["u_E"], iterations)[0, 1]) if grows else None
            ),
        }


def _seconds(worlds: Worlds, steps: int) -> float:
    """Return the wall time of the next few steps in s."""
    began = perf_counter()
    worlds.advance(steps)
    return perf_counter() - began


def timed_program(configuration: Configuration, quick: bool) -> TimedProgram:
    """Return the configuration in its trot, some cycles after the start."""
    simulation = configuration.simulation(trotting())
    plain = at_start(simulation)
    plain.advance(round((QUICK_BEFORE if quick else BEFORE) / simulation.dt))
    registers = {r.name: plain.get(r.name) for r in plain.program.of_kind("state", "parameter")}
    program = step_program(replace(simulation.plan, timed_program=True))
    worlds = write_registers(Worlds(program, 1, lanes=1), registers)
    return TimedProgram(
        configuration, worlds, CYCLE * (QUICK_GAIT_CYCLES if quick else GAIT_CYCLES)
    )
