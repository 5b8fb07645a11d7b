"""Processor time of a walk of ten seconds."""

from __future__ import annotations

from typing import ClassVar

from tarsus_papers.base import Exhibit, Finding, Row, Task
from tarsus_papers.paula2024.walk import SECONDS, SPEED, run_walk, walk_duration


class Timing(Exhibit):
    """Processor time of both simulators."""

    name: ClassVar[str] = "time"
    title: ClassVar[str] = "Processor time of ten seconds"
    location: ClassVar[str] = "Section 7"
    description: ClassVar[str] = (
        "Time of one core for ten simulated seconds with steps of 0.1 ms. Tarsus runs compiled"
        " code for controller, contact and both stages of the integrator. MuJoCo replays recorded"
        " torques in C, without a controller. The reduced version extrapolates from two seconds."
        " The paper ran Simulink with a Level-2 S-Function on an unnamed machine, so the ratios"
        " also compare machines and languages."
    )

    def measure(self, task: Task) -> Finding:
        seconds = walk_duration(task.quick)
        walk, times = run_walk(SPEED, seconds), SECONDS / seconds
        tarsus, peer = times * walk.tarsus.seconds, times * walk.mujoco.seconds
        rows = [
            Row("the paper's simulator, Tarsus", 300.0, tarsus, "s", "section 7"),
            Row("MuJoCo", 20.0, peer, "s", "section 7", "rollout, without a controller"),
            Row("ratio to MuJoCo", 15.0, tarsus / peer, "", "section 7", "300 s / 20 s"),
        ]
        return Finding({"ours": tarsus, "theirs": peer}, rows)
