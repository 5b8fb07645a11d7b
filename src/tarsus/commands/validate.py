"""`tarsus validate`: closed-form scenes for every law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tarsus.commands.base import FAILED, LAWS, STEPPERS, Command, Flag, called, name_of, print_json

PEER, SCENES = "mujoco", "tarsus.validation.scenes"


@dataclass(frozen=True)
class Validate(Command):
    """Test laws and steppers on scenes whose outcome is known.

    MuJoCo runs beside them. Exits with 1 if a law misses its tolerance; MuJoCo counts only with
    `--law mujoco`.
    """

    place: ClassVar[int] = 40

    law: Annotated[str | None, called("NAME"), name_of("law", LAWS, PEER)] = None
    """Contact law (`tarsus list laws`), path to a Python file with your own, or mujoco; by default
    all."""
    scene: Annotated[str | None, called("NAME"), name_of("scene", SCENES)] = None
    """Scene (`tarsus list scenes`); by default all."""
    stepper: Annotated[str | None, called("NAME"), name_of("stepper", STEPPERS)] = None
    """Time-stepping method (`tarsus list steppers`); by default all."""
    json: Flag = False
    """Print one JSON list of rows and nothing else."""

    def execute(self) -> int:
        from tarsus.validation import report, table

        with report.progress() as tell:
            rows = table.validate(self.law, self.scene, self.stepper, tell)
        print_json([row.as_json() for row in rows]) if self.json else report.tell(rows)
        ours = [row for row in rows if row.law != PEER or self.law == PEER]
        return FAILED if any(row.status == table.FAIL for row in ours) else 0
