"""Duration of one cycle (Sugihara 2006, section IV-A)."""

from __future__ import annotations

from time import thread_time
from typing import Any, ClassVar

from tarsus.contact.base import Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.simulation.simulation import Simulation
from tarsus_papers.base import Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import (
    DT,
    MU_S,
    STEPPER,
    falling_floor,
    floor,
    gains,
    hoap1,
)
from tarsus_papers.sugihara2006.motion import SquatAndSway

PUBLISHED = 1.5e-3  # s: Celeron, 2.0 GHz (section IV-A)
BEFORE, STEPS, ROUNDS = 0.5, 200, 8  # s of motion before timing; steps per timing; timings
LAWS: dict[str, Law] = {
    "micro_macro, single pass": floor(1.0, passes="once"),
    "micro_macro, consistent": floor(1.0),
    "micro": falling_floor("timestep", "compression"),
    "moreau": Moreau(mu=MU_S),
}


class CycleTime(Exhibit):
    """One cycle, including the controller, of one world on one core."""

    name: ClassVar[str] = "cost"
    title: ClassVar[str] = "The time of one cycle"
    location: ClassVar[str] = "section IV-A"
    description: ClassVar[str] = (
        "One world on one core, eight vertices, during the standing motion: controller, dynamics,"
        " contact and integration of a step of 1 ms. The paper's 1.5 ms are from a Celeron of 2.0"
        " GHz. The machines are twenty years apart, so the comparison is for information only."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding(
                {}, notes=["Skipped in the reduced version: it would time the compiler."]
            )
        seconds: dict[str, Any] = {}
        for name, law in LAWS.items():
            task.on_progress(name)
            seconds[name] = _cycle(law)
        rows = [
            Row(
                f"one cycle, {name}",
                1e6 * PUBLISHED if name.startswith("micro_macro") else None,
                1e6 * times,
                "µs",
                "section IV-A",
            )
            for name, times in seconds.items()
        ]
        return Finding({"seconds": seconds}, rows)


def _cycle(law: Law) -> float:
    """Return the processor time of a step, in s: the least mean of several timings."""
    robot = hoap1()
    motion = SquatAndSway(**gains(robot, DT))
    simulation = Simulation(robot, law, STEPPER, controller=motion, dt=DT, contacts="feet")
    simulation.advance(BEFORE)
    times = []
    for _ in range(ROUNDS):
        began = thread_time()
        simulation.backend.advance(STEPS)
        times.append((thread_time() - began) / STEPS)
    return min(times)
