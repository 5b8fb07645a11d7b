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
from tarsus.errors import InvalidValue

COLORS = {"pass": "green", "doubtful": "yellow", "fail": "red", "not judged": "dim"}


@dataclass(frozen=True)
class Judge(Command):
    """Check a recorded run, from any simulator, against the laws of contact.

    It prints how far each condition of contact is violated, whether that is acceptable for this
    robot, and the energy balance.
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
    integrator: Annotated[str | None, called("NAME")] = None
    """MuJoCo's integrator, if the forces are those of mjData (Euler, implicit, implicitfast, RK4,
    discrete); by default what the run or the robot's file says."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.comparison.judge import judge

        if self.friction is not None and self.friction < 0:
            raise InvalidValue(
                f"--friction must be at least 0, not {self.friction:g}.", "--friction"
            )
        with self.progress() as progress:
            progress.say(f"judging {self.run}")
            robot = self.base.load(self.robot) if self.robot else None
            card = judge(self.run, robot, self.friction, self.integrator)
        print_json(card) if self.json else _tell(card)
        return 0


def _tell(card: dict[str, Any]) -> None:
    """A table to read."""
    from rich.console import Console
    from rich.table import Table

    from tarsus.comparison.verdicts import LIMITS

    console = Console(highlight=False, width=110)
    console.print(
        f"{card['robot']}: {card['steps']} steps of {1e3 * card['dt']:g} ms, {card['contacts']}"
        f" contacts, peak normal force {card['normal_force_max']:.1f} N"
    )
    # the criteria, then the energy ledger
    table = Table("criterion", "largest", "verdict", "passes to", "fails above", "unit", "meaning")
    found = card["residuals"] | {"energy": card["energy"] and card["energy"]["unbalanced"]}
    for name, limits in LIMITS.items():
        value, told = found[name], card["verdicts"][name]
        judged = value is not None
        bounds = [f"{told[bound]:.1e}" if judged else "" for bound in ("good", "bad")]
        shown = f"{value:.1e}" if judged else ""
        verdict = f"[{COLORS[told['verdict']]}]{told['verdict']}[/]"
        meaning = card["not_judged"].get(name, limits.meaning)
        table.add_row(limits.title, shown, verdict, *bounds, limits.unit, meaning)
    console.print(table)
    console.print("[dim]The limits are shares of the robot's weight and height (docs/judge.md).[/]")
    if card["energy"] is None:
        return
    ledger = Table("energy", "J")
    for name, value in card["energy"].items():
        ledger.add_row(name, f"{value:+.3e}" if name != "unbalanced" else f"{value:.1e}")
    console.print(ledger)
