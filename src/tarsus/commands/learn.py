"""`tarsus learn`: train a policy for a task in many worlds at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from tarsus import robots
from tarsus.commands.base import (
    INTERRUPTED,
    LAWS,
    OWN_FILE,
    TERRAINS,
    ArgumentCheck,
    Command,
    Flag,
    Number,
    OptionalSeconds,
    Settings,
    argument,
    collect_settings,
    file_record,
    name_check,
    number_argument,
    print_json,
)
from tarsus.errors import InvalidValue, TarsusError, Unsupported, WarningRecord

if TYPE_CHECKING:
    from tarsus.learning.methods.base import Round
    from tarsus.learning.run import TrainingResult
    from tarsus.learning.training_spec import TrainingSpec

TASKS, METHODS = "tarsus.tasks", "tarsus.learning.methods"
DEFAULT_METHODS = {"cpu": "ppo", "cuda": "rsl_ppo"}  # by device
STRIP_DURATION = 4.0  # s, of the run that strip.png shows


@dataclass(frozen=True)
class Learn(Command):
    """Train a policy for a task in many worlds at once.

    The folder receives policy.npz, curve.jsonl (one line per round), curve.png and strip.png. If
    the folder already holds a policy, training resumes; an interrupted run continues from its last
    checkpoint with bit-identical results. This command needs the extra `learn`; `tarsus doctor`
    shows how to install it.
    """

    position: ClassVar[int] = 50
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus learn velocity --out walk": "train a walk that follows velocity commands",
        "tarsus learn velocity --out fast --seconds 60 --set speed=0.5,2": "train at other speeds,"
        " for one minute",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Task": "robot law terrain dt set",
        "Training": "method seed rounds seconds every device threads",
        "Result": "out no_pictures onnx",
    }

    task: tyro.conf.Positional[
        Annotated[
            str,
            argument("TASK", f"Task (`tarsus list tasks`), {OWN_FILE}."),
            name_check("task", TASKS),
        ]
    ]
    out: Annotated[Path, argument("FOLDER")]
    """Folder for the policy. Training resumes if it already holds one."""
    robot: Annotated[str, argument("ROBOT"), ArgumentCheck(robots.require)] = "mini_cheetah"
    """Built-in robot (`tarsus list robots`) or path to an MJCF, URDF or SDF file."""
    law: Annotated[str | None, argument("NAME"), name_check("law", LAWS)] = None
    """Contact law to train with. (default: the one recommended for the task)"""
    terrain: Annotated[str | None, argument("NAME"), name_check("terrain", TERRAINS)] = None
    """Terrain to train on. (default: the task's)"""
    dt: OptionalSeconds = None
    """Time step; the control period must be a multiple of it. (default: 0.004, or 0.002 for servos
    with little damping)"""
    set: Settings = ()
    """Set parameters of the task, the method or the law (`tarsus list tasks --parameters`); write
    task.NAME or ppo.NAME if two share a name. Parameters that you do not set take the values
    recommended for this task and robot, which are printed."""
    method: Annotated[str | None, argument("NAME"), name_check("method", METHODS)] = None
    """Learning method: ppo, ars or rsl_ppo, which learns with PyTorch (extra `rsl`). (default: ppo,
    on a GPU rsl_ppo)"""
    seed: Annotated[int, argument("NUMBER")] = 0
    """Seed of all random numbers."""
    rounds: Annotated[int | None, argument("NUMBER")] = None
    """Stop after this number of rounds, including those of resumed runs. (default: the
    method's)"""
    seconds: Number = None
    """Stop after this training time, including that of resumed runs."""
    every: Annotated[float, number_argument("SECONDS"), argument("SECONDS")] = 10.0
    """Time between checkpoints; 0 saves one after every round."""
    device: Annotated[Literal["cpu", "cuda"], argument("NAME")] = "cpu"
    """Device of the worlds and networks: cpu, or cuda for an NVIDIA GPU (extra `cuda`)."""
    threads: Annotated[int | None, argument("NUMBER")] = None
    """Number of threads; it does not affect the results. (default: all available cores)"""
    no_pictures: Flag = False
    """Skip curve.png and strip.png."""
    onnx: Flag = False
    """Write policy.onnx too, with its contract, for `tarsus policy` and for robots (needs the
    extra `onnx`)."""

    def execute(self) -> int:
        from tarsus.learning.run import StopCondition, learn
        from tarsus.learning.training_defaults import with_training_defaults
        from tarsus.processes import usable_cores

        for name in ("rounds", "seconds", "threads"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidValue(f"--{name} must be positive, not {value:g}.", f"--{name}")
        if self.seed < 0:
            raise InvalidValue(f"--seed must be at least 0, not {self.seed}.", "--seed")
        if self.onnx:
            from tarsus.policies.learned import onnx_package

            onnx_package()
        names = ("task", "robot", "law", "terrain", "dt", "seed")
        settings = tuple(collect_settings(self.set))
        lesson = with_training_defaults(
            {name: getattr(self, name) for name in names}
            | {"method": self.method or DEFAULT_METHODS[self.device], "settings": settings}
        )
        rounds = self.rounds
        if rounds is None and self.seconds is None:
            rounds = lesson.task_and_method()[1].rounds
        # train, then draw
        with self.progress() as progress:
            progress.show_stage(f"compiling {self.robot}")
            until = StopCondition(rounds, self.seconds, self.every)
            threads = self.threads or (usable_cores() if self.device == "cpu" else 1)
            result = learn(
                lesson,
                self.out,
                until,
                lambda r, s: progress.show_stage(round_line(r, s, {})),
                threads,
                self.device,
            )
            files = [self.out / "policy.npz", self.out / "curve.jsonl"]
            progress.show_stage("writing the policy and plots")
            result = self._write(lesson, result, files)
        self._print(lesson, result, files)
        return INTERRUPTED if result.stopped else 0

    def _write(
        self, lesson: TrainingSpec, result: TrainingResult, files: list[Path]
    ) -> TrainingResult:
        """Write the optional files and add them to `files`.

        Returns the result, with a notice for a file that could not be written. The plotting
        libraries are imported here, after training.
        """
        if self.onnx:
            from tarsus.policies.learned import save_onnx

            try:
                files.append(save_onnx(result.policy, self.out / "policy.onnx"))
            except Unsupported as error:
                notice = WarningRecord(
                    f"policy.onnx was not written: {error}", "onnx-not-written", lesson.task
                )
                result = replace(result, warnings=(*result.warnings, notice))
        if not self.no_pictures and not result.stopped:
            from tarsus.learning.figures import record_log, save_curve, save_strip
            from tarsus.viewer.number_format import short_name

            try:
                robot = short_name(str(lesson.robot))
                title = f"{robot}, {lesson.task}, {short_name(str(lesson.law))}"
                curve = self.out / "curve.png"
                files.append(save_curve(result.curve, curve, title, result.units))
                log = record_log(
                    result.policy, STRIP_DURATION, law=lesson.law, terrain=lesson.terrain
                )
                files.append(save_strip(log, self.out / "strip.png", title))
            except TarsusError as error:
                text = f"could not draw all plots: {error}"
                notice = WarningRecord(text, "pictures-not-drawn", error.subject)
                return replace(result, warnings=(*result.warnings, notice))
        return result

    def _print(self, lesson: TrainingSpec, result: TrainingResult, files: list[Path]) -> None:
        if self.json:
            record = {
                "rounds": result.rounds,
                "resumed": result.resumed,
                "seconds": result.training_time,
                "lesson": asdict(lesson),
                "interrupted": result.stopped,
                "notices": result.warnings,
                "last": {} if result.last is None else asdict(result.last),
                "written": [file_record(file) for file in files],
            }
            print_json(record)
            return
        print(f"trained with {_format_lesson_options(lesson)}")
        if result.resumed:
            print(f"resumed after round {result.resumed}")
        if result.last is not None:
            print(round_line(result.last, result.training_time, result.units))
        for notice in result.warnings:
            print(f"warning: {notice}")
        for file in files:
            print(f"wrote {file}")


def round_line(result: Round, seconds: float, units: Mapping[str, str]) -> str:
    """Return one line that summarizes a round.

    Parameters
    ----------
    result
        Result of the round.
    seconds
        Training time so far, in s.
    units
        Unit of each tracking error.
    """
    errors = ", ".join(f"{k} {v:.3f} {units.get(k, '')}".rstrip() for k, v in result.errors.items())
    terms = ", ".join(f"{name} {value:.2f}" for name, value in result.terms.items())
    problems = {"diverged": result.diverged, "steps unconverged": result.unconverged}
    level = "" if result.level is None else f" terrain scale {result.level:.2f};"
    counts = "".join(f"; {count} {name}" for name, count in problems.items() if count)
    return (
        f"round {result.round}, {result.periods / 1e6:.2f} M periods, {seconds:.1f} s:{level}"
        f" tracking error {errors}; {result.falls:.3f} falls/s;"
        f" reward {result.reward:.2f}/s ({terms}){counts}"
    )


def _format_lesson_options(lesson: TrainingSpec) -> str:
    """Format the settings of a training run as command-line options."""
    settings = f" --set {' '.join(lesson.settings)}" if lesson.settings else ""
    return f"--law {lesson.law} --terrain {lesson.terrain} --dt {lesson.dt:g}{settings}"
