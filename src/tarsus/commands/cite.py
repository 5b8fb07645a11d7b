"""`tarsus cite`: what to cite for a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from tarsus.commands.base import Command, Name, RobotName, called

if TYPE_CHECKING:
    from tarsus.references.reference import Citation

ROBOTS = "tarsus.robots"


@dataclass(frozen=True)
class Cite(Command):
    """Print BibTeX entries of the papers and data that a run uses."""

    place: ClassVar[int] = 90

    robot: tyro.conf.Positional[RobotName]
    """Built-in robot (`tarsus list robots`) or path to an MJCF or URDF file."""
    law: Name = "moreau"
    """Contact law (`tarsus list laws`), or path to a Python file with your own."""
    stepper: Name = "midpoint"
    """Time-stepping method (`tarsus list steppers`)."""
    gait: Annotated[str | None, called("NAME")] = None
    """Gait (`tarsus list gaits`); by default the one that `tarsus run` chooses."""

    def execute(self) -> int:
        from tarsus.references.data import TARSUS

        used: dict[str, list[str]] = {}
        entries = {}
        for what, citation in [("Tarsus", (TARSUS.at(),)), *_citations(self)]:
            if isinstance(citation, str):
                print(f"% {what}: {citation or 'no reference is known'}")
                continue
            for cited in citation:
                entries[cited.reference.key] = cited.reference
                place = f" ({cited.where})" if cited.where else ""
                used.setdefault(cited.reference.key, []).append(f"{what}{place}")
        for key, reference in entries.items():
            print("\n".join([f"% {place}" for place in used[key]]))
            print(reference.bibtex(), end="\n\n")
        return 0


def _citations(asked: Cite) -> list[tuple[str, Citation]]:
    """The parts of the run, named for the reader, with their references."""
    from tarsus import registry
    from tarsus.simulation import default_controller, resolve

    robot = resolve.robot(asked.robot)
    if asked.gait is None:
        _, gait = default_controller.prepared(robot, default_controller.AUTO, 0.0025, [])
        name = registry.name_of(gait)
    else:
        gait, name = resolve.controller(asked.gait), asked.gait
    numbers: Citation = "read from a file"
    if asked.robot in registry.names(ROBOTS):
        numbers = getattr(registry.module(ROBOTS, "robot", asked.robot), "CITATION", "")
    return [
        (f"robot {robot.name}", numbers),
        (f"contact law {asked.law}", resolve.law(asked.law).citation),
        (f"stepper {asked.stepper}", resolve.stepper(asked.stepper).citation),
        (f"gait {name}", getattr(gait, "citation", "")),
    ]
