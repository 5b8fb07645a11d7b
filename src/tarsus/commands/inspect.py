"""`tarsus inspect`: what the compiler makes of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tarsus.commands.base import Command, File, Flag, LawName, RobotName, print_json


@dataclass(frozen=True)
class Inspect(Command):
    """Show what is taken of a robot's file, and what it compiles to."""

    place: ClassVar[int] = 80

    robot: RobotName
    law: LawName = "moreau"
    precision: Literal["float32", "float64"] = "float32"
    """Number format of the simulation."""
    ptx: File = None
    """Write the GPU kernel as PTX text (NVIDIA's assembly language) to this file."""
    json: Flag = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.benchmarks.inspect import inspect, tell
        from tarsus.simulation.simulation import Simulation

        simulation = Simulation(self.robot, self.law, controller="auto", precision=self.precision)
        measured = inspect(simulation, 32 if self.precision == "float32" else 64, self.ptx)
        print_json(measured) if self.json else tell(measured)
        return 0
