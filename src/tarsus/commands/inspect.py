"""`tarsus inspect`: what the compiler makes of a robot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from tarsus.commands.base import Command, print_json


@dataclass(frozen=True)
class Inspect(Command):
    """Show the operations of a robot's compiled step, its compile time, and its GPU kernel's
    registers and spills.
    """

    robot: tyro.conf.Positional[str]
    """A built-in robot's name, or a path to an MJCF or URDF file."""
    law: str = "moreau"
    """Contact law, one of `tarsus list laws`."""
    precision: Literal["float32", "float64"] = "float32"
    """Number format."""
    ptx: Path | None = None
    """Write the GPU kernel as PTX text to this file."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.benchmarks.inspect import inspect, tell
        from tarsus.simulation import default_controller, resolve
        from tarsus.simulation.simulation import Simulation

        robot, gait = default_controller.default(
            resolve.robot(self.robot), default_controller.STEP, []
        )
        simulation = Simulation(robot, self.law, controller=gait, precision=self.precision)
        found = inspect(simulation, 32 if self.precision == "float32" else 64, self.ptx)
        print_json(found) if self.json else tell(found)
        return 0
