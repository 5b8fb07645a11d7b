"""`tarsus bench --laws`: cost of each contact law.

The cost is the time of a step in a batch relative to the hard law, and the number of operations of
the compiled step.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from tarsus import registry, robots
from tarsus.control.gaits.trot import Trot
from tarsus.program.lowering.tape import create_tape
from tarsus.simulation.simulation import Simulation

LAWS, HARD = "tarsus.contact.laws", "moreau"
WORLDS, DT, STEPS, ROUNDS = 4096, 0.001, 100, 5


def law_costs(progress: Callable[[str], None] = lambda text: None) -> list[dict[str, Any]]:
    """Measure every law with Mini Cheetah trotting: 4096 worlds, one thread, float64, dt 1 ms.

    Parameters
    ----------
    progress
        Function that is called with the current measurement.

    Returns
    -------
    list of dict
        One row per law. ratio: time of a step divided by that of the hard law, median over
        interleaved rounds [1]. microseconds: median time of a step of one world. operations_once:
        operations outside loops. operations_in_loops: operations in the body of each loop.
    """
    robot = robots.load("mini_cheetah").with_contacts("*_foot")
    names = registry.names(LAWS)
    simulations: dict[str, Simulation] = {}
    for name in names:
        progress(f"compiling {name}")
        simulations[name] = Simulation(robot, name, controller=Trot(), dt=DT, worlds=WORLDS)
    times: dict[str, list[float]] = {name: [] for name in names}
    for k in range(ROUNDS):
        progress(f"round {k + 1} of {ROUNDS}")
        for name, simulation in simulations.items():
            simulation.reset()
            began = perf_counter()
            simulation.advance(STEPS * DT)
            times[name].append((perf_counter() - began) / STEPS / WORLDS)
    return [_row(name, simulations[name], times) for name in names]


def _row(name: str, simulation: Simulation, times: dict[str, list[float]]) -> dict[str, Any]:
    counts = [
        (inside, sum(create_tape(block.function).operation_counts().values()))
        for block, inside in simulation.program.expanded.basic_blocks()
    ]
    return {
        "law": name,
        "ratio": median(
            seconds / hard for seconds, hard in zip(times[name], times[HARD], strict=True)
        ),
        "microseconds": 1e6 * median(times[name]),
        "operations_once": sum(count for inside, count in counts if not inside),
        "operations_in_loops": [count for inside, count in counts if inside],
    }
