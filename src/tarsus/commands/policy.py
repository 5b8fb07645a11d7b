"""`tarsus policy`: inspect, run and check a policy that was trained with other software."""

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
    ArgumentCheck,
    Command,
    File,
    Flag,
    Folder,
    OptionalSeconds,
    Seconds,
    Settings,
    argument,
    collect_settings,
    name_check,
    name_list_check,
    print_json,
)
from tarsus.errors import InvalidValue

if TYPE_CHECKING:
    from tarsus.policies.binding import BoundPolicy
    from tarsus.policies.check import PolicyCheck
    from tarsus.policies.contract import Contract

PEER = "mujoco"
MAX_SUGGESTIONS = 5  # that `doctor` prints


def _require(robot: str | None) -> None:
    """Raise TarsusError if a robot is named that cannot be loaded."""
    if robot is not None:
        robots.require(robot)


PolicyRobot = Annotated[
    str | None,
    argument(
        "ROBOT", "Robot that the policy controls: built-in, or path to an MJCF, URDF or SDF file."
    ),
    ArgumentCheck(_require, lambda: registry.names("tarsus.robots")),
]


@dataclass(frozen=True)
class PolicyCommand(Command):
    """Inspect, run and check a policy that was trained with other software.

    `inspect` prints the policy's contract: every value, its source, and what is missing.

    `run` simulates the policy.

    `check` runs the same trials under several contact laws and in MuJoCo. It also finds the
    margins of friction, pushes, delays, gains, mass, ground stiffness, joint friction and noise.

    `doctor` finds single changes of the contract that improve the policy.
    """

    position: ClassVar[int] = 52
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus policy inspect policy.onnx --robot g1.xml": "list observations, actions and gains",
        "tarsus policy run policy.toml --robot go1.xml --command 1 0 0 --out out": "walk forward"
        " for 10 s; write a log",
        "tarsus policy run policy.onnx --robot g1.xml --law compliant": "walk on softer ground",
        "tarsus policy check policy.onnx --robot g1.xml --laws all": "count the falls under every"
        " law",
        "tarsus policy doctor policy.toml --robot go1.xml": "find out why it does not walk",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Policy": "config set robot command",
        "Engine and ground": "law engine laws dt terrain",
        "Trial": "duration trials seed survival_only",
        "Result": "out write",
    }

    action: Annotated[
        tyro.conf.Positional[Literal["inspect", "run", "check", "doctor"]],
        argument("ACTION", "inspect, run, check or doctor."),
    ]
    policy: tyro.conf.Positional[
        Annotated[
            Path,
            argument(
                "POLICY",
                "Network (.onnx, TorchScript), policy.toml, or a folder with one of them or of"
                " `tarsus learn`.",
            ),
        ]
    ]
    robot: PolicyRobot = None
    config: File = None
    """Contract: the trainer's deploy.yaml, or a policy.toml. (default: the one in the network's
    folder)"""
    set: Settings = ()
    """Set values of the contract, such as rate=50 scale=0.25 (`tarsus policy inspect` lists
    them)."""
    command: Annotated[tuple[float, float, float], argument("M/S M/S RAD/S")] = (0.5, 0.0, 0.0)
    """Commanded velocity: forward, left, and turning left."""
    law: Annotated[str, argument("NAME"), name_check("law", LAWS)] = "moreau"
    """Contact law for `run`, `doctor` and the margins of `check`."""
    engine: Literal["tarsus", "mujoco"] = "tarsus"
    """Simulator for `run`."""
    laws: Annotated[str, argument("NAME,..."), name_list_check("law", LAWS, PEER, "all")] = (
        "moreau,soft_convex,compliant,hertz,mujoco"
    )
    """Contact laws for `check`; mujoco adds MuJoCo with default and tuned settings; or all."""
    dt: OptionalSeconds = None
    """Time step. (default: the longest up to 0.0025 of which the control period is a multiple)"""
    terrain: Annotated[str, argument("NAME"), name_check("terrain", TERRAINS)] = "plane"
    """Terrain for `run`."""
    duration: Seconds = 10.0
    """Simulated time."""
    trials: Annotated[int, argument("NUMBER")] = 200
    """Number of trials for each law; the search for margins uses a fifth of it for each value."""
    seed: Annotated[int, argument("NUMBER")] = 0
    """Seed of the trials' random numbers."""
    survival_only: Flag = False
    """Skip the search for the margins of friction, pushes, delays and so on."""
    out: Folder = None
    """Write the log of `run`, or the report of `check` (a page and JSON), to this folder."""
    write: File = None
    """With `inspect`, write the contract to this file, such as policy.toml, to complete it
    there."""

    def execute(self) -> int:
        from tarsus.policies.loading import load_contract

        settings = collect_settings(self.set)
        contract = load_contract(self.policy, self.config, settings)
        if self.action == "inspect":
            return self._inspect(contract)
        for flag, value in (("--duration", self.duration), ("--dt", self.dt)):
            if value is not None and not value > 0:
                raise InvalidValue(f"{flag} must be positive, not {value:g}.", flag)
        if self.trials < 1 or self.seed < 0:
            raise InvalidValue("--trials must be at least 1 and --seed at least 0.", "--trials")
        actions = {"run": self._run, "check": self._check, "doctor": self._doctor}
        return actions[self.action](contract)

    def _inspect(self, contract: Contract) -> int:
        from tarsus.policies import policy_toml
        from tarsus.policies.binding import fill_gains
        from tarsus.policies.inspection import contract_data, contract_rows
        from tarsus.simulation import resolve

        if self.robot or contract.robot:
            contract = fill_gains(contract, resolve.resolve_robot(self._robot_of(contract)))
        if self.write is not None:
            from tarsus.files import write_text

            write_text({self.write: policy_toml.to_toml(contract, self.write.resolve().parent)})
        if self.json:
            print_json(contract_data(contract))
            return 0
        from rich.markup import escape

        from tarsus.viewer.tables import TextTable

        table = [[escape(cell) for cell in row] for row in contract_rows(contract)]
        head = ["name", "value", "source"]
        TextTable(head, table, head).print()
        for question in contract.missing():
            likely = f" Likely: {', '.join(question.choices)}." if question.choices else ""
            print(f"missing: {question.name}, {question.meaning}.{likely}")
        for doubt in contract.assumptions:
            print(f"uncertain: {doubt}")
        if self.write is not None:
            print(f"wrote {self.write}")
        return 0

    def _robot_of(self, contract: Contract) -> str:
        """Return the robot of the option or of the contract; raise InvalidValue without one."""
        robot = self.robot or contract.robot
        if not robot:
            raise InvalidValue("name the robot that the policy controls: --robot FILE.", "--robot")
        robots.require(robot)
        return robot

    def _bind(self, contract: Contract) -> BoundPolicy:
        from tarsus.policies.binding import BoundPolicy
        from tarsus.simulation import resolve

        return BoundPolicy.of(contract, resolve.resolve_robot(self._robot_of(contract)))

    def _run(self, contract: Contract) -> int:
        from tarsus.mujoco_runs.simulation import MujocoSimulation
        from tarsus.policies.controller import PolicyController
        from tarsus.policies.inspection import summarize_run
        from tarsus.policies.worlds import Conditions, place_base, standing_heights
        from tarsus.simulation.recording.divergence import Diverged
        from tarsus.simulation.recording.log import save_log
        from tarsus.simulation.simulation import Simulation

        controller = PolicyController(contract, self._robot_of(contract), self.command)
        bound = controller.bound
        dt = self.dt or bound.default_dt
        simulation: Any
        if self.engine == PEER:
            simulation = MujocoSimulation(
                bound.robot_with_armature, None, self.terrain, controller, dt
            )
        else:
            simulation = Simulation(
                bound.robot_with_armature,
                self.law,
                terrain=self.terrain,
                controller=controller,
                dt=dt,
            )
        initial = Conditions.uniform(bound, 1).q
        heights = standing_heights(simulation.robot, simulation.terrain, initial)
        simulation.set(q=place_base(initial, heights, bound)[0])
        with self.progress() as progress:
            try:
                log = simulation.run(self.duration, progress.create_callback(self.duration))
            except Diverged as error:
                if error.log is None:
                    raise
                log = error.log
        result = summarize_run(bound, log, np.asarray(self.command, float))
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            file = self.out / f"{bound.robot.name}_policy.nc"
            save_log(log, file)
            result["log"] = str(file)
        if self.json:
            print_json(result)
            return 0
        for name, value in result.items():
            print(f"{name}: {value}")
        return 0

    def _check(self, contract: Contract) -> int:
        from tarsus.policies.check import check_policy
        from tarsus.policies.trials import TrialPlan

        names = registry.split_names(self.laws)
        names = [*registry.names(LAWS), PEER] if "all" in names else names
        bound = self._bind(contract)
        dt = self.dt or bound.default_dt
        plan = TrialPlan(np.asarray(self.command), dt, self.duration, self.trials, self.seed)
        with self.progress() as progress:
            check = check_policy(
                bound,
                names,
                plan,
                self.law,
                survival_only=self.survival_only,
                workers=None,
                report=progress.show_stage,
            )
        written = []
        if self.out is not None:
            from tarsus.files import json_text, write_text
            from tarsus.policies.report import page

            self.out.mkdir(parents=True, exist_ok=True)
            written = [self.out / "policy_check.html", self.out / "policy_check.json"]
            write_text(
                dict(zip(written, (page(check), json_text(check.to_dict(), indent=2)), strict=True))
            )
        if self.json:
            print_json(check.to_dict())
        else:
            self._print_check(check)
            for file in written:
                print(f"wrote {file}")
        return 0

    @staticmethod
    def _print_check(check: PolicyCheck) -> None:
        from tarsus.policies.inspection import (
            events_table,
            margin_table,
            separation_table,
            survival_table,
        )
        from tarsus.policies.report import describe_setup, verdicts
        from tarsus.viewer.tables import TextTable

        print(describe_setup(check))
        TextTable(*survival_table(check.rows), ("engine", "remark")).print()
        if check.events:
            print("\nHow falls begin")
            TextTable(*events_table(check.events), ("engine",)).print()
        if check.margins:
            print("\nMargins: values beyond which half of the trials fall or miss the command")
            TextTable(*margin_table(check.margins), ("factor", "unit", "law")).print()
        if check.separation is not None:
            one = check.separation
            print(f"\nSingle changes of the settings of {one.falling}")
            TextTable(*separation_table(one), ("change",)).print()
        print("\n" + "\n".join(verdicts(check)))

    def _doctor(self, contract: Contract) -> int:
        from tarsus.policies.doctor import diagnose
        from tarsus.policies.inspection import suggestion_table

        bound = self._bind(contract)
        with self.progress() as progress:
            result = diagnose(
                bound.contract,
                bound.robot,
                dt=self.dt or bound.default_dt,
                law=self.law,
                report=progress.show_stage,
            )
        if self.json:
            print_json(asdict(result))
            return 0
        before = result.unchanged
        print(
            f"Unchanged: {100 * before.stood:.0f} % of the trials stood, score {before.score:.2f}."
        )
        if not result.suggestions:
            print("No single change of the contract clearly improves the policy.")
            return 0
        from tarsus.viewer.tables import TextTable

        print("Changes that improve the policy, the best first:")
        TextTable(*suggestion_table(result, MAX_SUGGESTIONS), ("mistake", "change")).print()
        return 0
