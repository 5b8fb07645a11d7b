"""`tarsus validate`: closed-form scenes for every law."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.commands.base import FAILED, Command, print_json

PEER = "mujoco"


@dataclass(frozen=True)
class Validate(Command):
    """Measure laws and steppers, and MuJoCo beside them, on scenes with a known outcome.

    The exit code is 1 if a law is off by more than it may; MuJoCo's rows count only when it is
    asked for.
    """

    law: str | None = None
    """One of `tarsus list laws`, or mujoco; by default every law, and MuJoCo where no stepper is
    named.
    """
    scene: str | None = None
    """One of `tarsus list scenes`; by default every scene."""
    stepper: str | None = None
    """One of `tarsus list steppers`; by default every stepper."""
    json: bool = False
    """Print one JSON list of rows and nothing else."""

    def execute(self) -> int:
        from tarsus.validation import report, table

        with report.progress() as tell:
            rows = table.validate(self.law, self.scene, self.stepper, tell)
        print_json([row.as_json() for row in rows]) if self.json else report.tell(rows)
        ours = [row for row in rows if row.law != PEER or self.law == PEER]
        return FAILED if any(row.status == table.FAIL for row in ours) else 0
