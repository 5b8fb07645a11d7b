"""Replay of a run from its recorded torques, the counterpart of MuJoCo's `rollout`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.program.ir.blocks import BasicBlock, Lookup, Register
from tarsus.program.ir.program import Program
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.step_program import step_program

Array = NDArray[np.float64]
TORQUES = "torques"


@dataclass(frozen=True, eq=False)
class ReplayedRun:
    """Worlds of a simulation whose torques are replayed."""

    worlds: Worlds
    """Worlds to step."""
    start: Mapping[str, Array]
    """Initial registers by name."""
    steps: int
    """Number of steps with recorded torques."""

    @staticmethod
    def of(simulation: Simulation, torques: Array) -> ReplayedRun:
        """Start from the state of a simulation with torques (steps, worlds, actuators), N m."""
        step = step_program(replace(simulation.plan, controller=None))
        program = with_torque_table(step, torques)
        count = simulation.worlds
        target = simulation.target
        worlds = Worlds(program, count, bits=target.bits, lanes=target.lanes)
        start = {
            register.name: simulation.backend.get(register.name)
            for register in program.of_kind("state", "parameter")
            if register.name in simulation.backend
        }
        return ReplayedRun(
            worlds, start | {"world": np.arange(float(count))[:, None]}, len(torques)
        )

    def time(self) -> float:
        """Time all steps from the start; return the seconds per step and world."""
        write_registers(self.worlds, self.start)
        began = perf_counter()
        self.worlds.advance(self.steps)
        return (perf_counter() - began) / self.steps / self.worlds.count


def with_torque_table(program: Program, torques: Array) -> Program:
    """Replace the action of a step by a table of torques (steps, worlds, actuators), N m."""
    # indices of the torques of this step
    _, count, size = torques.shape
    steps, world = SX.sym("steps"), SX.sym("world")
    first = (steps * count + world) * size
    indices = ca.vertcat(*(first + k for k in range(size)))
    function = ca.Function("at", [steps, world], [indices])
    index_block = BasicBlock.of(function, ("steps", "world"), ("~at",))

    # the action is no longer a parameter
    registers = [r for r in program.registers if r.name != "action"]
    registers += [Register("world", 1, "parameter")]
    registers += [Register(name, size, "temporary") for name in ("~at", "action")]
    return replace(
        program,
        registers=tuple(registers),
        blocks=(index_block, Lookup(TORQUES, "~at", "action"), *program.blocks),
        tables=program.tables | {TORQUES: np.ascontiguousarray(torques, float).ravel()},
    )
