"""`tarsus judge`: the report card of a run made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from tarsus.commands.base import Command, print_json

ROWS = {
    "signorini_J": ("Signorini", "J", "pushes and approaches, or pulls"),
    "cone_Ns": ("friction cone", "N s", "impulse outside its disc"),
    "dissipation_J": ("maximum dissipation", "J", "what friction does not take of a slip"),
    "penetration_m": ("penetration", "m", "depth in the ground"),
    "creep_m_per_s": ("creep", "m/s", "slip of contacts that stick"),
    "equation_N": ("equation of motion", "N, N m", "left over in the momentum balance of a step"),
}


@dataclass(frozen=True)
class Judge(Command):
    """Judge a run of MuJoCo, of another simulator or of our own by the yardstick of every law."""

    run: tyro.conf.Positional[Path]
    """The trajectory: an .npz file (docs/judge.md names its arrays) or a log of tarsus run (.nc).
    """
    robot: str | None = None
    """A built-in robot's name, or a path to an MJCF or URDF file; a log of ours knows its built-in
    robot.
    """
    friction: float | None = None
    """Friction coefficient, if the trajectory does not say."""
    json: bool = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        from tarsus.comparison.judge import judge

        card = judge(self.run, self.robot, self.friction)
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
