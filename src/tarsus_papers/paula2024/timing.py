"""Processing time of a walk of ten seconds."""

from __future__ import annotations

from typing import ClassVar

from tarsus_papers.base import Exhibit, Finding, Row, Task
from tarsus_papers.paula2024.walk import SECONDS, SPEED, run_walk, walk_duration


class Timing(Exhibit):
    """Processing time of both simulators."""

    name: ClassVar[str] = "time"
    title: ClassVar[str] = "Processing time of ten seconds"
    where: ClassVar[str] = "Section 7"
    about: ClassVar[str] = (
        "Time of one core for ten simulated seconds in steps of 0.1 ms: ours with controller,"
        " contact and both stages of the integrator, compiled; MuJoCo's with the recorded torques"
        " replayed in C, its controller left out. The quick version runs two seconds and"
        " multiplies. The paper ran Simulink with a Level-2 S-Function on a machine it does not"
        " name, so the ratios compare machines and languages as well."
    )

    def measure(self, task: Task) -> Finding:
        seconds = walk_duration(task.quick)
        walk, times = run_walk(SPEED, seconds), SECONDS / seconds
        own, peer = times * walk.ours.seconds, times * walk.theirs.seconds
        rows = [
            Row("our simulator", 300.0, own, "s", "section 7", "Tarsus"),
            Row("MuJoCo", 20.0, peer, "s", "section 7", "rollout, without a controller"),
            Row("ours over MuJoCo", 15.0, own / peer, "", "section 7", "300 s over 20 s"),
        ]
        return Finding({"ours": own, "theirs": peer}, rows)
