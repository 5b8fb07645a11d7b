"""`tarsus cite`: print the references for a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import Command, GaitName, LawName, RobotName, StepperName, print_json
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.references.reference import Citation

ROBOTS = "tarsus.robots"


@dataclass(frozen=True)
class Cite(Command):
    """Print BibTeX entries for the papers and data that a run uses."""

    position: ClassVar[int] = 90
    topic: ClassVar[str] = "Papers"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus cite mini_cheetah": "cite the default law, stepper and gait",
        "tarsus cite hyq --law hunt_crossley --gait virtual_model": "cite another law and gait",
    }

    robot: RobotName
    law: LawName = "moreau"
    stepper: StepperName = "midpoint"
    gait: GaitName = "auto"
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.references.data import TARSUS

        # each reference, and the parts of the run that use it
        used: dict[str, list[str]] = {}
        entries, without = {}, {}
        for part, citation in [("Tarsus", (TARSUS.at(),)), *_list_citations(self)]:
            if isinstance(citation, str):
                without[part] = citation or "no reference is known"
                continue
            for cited in citation:
                entries[cited.reference.key] = cited.reference
                location = f" ({cited.location})" if cited.location else ""
                used.setdefault(cited.reference.key, []).append(f"{part}{location}")
        if self.json:
            cited = [
                {"key": key, "used_for": used[key], "bibtex": reference.bibtex()}
                for key, reference in entries.items()
            ]
            print_json({"entries": cited, "without": without})
            return 0
        for part, reason in without.items():
            print(f"% {part}: {reason}")
        for key, reference in entries.items():
            print("\n".join([f"% {use}" for use in used[key]]))
            print(reference.bibtex(), end="\n\n")
        return 0


def _list_citations(command: Cite) -> list[tuple[str, Citation]]:
    """List the parts of the run, described for the reader, with their references."""
    from tarsus import registry
    from tarsus.simulation import default_controller, resolve

    robot = command.base.load(command.robot)
    _, gait = default_controller.prepare(robot, command.gait, DEFAULT_DT, [])
    robot_data: Citation = "read from a file"
    if command.robot in registry.names(ROBOTS):
        robot_data = getattr(registry.member_module(ROBOTS, "robot", command.robot), "CITATION", "")
    return [
        (f"robot {robot.name}", robot_data),
        (f"contact law {command.law}", resolve.resolve_law(command.law).citation),
        (f"stepper {command.stepper}", resolve.resolve_stepper(command.stepper).citation),
        (f"gait {registry.name_of(gait)}", getattr(gait, "citation", "")),
    ]
