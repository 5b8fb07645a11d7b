"""`tarsus judge`: check a run, recorded with any simulator, against the laws of contact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import ArgumentCheck, Command, Number, argument, print_json
from tarsus.errors import InvalidValue

COLORS = {"pass": "green", "doubtful": "yellow", "fail": "red", "not judged": "dim"}


@dataclass(frozen=True)
class Judge(Command):
    """Check a recorded run, from any simulator, against the laws of contact.

    Prints by how much each contact condition is violated, whether that is acceptable for this
    robot, and the energy balance.
    """

    position: ClassVar[int] = 50
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus judge out/mini_cheetah.nc": "check a Tarsus log",
        "tarsus judge run.csv --robot robot.urdf --friction 0.8": "check another simulator's run",
    }

    run: Annotated[tyro.conf.Positional[Path], argument("RUN")]
    """Recorded run: a log (.nc), arrays (.npz), a table (.csv, .parquet) or a ROS 2 bag; see
    docs/judge.md."""
    robot: Annotated[str | None, argument("ROBOT"), ArgumentCheck(robots.require)] = None
    """Robot's name or file. A log of `tarsus run` names its robot."""
    friction: Number = None
    """Friction coefficient, if the run does not contain it."""
    integrator: Annotated[str | None, argument("NAME")] = None
    """MuJoCo's integrator (Euler, implicit, implicitfast, RK4 or discrete), if the forces come from
    mjData. (default: that of the run or the robot file)"""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.comparison.judge import judge

        if self.friction is not None and self.friction < 0:
            raise InvalidValue(
                f"--friction must be at least 0, not {self.friction:g}.", "--friction"
            )
        with self.progress() as progress:
            progress.show_stage(f"judging {self.run}")
            robot = self.base.load(self.robot) if self.robot else None
            card = judge(self.run, robot, self.friction, self.integrator)
        print_json(card) if self.json else _print(card)
        return 0


def _print(card: dict[str, Any]) -> None:
    """Print the criteria and the energy balance as tables."""
    from rich.console import Console
    from rich.table import Table

    from tarsus.comparison.verdicts import LIMITS

    console = Console(highlight=False, width=110)
    console.print(
        f"{card['robot']}: {card['steps']} steps of {1e3 * card['dt']:g} ms, {card['contacts']}"
        f" contacts, peak normal force {card['normal_force_max']:.1f} N"
    )
    # the criteria, then the energy ledger
    table = Table(
        "criterion", "largest", "verdict", "passes up to", "fails above", "unit", "meaning"
    )
    values = card["residuals"] | {"energy": card["energy"] and card["energy"]["unbalanced"]}
    for name, limits in LIMITS.items():
        value, result = values[name], card["verdicts"][name]
        judged = value is not None
        bounds = [f"{result[bound]:.1e}" if judged else "" for bound in ("good", "bad")]
        shown = f"{value:.1e}" if judged else ""
        verdict = f"[{COLORS[result['verdict']]}]{result['verdict']}[/]"
        meaning = card["not_judged"].get(name, limits.meaning)
        table.add_row(limits.title, shown, verdict, *bounds, limits.unit, meaning)
    console.print(table)
    console.print("[dim]The limits scale with the robot's weight and height (docs/judge.md).[/]")
    if card["energy"] is None:
        return
    ledger = Table("energy term", "J")
    for name, value in card["energy"].items():
        ledger.add_row(name, f"{value:+.3e}" if name != "unbalanced" else f"{value:.1e}")
    console.print(ledger)
