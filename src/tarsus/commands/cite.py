"""`tarsus cite`: what to cite for a run."""

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
    """Print BibTeX entries of the papers and data that a run uses."""

    place: ClassVar[int] = 90
    topic: ClassVar[str] = "Papers"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus cite mini_cheetah": "the default run's papers, as BibTeX",
        "tarsus cite hyq --law hunt_crossley --gait virtual_model": "those of another one",
    }

    robot: RobotName
    law: LawName = "moreau"
    stepper: StepperName = "midpoint"
    gait: GaitName = "auto"
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.references.data import TARSUS

        # what is used for what
        used: dict[str, list[str]] = {}
        entries, without = {}, {}
        for what, citation in [("Tarsus", (TARSUS.at(),)), *_citations(self)]:
            if isinstance(citation, str):
                without[what] = citation or "no reference is known"
                continue
            for cited in citation:
                entries[cited.reference.key] = cited.reference
                place = f" ({cited.where})" if cited.where else ""
                used.setdefault(cited.reference.key, []).append(f"{what}{place}")
        # told
        if self.json:
            cited = [
                {"key": key, "used_for": used[key], "bibtex": reference.bibtex()}
                for key, reference in entries.items()
            ]
            print_json({"entries": cited, "without": without})
            return 0
        for what, instead in without.items():
            print(f"% {what}: {instead}")
        for key, reference in entries.items():
            print("\n".join([f"% {place}" for place in used[key]]))
            print(reference.bibtex(), end="\n\n")
        return 0


def _citations(asked: Cite) -> list[tuple[str, Citation]]:
    """The parts of the run, named for the reader, with their references."""
    from tarsus import registry
    from tarsus.simulation import default_controller, resolve

    robot = asked.base.load(asked.robot)
    _, gait = default_controller.prepare(robot, asked.gait, DEFAULT_DT, [])
    numbers: Citation = "read from a file"
    if asked.robot in registry.names(ROBOTS):
        numbers = getattr(registry.member_module(ROBOTS, "robot", asked.robot), "CITATION", "")
    return [
        (f"robot {robot.name}", numbers),
        (f"contact law {asked.law}", resolve.law(asked.law).citation),
        (f"stepper {asked.stepper}", resolve.stepper(asked.stepper).citation),
        (f"gait {registry.name_of(gait)}", getattr(gait, "citation", "")),
    ]
