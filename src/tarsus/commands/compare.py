"""`tarsus compare`: run one robot under several contact laws and step sizes."""

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
    argument,
    name_list_check,
    print_json,
)
from tarsus.errors import InvalidValue, UnmetCondition


@dataclass(frozen=True)
class Compare(Command):
    """Compare contact laws and step sizes on one robot.

    All runs share the robot, the controller and the initial state, and are judged by the same
    criteria. MuJoCo runs with its default settings and with those that its tuning guide recommends.
    """

    position: ClassVar[int] = 30
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus compare mini_cheetah --laws moreau,mujoco --dts 0.001,0.0025": "compare two engines"
        " at two step sizes",
        "tarsus compare hyq --mujoco tuned --mujoco-set impratio=10": "compare all laws with MuJoCo"
        " at these settings",
        "tarsus compare hyq --no-bars --no-search --out out": "compare all laws quickly; write a"
        " plot",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Comparison": "laws dts",
        "Motion and ground": "gait duration friction restitution",
        "Computation": "no_bars no_search",
        "Result": "out",
    }

    robot: RobotName
    laws: Annotated[str, argument("NAME,..."), name_list_check("law", LAWS, "mujoco", "all")] = (
        "all"
    )
    """Contact laws: names (`tarsus list laws`), paths to your own Python files, mujoco (the MuJoCo
    engine), or all."""
    dts: Annotated[str, argument("SECONDS,...")] = "0.0001,0.001,0.0025"
    """Time steps."""
    gait: GaitName = "auto"
    duration: Seconds = 4.0
    """Simulated time of each run."""
    friction: Number = None
    """Friction coefficient of every law. (default: that of the robot file, else each law's own)"""
    restitution: Number = None
    """Coefficient of restitution of every law that has one. (default: each law's own)"""
    no_bars: Flag = False
    """Skip the error bars, which need extra runs at dt/2 and dt/4."""
    no_search: Flag = False
    """Skip the search for the largest stable time step of every law."""
    out: Folder = None
    """Write the plot ROBOT_laws.png to this folder."""
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

        # reject invalid input before the long measurement, not after it
        robot = self.base.load(self.robot)
        if not robot.candidates:
            raise UnmetCondition(
                f"{robot.name!r} has no contacts: choose a robot that touches the ground.",
                robot.name,
            )
        if self.out:
            check_writable(self.out)
        # run every law at every step size
        options = {"mu": self.friction, "e_N": self.restitution}
        material = {name: value for name, value in options.items() if value is not None}
        bars, search = not self.no_bars, not self.no_search
        extra = laws.CompareOptions(
            material, bars, search, self.joints.options, self.settings.selection
        )
        with self.progress() as progress:
            runs = laws.compare(
                robot, self.laws, dts, self.duration, self.gait, progress.show_stage, extra
            )
        if self.out:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{file_name(robot.name)}_laws.png"
            picture.draw_comparison(runs, robot, path)
        if self.json:
            print_json(report.build_rows(runs))
        else:
            report.print_tables(runs)
        return 0
