"""Instruction bound: duration of a step if no vector instruction had to wait."""

from __future__ import annotations

from time import perf_counter

from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.layout import Target, effort_offset
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds


def operations_per_step(program: Program, target: Target, iterations: float) -> float:
    """Count the arithmetic instructions of one step.

    Code outside loops counts once, and the body of the first loop `iterations` times.
    """
    emitter = Emitter(program, target)
    emitter.text()
    once = sum(count for count, loop in emitter.operations if loop == 0)
    first_loop = sum(count for count, loop in emitter.operations if loop == 1)
    return once + iterations * first_loop


def operations_taken(batch: Worlds, steps: int) -> float:
    """Count the arithmetic instructions of a step while the program runs (decision 0050).

    The result is the mean over `steps` in a batch of one vector of worlds, which starts from the
    state of the first world.
    """
    program, lanes = batch.program, batch.lanes
    worlds = Worlds(program, lanes, bits=batch.target.bits, lanes=lanes)
    for register in program.persistent:
        worlds.set(register.name, batch.first(register.name))
    worlds.advance(steps)
    return float(worlds.data[0, effort_offset(program)].max()) / steps


FMA_LATENCY = 4.0  # cycles of a dependent fused multiply-add on current x86 and Arm processors


def clock() -> float:
    """Measure the processor's frequency in Hz by a chain of dependent multiply-adds."""
    chain, runs = 400, 20000
    b = Builder("clock")
    value = b.declare("x", 1)
    for k in range(chain):
        value = value * (0.5 + 1e-3 * k) + (1.0 + 1e-4 * k)
    worlds = Worlds(b.program(x=value), 1)
    times = []
    for _ in range(6):
        began = perf_counter()
        worlds.advance(runs)
        times.append(perf_counter() - began)
    return runs * chain * FMA_LATENCY / min(times)
