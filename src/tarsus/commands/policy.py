"""`tarsus policy`: a policy trained elsewhere, its contract, and what it does under every law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import tyro

from tarsus import registry, robots
from tarsus.commands.base import (
    LAWS,
    TERRAINS,
    Checked,
    Command,
    File,
    Flag,
    Folder,
    Seconds,
    Settings,
    called,
    each_setting,
    name_of,
    names_of,
    print_json,
)
from tarsus.errors import InvalidValue

if TYPE_CHECKING:
    from tarsus.policies.binding import BoundPolicy
    from tarsus.policies.check import PolicyCheck
    from tarsus.policies.contract import Contract

PEER = "mujoco"
SHOWN = 5  # suggestions


def _require(robot: str | None) -> None:
    """Raise UnknownName with near names unless the robot, if one is named, can be loaded."""
    if robot is not None:
        robots.require(robot)


MovedRobot = Annotated[
    str | None,
    called("ROBOT", "Robot that it moves: built in, or path to an MJCF, URDF or SDF file."),
    Checked(_require, lambda: registry.names("tarsus.robots")),
]


@dataclass(frozen=True)
class PolicyCommand(Command):
    """Run a policy trained elsewhere, and check what it depends on.

    inspect prints its contract: every value, where it came from, and what is missing. run simulates
    it. check runs the same trials under several contact laws and in MuJoCo, and finds how far
    friction, pushes, delays, gains, mass and noise may go. doctor finds the single change of the
    contract that would make the policy walk.
    """

    place: ClassVar[int] = 52
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus policy inspect policy.onnx --robot g1.xml": "what it sees and what it moves",
        "tarsus policy run policy.toml --robot go1.xml --ask 1 0 0 --out out": "a log of 10 s",
        "tarsus policy run policy.onnx --robot g1.xml --law compliant": "on softer ground",
        "tarsus policy check policy.onnx --robot g1.xml --laws all": "who falls under which law",
        "tarsus policy doctor policy.toml --robot go1.xml": "why does it not walk",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Policy": "config set robot ask",
        "Engine and ground": "law engine laws dt terrain",
        "Trial": "duration trials seed survival_only",
        "Result": "out write",
    }

    action: Annotated[
        tyro.conf.Positional[Literal["inspect", "run", "check", "doctor"]],
        called("ACTION", "inspect, run, check or doctor."),
    ]
    policy: tyro.conf.Positional[
        Annotated[
            Path,
            called(
                "POLICY",
                "Network (.onnx, TorchScript), policy.toml, or a folder with one of them.",
            ),
        ]
    ]
    robot: MovedRobot = None
    config: File = None
    """Contract: the trainer's deploy.yaml, or a policy.toml; by default the one in the network's
    folder."""
    set: Settings = ()
    """Values of the contract: rate=50 scale=0.25 (`tarsus policy inspect` lists them)."""
    ask: Annotated[tuple[float, float, float], called("M/S M/S RAD/S")] = (0.5, 0.0, 0.0)
    """Velocity asked for: forward, to the left, and turning left."""
    law: Annotated[str, called("NAME"), name_of("law", LAWS)] = "moreau"
    """Contact law of a run, and of the margins."""
    engine: Literal["tarsus", "mujoco"] = "tarsus"
    """Simulator of a run."""
    laws: Annotated[str, called("NAME,..."), names_of("law", LAWS, PEER, "all")] = (
        "moreau,soft_convex,compliant,hertz,mujoco"
    )
    """Contact laws of the trials; mujoco adds MuJoCo at default and tuned settings, all is every
    one."""
    dt: Seconds = 0.0025
    """Length of a time step."""
    terrain: Annotated[str, called("NAME"), name_of("terrain", TERRAINS)] = "plane"
    """Ground of a run."""
    duration: Seconds = 10.0
    """Simulated time."""
    trials: Annotated[int, called("NUMBER")] = 200
    """How many, for each law; a fifth of them for each value of a margin."""
    seed: Annotated[int, called("NUMBER")] = 0
    """Of what is drawn for the trials."""
    survival_only: Flag = False
    """Skip the margins: how far friction, pushes, delays, ... may go under --law."""
    out: Folder = None
    """Write the log of a run, or the report of a check as JSON, to this folder."""
    write: File = None
    """With inspect: write the contract to this file, policy.toml say, to complete it there."""

    def execute(self) -> int:
        from tarsus.policies.loading import contract_of

        settings = each_setting(self.set)
        contract = contract_of(self.policy, self.config, settings)
        if self.action == "inspect":
            return self._inspect(contract)
        for flag, value in (("--duration", self.duration), ("--dt", self.dt)):
            if not value > 0:
                raise InvalidValue(f"{flag} must be positive, not {value:g}.", flag)
        if self.trials < 1 or self.seed < 0:
            raise InvalidValue("--trials must be at least 1, and --seed at least 0.", "--trials")
        actions = {"run": self._run, "check": self._check, "doctor": self._doctor}
        return actions[self.action](contract)

    def _inspect(self, contract: Contract) -> int:
        from tarsus.policies import policy_toml
        from tarsus.policies.binding import completed
        from tarsus.policies.inspection import described, rows
        from tarsus.simulation import resolve

        if self.robot is not None:
            contract = completed(contract, resolve.robot(self.robot))
        if self.write is not None:
            from tarsus.files import write_text

            write_text({self.write: policy_toml.written(contract, self.write.resolve().parent)})
        if self.json:
            print_json(described(contract))
            return 0
        from rich.markup import escape

        from tarsus.viewer.tables import TextTable

        table = [[escape(cell) for cell in row] for row in rows(contract)]
        TextTable(["value", "is", "from"], table, ("value", "is", "from")).print()
        for question in contract.missing():
            likely = f" Likely: {', '.join(question.choices)}." if question.choices else ""
            print(f"missing: {question.name}, {question.meaning}.{likely}")
        for doubt in contract.doubts:
            print(f"doubt: {doubt}")
        if self.write is not None:
            print(f"written: {self.write}")
        return 0

    def _moved(self) -> str:
        """The robot that is named; InvalidValue if none is."""
        if self.robot is None:
            raise InvalidValue("name the robot that the policy moves: --robot FILE.", "--robot")
        return self.robot

    def _bound(self, contract: Contract) -> BoundPolicy:
        from tarsus.policies.binding import BoundPolicy
        from tarsus.simulation import resolve

        return BoundPolicy.of(contract, resolve.robot(self._moved()))

    def _run(self, contract: Contract) -> int:
        from tarsus.mujoco_runs.simulation import MujocoSimulation
        from tarsus.policies.controller import PolicyController
        from tarsus.policies.inspection import outcome
        from tarsus.policies.worlds import Conditions, placed, standing_heights
        from tarsus.simulation.recording.divergence import Diverged
        from tarsus.simulation.recording.log import save_log
        from tarsus.simulation.simulation import Simulation

        drive = PolicyController(contract, self._moved(), self.ask)
        bound = drive.bound
        simulation: Any
        if self.engine == PEER:
            simulation = MujocoSimulation(bound.driven, None, self.terrain, drive, self.dt)
        else:
            simulation = Simulation(
                bound.driven, self.law, terrain=self.terrain, controller=drive, dt=self.dt
            )
        begin = Conditions.alike(bound, 1).q
        heights = standing_heights(simulation.robot, simulation.terrain, begin)
        simulation.set(q=placed(begin, heights, bound)[0])
        with self.progress() as progress:
            try:
                log = simulation.run(self.duration, progress.towards(self.duration))
            except Diverged as error:
                if error.log is None:
                    raise
                log = error.log
        found = outcome(bound, log, np.asarray(self.ask, float))
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            file = self.out / f"{bound.robot.name}_policy.nc"
            save_log(log, file)
            found["log"] = str(file)
        if self.json:
            print_json(found)
            return 0
        for name, value in found.items():
            print(f"{name}: {value}")
        return 0

    def _check(self, contract: Contract) -> int:
        from tarsus.policies.check import check_policy
        from tarsus.policies.trials import TrialPlan

        names = registry.split_names(self.laws)
        names = [*registry.names(LAWS), PEER] if "all" in names else names
        plan = TrialPlan(np.asarray(self.ask), self.dt, self.duration, self.trials, self.seed)
        with self.progress() as progress:
            check = check_policy(
                self._bound(contract),
                names,
                plan,
                self.law,
                survival_only=self.survival_only,
                report=progress.say,
            )
        written = []
        if self.out is not None:
            from tarsus.files import json_text, write_text
            from tarsus.policies.report import page

            self.out.mkdir(parents=True, exist_ok=True)
            written = [self.out / "policy_check.html", self.out / "policy_check.json"]
            write_text(
                dict(zip(written, (page(check), json_text(check.plain(), indent=2)), strict=True))
            )
        if self.json:
            print_json(check.plain())
        else:
            self._print_check(check)
            for file in written:
                print(f"Written: {file}")
        return 0

    @staticmethod
    def _print_check(check: PolicyCheck) -> None:
        from tarsus.policies.inspection import (
            events_table,
            margin_table,
            separation_table,
            survival_table,
        )
        from tarsus.policies.report import setup, verdicts
        from tarsus.viewer.tables import TextTable

        print(setup(check))
        TextTable(*survival_table(check.rows), ("engine", "remark")).print()
        if check.events:
            print("\nHow falls begin")
            TextTable(*events_table(check.events), ("engine",)).print()
        if check.margins:
            print("\nMargins: where half of the trials fall, or miss the command by more than half")
            TextTable(*margin_table(check.margins), ("factor", "unit", "law")).print()
        if check.separation is not None:
            one = check.separation
            print(f"\nSettings of {one.falling}, one changed at a time")
            TextTable(*separation_table(one), ("change",)).print()
        print("\n" + "\n".join(verdicts(check)))

    def _doctor(self, contract: Contract) -> int:
        from tarsus.policies.doctor import diagnosis
        from tarsus.policies.inspection import suggestion_table

        bound = self._bound(contract)
        with self.progress() as progress:
            found = diagnosis(
                bound.contract, bound.robot, dt=self.dt, law=self.law, say=progress.say
            )
        if self.json:
            print_json(asdict(found))
            return 0
        own = found.as_it_is
        print(f"As it is: {100 * own.stood:.0f} % of the trials stood, score {own.score:.2f}.")
        if not found.suggestions:
            print("No single change of the contract makes the policy do clearly better.")
            return 0
        from tarsus.viewer.tables import TextTable

        print("Changes that would make the policy do better, the best first:")
        TextTable(*suggestion_table(found, SHOWN), ("mistake", "change")).print()
        return 0
