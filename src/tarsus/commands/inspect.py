"""`tarsus inspect`: show what Tarsus reads from a robot file, and the compiled time step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import Command, File, Flag, LawName, RobotName, print_json
from tarsus.errors import TarsusWarning


@dataclass(frozen=True)
class Inspect(Command):
    """Show what Tarsus reads from a robot file, and what it does not support.

    With `--code`, show the size of the robot's compiled time step too.
    """

    position: ClassVar[int] = 80
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus inspect robot.urdf": "list supported and unsupported elements of a file",
        "tarsus inspect mini_cheetah --code": "show operations, memory and compile time of a step",
        "tarsus inspect mini_cheetah --ptx kernel.ptx": "write the GPU code",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Compiled step": "code ptx law precision",
    }

    robot: RobotName
    code: Flag = False
    """Compile a time step; show the operations of its blocks, its memory and GPU registers."""
    law: LawName = "moreau"
    precision: Literal["float32", "float64"] = "float32"
    """Floating-point precision of the compiled step."""
    ptx: File = None
    """Like --code, and write the GPU kernel as PTX (NVIDIA's assembly language) to this file."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.commands import _inspection

        # read the file; its own list of unsupported elements replaces the warning
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TarsusWarning)
            robot = self.base.load(self.robot)
        for warning in caught:
            if not str(warning.message).endswith(robot.unsupported):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        report = _inspection.read_contents(robot, self.law)
        if not self.json:
            _inspection.print_contents(report)
        # compile the step, first for the CPU
        step_options = self.law != "moreau" or self.precision != "float32"
        if self.code or self.ptx or step_options:
            bits = 32 if self.precision == "float32" else 64
            with self.progress() as progress:
                progress.show_stage(f"compiling {self.robot}")
                report |= _inspection.measure_step(
                    _inspection.create_simulation(robot, self.law, bits), bits
                )
            if not self.json:
                _inspection.print_step(report)
            with self.progress() as progress:
                limit = "" if self.ptx else f" (at most {2 * _inspection.GPU_TIMEOUT:g} s)"
                progress.show_stage(f"compiling {self.robot} for a GPU{limit}")
                report |= _inspection.compile_kernel(robot, self.law, bits, self.ptx)
            if not self.json:
                _inspection.print_kernel(report)
        if self.json:
            print_json(report)
        return 0
