"""`tarsus compare`: one robot under every law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from tarsus import registry
from tarsus.commands._joint_flags import JointFlags, Joints
from tarsus.commands._mujoco_flags import Mujoco, MujocoFlags
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    LAWS,
    Command,
    Flag,
    Folder,
    GaitName,
    Number,
    RobotName,
    Seconds,
    called,
    names_of,
    print_json,
)
from tarsus.errors import InvalidValue, UnmetCondition


@dataclass(frozen=True)
class Compare(Command):
    """Run one robot under several contact laws and step sizes, side by side.

    Robot, controller and start are the same; the same criteria judge every run. MuJoCo runs at its
    defaults and at the settings that its tuning guide recommends.
    """

    place: ClassVar[int] = 30
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus compare mini_cheetah --laws moreau,mujoco --dts 0.001,0.0025": "two at two steps",
        "tarsus compare hyq --mujoco tuned --mujoco-set impratio=10": "MuJoCo at these settings",
        "tarsus compare hyq --no-bars --no-search --out out": "all laws, quickly; a picture",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Comparison": "laws dts",
        "Motion and ground": "gait duration friction restitution",
        "Effort": "no_bars no_search",
        "Results": "out",
    }

    robot: RobotName
    laws: Annotated[str, called("NAME,..."), names_of("law", LAWS, "mujoco", "all")] = "all"
    """Contact laws (`tarsus list laws`), paths of your own, mujoco for MuJoCo itself, or all."""
    dts: Annotated[str, called("SECONDS,...")] = "0.0001,0.001,0.0025"
    """Lengths of the time step."""
    gait: GaitName = "auto"
    duration: Seconds = 4.0
    """Simulated time of each run."""
    friction: Number = None
    """Friction coefficient of every law; by default the robot's file's, else each law's own."""
    restitution: Number = None
    """Coefficient of restitution of every law that has one; by default each law's own."""
    no_bars: Flag = False
    """Skip the error bars (runs at dt/2 and dt/4)."""
    no_search: Flag = False
    """Skip the search for the largest stable time step of every law."""
    out: Folder = None
    """Write the picture ROBOT_laws.png to this folder."""
    settings: Mujoco = field(default_factory=MujocoFlags)
    joints: Joints = field(default_factory=JointFlags)
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        try:
            dts = list(dict.fromkeys(map(float, registry.split_names(self.dts))))
        except ValueError:
            raise InvalidValue(
                f"--dts must be numbers separated by commas, not {self.dts!r}.", "--dts"
            ) from None
        from tarsus.comparison import laws, picture, report
        from tarsus.files import check_writable, file_name

        # complain before the long measurement, not after it
        robot = self.base.load(self.robot)
        if not robot.candidates:
            raise UnmetCondition(
                f"{robot.name!r} has no contacts: choose a robot that touches the ground.",
                robot.name,
            )
        if self.out:
            check_writable(self.out)
        # every law at every step
        given = {"mu": self.friction, "e_N": self.restitution}
        material = {name: value for name, value in given.items() if value is not None}
        bars, search = not self.no_bars, not self.no_search
        extra = laws.Extra(material, bars, search, self.joints.options, self.settings.shown)
        with self.progress() as progress:
            runs = laws.compare(
                robot, self.laws, dts, self.duration, self.gait, progress.say, extra
            )
        if self.out:
            self.out.mkdir(parents=True, exist_ok=True)
            to = self.out / f"{file_name(robot.name)}_laws.png"
            picture.picture(runs, robot, to)
        print_json(report.rows(runs)) if self.json else report.tell(runs)
        return 0
