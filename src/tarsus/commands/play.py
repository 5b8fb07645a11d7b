"""`tarsus play`: a learned policy under any law, at any step, on any terrain, and in MuJoCo."""

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
    called,
    each_setting,
    name_of,
    names_of,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.learning.training_spec import TrainingSpec
    from tarsus.learning.trials import TrialResult

PEER = "mujoco"


@dataclass(frozen=True)
class Play(Command):
    """Try a learned policy under contact laws, and in MuJoCo.

    The trials are the same everywhere: commands, pushes, friction, masses and postures are drawn
    from the task's ranges, noise is added to what is seen. What is missed is a mean over half a
    second, from a second after a new command on. Exits with 0 whoever falls.
    """

    place: ClassVar[int] = 51
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus play walk": "as it was learned",
        "tarsus play walk --law compliant --dt 0.001 --terrain rough": "elsewhere",
        "tarsus play walk --laws all": "who falls under which law",
        "tarsus play walk --set push=0.8 speed=0,1": "asked and pushed otherwise",
        "tarsus play walk --terrain rough --set amplitude=0.06": "on ground up to 6 cm high",
        "tarsus play walk --log walk.nc": "a log, for tarsus render and tarsus view",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Simulation": "law laws mujoco dt terrain",
        "Trials": "set trials duration seed",
        "Results": "log",
        "Own files": "trust",
    }

    folder: tyro.conf.Positional[
        Annotated[Path, called("DIR", "Folder of `tarsus learn`, or a policy's .npz file.")]
    ]
    law: Annotated[str | None, called("NAME"), name_of("law", LAWS)] = None
    """Contact law; by default the one it was learned under."""
    laws: Annotated[str | None, called("NAME,..."), names_of("law", LAWS, PEER, "all")] = None
    """Several of them, mujoco for MuJoCo at its defaults and tuned, or all."""
    mujoco: Flag = False
    """In MuJoCo, at its defaults and at the settings that its tuning guide recommends."""
    dt: Annotated[str | None, called("SECONDS,...")] = None
    """Lengths of the time step; by default the one it was learned with, with --laws 1 ms too."""
    terrain: Annotated[str | None, called("NAME"), name_of("terrain", TERRAINS)] = None
    """Terrain; by default the one it was learned on."""
    set: Settings = ()
    """Parameters of the task (`tarsus list tasks --parameters`), the others are as they were when
    it was learned, and of the terrain."""
    trials: Annotated[int, called("NUMBER")] = 100
    """How many."""
    duration: Seconds = 10.0
    """Simulated time of each."""
    seed: Annotated[int, called("NUMBER")] = 0
    """Of what is drawn for the trials."""
    trust: Trust = ()
    log: File = None
    """Also write the log of one run, where nothing is drawn, to this file (.nc): under the first
    law that is not mujoco, at the first dt."""

    def execute(self) -> int:
        from tarsus.learning.play import compare_laws, draw_policy_trials, with_settings
        from tarsus.learning.policy import Policy
        from tarsus.learning.training_spec import spec_from_metadata

        # what is asked
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
        settings = each_setting(self.set)
        policy = Policy.load(self.folder)
        lesson, _ = spec_from_metadata(policy.about)
        policy, ground = with_settings(policy, settings, self.terrain or lesson.terrain)
        laws, dts = self._laws(lesson), self._dts(lesson)
        shown = next((law for law in laws if law != PEER), None)
        if self.log and shown is None:
            raise IncompatibleOptions(
                "--log records only runs under Tarsus's own laws: name one with --law.", "--log"
            )
        # the trials
        course = draw_policy_trials(policy, self.trials, self.duration, self.seed)
        with self.progress() as progress:
            found = compare_laws(policy, course, laws, dts, ground, progress.say)
            if self.log and shown is not None:
                self._record(policy, shown, dts[0], ground)
        print_json([asdict(row) for row in found]) if self.json else _table(found)
        return 0

    def _laws(self, lesson: TrainingSpec) -> list[str]:
        if self.mujoco:
            return [PEER]
        given = registry.split_names(self.laws or self.law or lesson.law)
        return [*registry.names(LAWS), PEER] if self.laws and "all" in given else given

    def _dts(self, lesson: TrainingSpec) -> list[float]:
        if self.dt is None:
            return sorted({lesson.dt, 0.001}, reverse=True) if self.laws else [lesson.dt]
        try:
            found = list(dict.fromkeys(map(float, registry.split_names(self.dt))))
        except ValueError:
            found = [0.0]
        if not all(dt > 0 for dt in found):
            raise InvalidValue(
                f"--dt must be positive numbers of seconds, separated by commas, not {self.dt!r}.",
                "--dt",
            )
        return found

    def _record(self, policy: Any, law: str, dt: float, terrain: Any) -> None:
        from tarsus.learning.figures import record_log
        from tarsus.simulation.recording.log import save_log

        assert self.log is not None
        save_log(record_log(policy, self.duration, None, law, dt, terrain), self.log)


def _table(found: list[TrialResult]) -> None:
    """Print a row for each law and step."""
    from rich.markup import escape

    from tarsus.mujoco_runs.settings import SHOWN, label, named, printed
    from tarsus.viewer.numbers import short_name
    from tarsus.viewer.tables import TextTable

    # columns, then rows
    units = next((row.units for row in found if row.missed), {})
    heads = ["law", "dt / ms", "fell", *(_missed(*item) for item in units.items())]
    rows = []
    for row in found:
        missed = row.missed or {}
        numbers = [missed.get(name) for name in units]
        why = row.failure or (f"{row.diverged} diverged" if row.diverged else "")
        rows.append(
            [
                escape(short_name(row.law)),
                f"{1e3 * row.dt:g}",
                "-" if row.failure else f"{row.fell} of {row.trials}",
                *("-" if v is None or v != v else f"{v:.3f}" for v in numbers),
                "-" if row.failure else f"{100 * row.unconverged:.2g}",
                escape(why),
            ]
        )
    TextTable([*heads, "unconverged / %", "remark"], rows, ("law", "remark")).print()
    tried = {row.law for row in found}
    for line in printed({label(n): named(n) for n in SHOWN if label(n) in tried}):
        print(line)


def _missed(name: str, unit: str) -> str:
    """Return the heading of a measure with its unit."""
    return f"missed {name} / ({unit})" if "/" in unit else f"missed {name} / {unit}"
