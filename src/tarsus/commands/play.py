"""`tarsus play`: test a trained policy under any law, step size and terrain, and in MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import registry
from tarsus.commands.base import (
    LAWS,
    TERRAINS,
    Command,
    File,
    Flag,
    Seconds,
    Settings,
    Trust,
    argument,
    collect_settings,
    name_check,
    name_list_check,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.learning.training_spec import TrainingSpec
    from tarsus.learning.trials import TrialResult

PEER = "mujoco"


@dataclass(frozen=True)
class Play(Command):
    """Test a trained policy under contact laws and in MuJoCo.

    Every law runs the same trials. Commands, pushes, friction, masses and initial postures are
    drawn from the task's ranges, and noise is added to the observations. Tracking errors are
    averages over half a second, measured from one second after each new command. The exit code is
    0 even if robots fall.
    """

    position: ClassVar[int] = 51
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus play walk": "test under the conditions of training",
        "tarsus play walk --law compliant --dt 0.001 --terrain rough": "test on rough terrain with"
        " another law",
        "tarsus play walk --laws all": "count the falls under every law",
        "tarsus play walk --set push=0.8 speed=0,1": "change the pushes and commands",
        "tarsus play walk --terrain rough --set amplitude=0.06": "test on bumps up to 6 cm high",
        "tarsus play walk --log walk.nc": "write a log for tarsus render and tarsus view",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Simulation": "law laws mujoco dt terrain",
        "Trial": "set trials duration seed",
        "Result": "log",
        "File": "trust",
    }

    folder: tyro.conf.Positional[
        Annotated[Path, argument("DIR", "Folder of `tarsus learn`, or a policy's .npz file.")]
    ]
    law: Annotated[str | None, argument("NAME"), name_check("law", LAWS)] = None
    """Contact law. (default: the one used in training)"""
    laws: Annotated[str | None, argument("NAME,..."), name_list_check("law", LAWS, PEER, "all")] = (
        None
    )
    """Several contact laws; mujoco for MuJoCo with default and tuned settings; or all."""
    mujoco: Flag = False
    """Test only in MuJoCo, with default settings and with those of its tuning guide."""
    dt: Annotated[str | None, argument("SECONDS,...")] = None
    """Time steps. (default: the one used in training; with --laws also 0.001)"""
    terrain: Annotated[str | None, argument("NAME"), name_check("terrain", TERRAINS)] = None
    """Terrain. (default: the one used in training)"""
    set: Settings = ()
    """Set parameters of the terrain or of the task (`tarsus list tasks --parameters`). Others keep
    their values from training."""
    trials: Annotated[int, argument("NUMBER")] = 100
    """Number of trials."""
    duration: Seconds = 10.0
    """Simulated time of each trial."""
    seed: Annotated[int, argument("NUMBER")] = 0
    """Seed of the trials' random numbers."""
    trust: Trust = ()
    log: File = None
    """Write the log of one run without randomization to this file (.nc). It uses the first time
    step and the first law that is not mujoco."""

    def execute(self) -> int:
        from tarsus.learning.play import compare_laws, draw_policy_trials, with_settings
        from tarsus.learning.policy import Policy
        from tarsus.learning.training_spec import spec_from_metadata

        chosen = {"--law": self.law, "--laws": self.laws, "--mujoco": self.mujoco or None}
        first, *others = [flag for flag, value in chosen.items() if value is not None] or [""]
        if others:
            raise IncompatibleOptions(
                f"{first} cannot be combined with {others[0]}: give one of them.", first
            )
        for flag, value in (("--trials", self.trials), ("--duration", self.duration)):
            if not value > 0:
                raise InvalidValue(f"{flag} must be positive, not {value:g}.", flag)
        if self.seed < 0:
            raise InvalidValue(f"--seed must be at least 0, not {self.seed}.", "--seed")
        settings = collect_settings(self.set)
        policy = Policy.load(self.folder)
        lesson, _ = spec_from_metadata(policy.metadata)
        policy, ground = with_settings(policy, settings, self.terrain or lesson.terrain)
        laws, dts = self._select_laws(lesson), self._select_dts(lesson)
        logged_law = next((law for law in laws if law != PEER), None)
        if self.log and logged_law is None:
            raise IncompatibleOptions(
                "--log records only runs under Tarsus's own laws: name one with --law.", "--log"
            )
        course = draw_policy_trials(policy, self.trials, self.duration, self.seed)
        with self.progress() as progress:
            results = compare_laws(policy, course, laws, dts, ground, progress.show_stage)
            if self.log and logged_law is not None:
                self._write_log(policy, logged_law, dts[0], ground)
        print_json([asdict(row) for row in results]) if self.json else _print_table(results)
        return 0

    def _select_laws(self, lesson: TrainingSpec) -> list[str]:
        if self.mujoco:
            return [PEER]
        names = registry.split_names(self.laws or self.law or lesson.law)
        return [*registry.names(LAWS), PEER] if self.laws and "all" in names else names

    def _select_dts(self, lesson: TrainingSpec) -> list[float]:
        if self.dt is None:
            return sorted({lesson.dt, 0.001}, reverse=True) if self.laws else [lesson.dt]
        try:
            dts = list(dict.fromkeys(map(float, registry.split_names(self.dt))))
        except ValueError:
            dts = [0.0]
        if not all(dt > 0 for dt in dts):
            raise InvalidValue(
                f"--dt must be positive numbers of seconds, separated by commas, not {self.dt!r}.",
                "--dt",
            )
        return dts

    def _write_log(self, policy: Any, law: str, dt: float, terrain: Any) -> None:
        from tarsus.learning.figures import record_log
        from tarsus.simulation.recording.log import save_log

        assert self.log is not None
        save_log(record_log(policy, self.duration, None, law, dt, terrain), self.log)


def _print_table(results: list[TrialResult]) -> None:
    """Print a row for each law and time step."""
    from rich.markup import escape

    from tarsus.mujoco_runs.settings import SHOWN, describe_sets, find_settings, row_label
    from tarsus.viewer.number_format import short_name
    from tarsus.viewer.tables import TextTable

    units = next((row.units for row in results if row.errors), {})
    heads = ["law", "dt / ms", "fell", *(_format_error_heading(*item) for item in units.items())]
    rows = []
    for row in results:
        errors = row.errors or {}
        numbers = [errors.get(name) for name in units]
        remark = row.failure or (f"{row.diverged} diverged" if row.diverged else "")
        rows.append(
            [
                escape(short_name(row.law)),
                f"{1e3 * row.dt:g}",
                "-" if row.failure else f"{row.fell} of {row.trials}",
                *("-" if v is None or v != v else f"{v:.3f}" for v in numbers),
                "-" if row.failure else f"{100 * row.unconverged:.2g}",
                escape(remark),
            ]
        )
    TextTable([*heads, "unconverged steps / %", "remark"], rows, ("law", "remark")).print()
    tested = {row.law for row in results}
    for line in describe_sets(
        {row_label(n): find_settings(n) for n in SHOWN if row_label(n) in tested}
    ):
        print(line)


def _format_error_heading(name: str, unit: str) -> str:
    """Format the heading of a tracking error with its unit."""
    return f"{name} error / ({unit})" if "/" in unit else f"{name} error / {unit}"
