"""`tarsus inspect`: what the compiler makes of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from tarsus.commands.base import Command, File, LawName, RobotName, print_json


@dataclass(frozen=True)
class Inspect(Command):
    """Show what is taken of a robot's file, and what it compiles to."""

    place: ClassVar[int] = 80
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus inspect mini_cheetah": "operations, memory and compile time",
        "tarsus inspect robot.urdf": "what of a file is taken, and what is left out",
        "tarsus inspect mini_cheetah --ptx kernel.ptx": "the GPU's code",
    }

    robot: RobotName
    law: LawName = "moreau"
    precision: Literal["float32", "float64"] = "float32"
    """Number format of the simulation."""
    ptx: File = None
    """Write the GPU kernel as PTX text (NVIDIA's assembly language) to this file."""

    def execute(self) -> int:
        from tarsus.benchmarks.inspect import inspect, tell
        from tarsus.simulation.simulation import Simulation

        bits = 32 if self.precision == "float32" else 64
        with self.progress() as progress:
            progress.say(f"compiling {self.robot}")
            made = Simulation(self.robot, self.law, controller="auto", precision=self.precision)
            measured = inspect(made, bits, self.ptx)
        print_json(measured) if self.json else tell(measured)
        return 0
