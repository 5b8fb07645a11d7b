"""`tarsus bench`: speed against MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tarsus.commands.base import Command, print_json, teller


@dataclass(frozen=True)
class Bench(Command):
    """Measure speed against MuJoCo's rollout on the same robot, trot and machine, settings included."""

    device: Literal["cpu", "cuda"] = "cpu"
    """cuda: instead, correctness and speed of the GPU kernel, with MuJoCo Warp beside it if that is installed."""
    budget: float = 480.0
    """Seconds after which no further part of the GPU's benchmark is begun."""
    laws: bool = False
    """Instead, the cost of every contact law against the hard law."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.benchmarks.gpu import cuda_bench
        from tarsus.benchmarks.laws import law_costs
        from tarsus.benchmarks.report import tell, tell_laws, tell_parts
        from tarsus.benchmarks.speed import bench

        if self.device == "cuda":
            found = cuda_bench(self.budget, teller(self.json))
            print_json(found) if self.json else tell_parts(found)
            return 0
        if self.laws:
            costs = law_costs(teller(self.json))
            print_json(costs) if self.json else tell_laws(costs)
            return 0
        figures = bench(teller(self.json))
        print_json(figures) if self.json else tell(figures)
        return 0
