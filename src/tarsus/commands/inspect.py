"""`tarsus inspect`: what a robot's file holds, and what the compiler makes of it."""

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
    """Show what is taken of a robot's file, and what is left out.

    With `--code` also the step that the robot compiles to.
    """

    place: ClassVar[int] = 80
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus inspect robot.urdf": "what of a file is taken, and what is left out",
        "tarsus inspect mini_cheetah --code": "operations, memory and compile time of its step",
        "tarsus inspect mini_cheetah --ptx kernel.ptx": "the GPU's code",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Compiled step": "code ptx law precision",
    }

    robot: RobotName
    code: Flag = False
    """Compile its step, and show operations of its blocks, memory and the GPU's registers."""
    law: LawName = "moreau"
    precision: Literal["float32", "float64"] = "float32"
    """Number format of the step."""
    ptx: File = None
    """The same, and write the GPU kernel as PTX text (NVIDIA's assembly language) to this file."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.commands import _inspection

        # what is taken of the file; what it warns of stands below
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TarsusWarning)
            robot = self.base.load(self.robot)
        for warning in caught:
            if not str(warning.message).endswith(robot.left_out):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        found = _inspection.contents_of(robot, self.law)
        if not self.json:
            _inspection.tell_contents(found)
        # the step, first for the processor
        asked = self.law != "moreau" or self.precision != "float32"
        if self.code or self.ptx or asked:
            bits = 32 if self.precision == "float32" else 64
            with self.progress() as progress:
                progress.say(f"compiling {self.robot}")
                found |= _inspection.compiled_step(
                    _inspection.simulated(robot, self.law, bits), bits
                )
            if not self.json:
                _inspection.tell_step(found)
            with self.progress() as progress:
                most = "" if self.ptx else f", at most {2 * _inspection.PATIENCE:g} s"
                progress.say(f"compiling {self.robot} for a GPU{most}")
                found |= _inspection.kernel(robot, self.law, bits, self.ptx)
            if not self.json:
                _inspection.tell_kernel(found)
        if self.json:
            print_json(found)
        return 0
