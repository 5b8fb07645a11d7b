"""`tarsus compare`: one robot under every law."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from tarsus.commands.base import Command, print_json, teller
from tarsus.errors import TarsusError


@dataclass(frozen=True)
class Compare(Command):
    """Run one robot, controller and start under several laws and step sizes, and judge them by one
    yardstick.
    """

    robot: tyro.conf.Positional[str]
    """A built-in robot's name, or a path to an MJCF or URDF file."""
    laws: str = "all"
    """Laws separated by commas, names or paths of your own files; or all. mujoco adds MuJoCo's soft
    contact.
    """
    dts: str = "0.0001,0.001,0.0025"
    """Step sizes, s, separated by commas."""
    gait: str | None = None
    """Gait, one of `tarsus list gaits`; by default trot where the robot can, else stand."""
    duration: float = 4.0
    """Simulated time of each run, s."""
    friction: float | None = None
    """Friction coefficient mu of every law; by default each law's own."""
    restitution: float | None = None
    """Restitution e_N of every law that has it; by default each law's own."""
    bars: bool = True
    """Error bars: run dt / 2 and dt / 4 too."""
    limits: bool = True
    """Search the largest stable dt of every law by bisection."""
    out: Path | None = None
    """Folder for the picture ROBOT_laws.png; by default none is drawn."""
    json: bool = False
    """Print one JSON list of rows and nothing else."""

    def execute(self) -> int:
        from tarsus import robots
        from tarsus.comparison import laws, report

        try:
            dts = [float(dt) for dt in self.dts.split(",")]
        except ValueError:
            raise TarsusError(
                f"--dts takes numbers separated by commas, not {self.dts!r}."
            ) from None
        robot = robots.load(self.robot)
        given = {"mu": self.friction, "e_N": self.restitution}
        material = {name: value for name, value in given.items() if value is not None}
        extra = laws.Extra(material, self.bars, self.limits)
        runs = laws.compare(
            robot, self.laws, dts, self.duration, self.gait, teller(self.json), extra
        )
        if self.out:
            self.out.mkdir(parents=True, exist_ok=True)
            report.picture(runs, self.out / f"{robot.name}_laws.png")
        print_json(report.rows(runs)) if self.json else report.tell(runs)
        return 0
