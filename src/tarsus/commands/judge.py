"""`tarsus judge`: the report card of a run made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import Checked, Command, Number, called, print_json
from tarsus.errors import TarsusError

ROWS = {
    "signorini_J": ("Signorini", "J", "force while the contact separates, or a pull"),
    "cone_Ns": ("friction cone", "N s", "friction beyond mu times the normal impulse"),
    "dissipation_J": ("maximum dissipation", "J", "friction not opposed to the slip"),
    "penetration_m": ("penetration", "m", "depth in the ground"),
    "creep_m_per_s": ("creep", "m/s", "slip speed of contacts that should stick"),
    "equation_N": ("equation of motion", "N, N m", "imbalance of momentum over a step"),
}


@dataclass(frozen=True)
class Judge(Command):
    """Check a recorded run, from any simulator, against the laws of contact.

    It prints how far each condition of contact is violated, and the energy balance.
    """

    place: ClassVar[int] = 50
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus judge out/mini_cheetah.nc": "a log of our own",
        "tarsus judge run.csv --robot robot.urdf --friction 0.8": "a table from elsewhere",
    }

    run: Annotated[tyro.conf.Positional[Path], called("RUN")]
    """The recorded run: a log (.nc), arrays (.npz), a table (.csv, .parquet), a ROS 2 bag
    (docs/judge.md)."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot's name or file; not needed for a log of `tarsus run`, which names its own."""
    friction: Number = None
    """Friction coefficient, if the run does not contain it."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.comparison.judge import judge

        if self.friction is not None and self.friction < 0:
            raise TarsusError(f"--friction must not be negative, not {self.friction:g}.")
        with self.progress() as progress:
            progress.say(f"judging {self.run}")
            robot = self.base.load(self.robot) if self.robot else None
            card = judge(self.run, robot, self.friction)
        print_json(card) if self.json else _tell(card)
        return 0


def _tell(card: dict[str, Any]) -> None:
    """A table to read."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=110)
    console.print(
        f"{card['robot']}: {card['steps']} steps of {1e3 * card['dt']:g} ms, {card['contacts']}"
        f" contacts, peak normal force {card['normal_force_max']:.1f} N"
    )
    table = Table("criterion", "largest", "unit", "what it measures")
    for name, (title, unit, meaning) in ROWS.items():
        value = card["residuals"][name]
        told = card["not_judged"].get(name, meaning)
        table.add_row(title, "not judged" if value is None else f"{value:.2e}", unit, told)
    console.print(table)
    if card["energy"] is None:
        console.print(f"energy: not judged: {card['not_judged']['energy']}")
        return
    ledger = Table("energy", "J")
    for name, value in card["energy"].items():
        ledger.add_row(name, f"{value:+.3e}" if name != "unbalanced" else f"{value:.1e}")
    console.print(ledger)
