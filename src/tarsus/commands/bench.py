"""`tarsus bench`: speed against MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.commands.base import Command, print_json, teller


@dataclass(frozen=True)
class Bench(Command):
    """Measure speed against MuJoCo's rollout on the same robot, trot and machine, settings included."""

    json: bool = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.benchmarks.report import tell
        from tarsus.benchmarks.speed import bench

        figures = bench(teller(self.json))
        print_json(figures) if self.json else tell(figures)
        return 0
