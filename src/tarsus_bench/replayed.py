"""A recorded run made again from its torques alone: what MuJoCo's `rollout` does, in our step."""

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
class Replayed:
    """A simulation's worlds, the registers that they start from, and how many steps they have
    torques for.
    """

    worlds: Worlds
    start: Mapping[str, Array]
    steps: int

    @staticmethod
    def of(simulation: Simulation, torques: Array) -> Replayed:
        """From where the simulation stands, with torques (steps, worlds, actuators), N m."""
        program = reading(step_program(replace(simulation.plan, controller=None)), torques)
        count = simulation.worlds
        target = simulation.target
        worlds = Worlds(program, count, bits=target.bits, lanes=target.lanes)
        start = {
            register.name: simulation.backend.get(register.name)
            for register in program.of_kind("state", "parameter")
            if register.name in simulation.backend
        }
        return Replayed(worlds, start | {"world": np.arange(float(count))[:, None]}, len(torques))

    def time(self) -> float:
        """Seconds for one step of one world, over all steps from the start."""
        write_registers(self.worlds, self.start)
        began = perf_counter()
        self.worlds.advance(self.steps)
        return (perf_counter() - began) / self.steps / self.worlds.count


def reading(program: Program, torques: Array) -> Program:
    """A step that takes its action from a table: torques (steps, worlds, actuators)."""
    # where the torques of this step stand
    _, count, size = torques.shape
    steps, world = SX.sym("steps"), SX.sym("world")
    first = (steps * count + world) * size
    at = ca.vertcat(*(first + k for k in range(size)))
    found = BasicBlock.of(ca.Function("at", [steps, world], [at]), ("steps", "world"), ("~at",))

    # they are no parameter any more
    registers = [r for r in program.registers if r.name != "action"]
    registers += [Register("world", 1, "parameter")]
    registers += [Register(name, size, "temporary") for name in ("~at", "action")]
    return replace(
        program,
        registers=tuple(registers),
        blocks=(found, Lookup(TORQUES, "~at", "action"), *program.blocks),
        tables=program.tables | {TORQUES: np.ascontiguousarray(torques, float).ravel()},
    )
