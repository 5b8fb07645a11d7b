"""`tarsus learn`: a policy for a task, learned in many worlds at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from tarsus import robots
from tarsus.commands.base import (
    INTERRUPTED,
    LAWS,
    OWN,
    TERRAINS,
    Checked,
    Command,
    Flag,
    Number,
    Settings,
    called,
    each_setting,
    name_of,
    number,
    print_json,
    written,
)
from tarsus.errors import InvalidValue, TarsusError, WarningRecord

if TYPE_CHECKING:
    from tarsus.learning.methods.base import Round
    from tarsus.learning.run import TrainingResult
    from tarsus.learning.training_spec import TrainingSpec

TASKS, METHODS = "tarsus.tasks", "tarsus.learning.methods"
SHOWN = 4.0  # s of the run whose end is drawn


@dataclass(frozen=True)
class Learn(Command):
    """Learn a policy for a task, in many worlds at once.

    A run that was killed goes on where it was last kept, to the same bits. The folder gets
    policy.npz, curve.jsonl with a line a round, curve.png and strip.png. It needs the extra
    `learn`, which `tarsus doctor` shows how to install.
    """

    place: ClassVar[int] = 50
    topic: ClassVar[str] = "Learn"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus learn velocity --out walk": "a first walk",
        "tarsus learn velocity --out fast --seconds 60 --set speed=0.5,2": "other speeds",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Task": "robot law terrain dt set",
        "Training": "method seed rounds seconds every threads",
        "Results": "out no_pictures onnx",
    }

    task: tyro.conf.Positional[
        Annotated[
            str, called("TASK", f"Task (`tarsus list tasks`), {OWN}."), name_of("task", TASKS)
        ]
    ]
    out: Annotated[Path, called("FOLDER")]
    """Folder of the policy; what was learned there already is gone on with."""
    robot: Annotated[str, called("ROBOT"), Checked(robots.require)] = "mini_cheetah"
    """Built-in robot (`tarsus list robots`) or path to an MJCF, URDF or SDF file."""
    law: Annotated[str | None, called("NAME"), name_of("law", LAWS)] = None
    """Contact law that it learns under; by default what the task is best learned with."""
    terrain: Annotated[str | None, called("NAME"), name_of("terrain", TERRAINS)] = None
    """Terrain that it learns on; by default the task's own."""
    dt: Annotated[float | None, number("SECONDS"), called("SECONDS")] = None
    """Length of a step; a control period has a whole number of them. By default 0.004, or 0.002
    where servos would hardly damp."""
    set: Settings = ()
    """Parameters of the task, the method and the law, as `tarsus list tasks --parameters` shows
    them; task.NAME, ppo.NAME where two have that name. What is not set is what the task is best
    learned with on this robot; it is printed."""
    method: Annotated[str, called("NAME"), name_of("method", METHODS)] = "ppo"
    """How it learns: ppo, ars."""
    seed: Annotated[int, called("NUMBER")] = 0
    """Of all that is drawn at random."""
    rounds: Annotated[int | None, called("NUMBER")] = None
    """Rounds after which it ends, all runs together; by default the method's own."""
    seconds: Number = None
    """Seconds after which it ends, all runs together."""
    every: Annotated[float, number("SECONDS"), called("SECONDS")] = 10.0
    """Between two checkpoints; 0: after each round."""
    threads: Annotated[int | None, called("NUMBER")] = None
    """Threads; by default as many cores as this process may use. The results do not depend on
    it."""
    no_pictures: Flag = False
    """Skip curve.png and strip.png."""
    onnx: Flag = False
    """Also write policy.onnx: what is seen in, actions out (extra `onnx`)."""

    def execute(self) -> int:
        from tarsus.learning.run import StopCondition, learn
        from tarsus.learning.training_defaults import with_training_defaults
        from tarsus.processes import usable_cores

        # what is asked
        for name in ("rounds", "seconds", "threads"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidValue(f"--{name} must be positive, not {value:g}.", f"--{name}")
        if self.seed < 0:
            raise InvalidValue(f"--seed must be at least 0, not {self.seed}.", "--seed")
        if self.onnx:
            from tarsus.learning.onnx_file import onnx_package

            onnx_package()
        names = ("task", "robot", "law", "terrain", "dt", "method", "seed")
        settings = tuple(each_setting(self.set))
        lesson = with_training_defaults(
            {name: getattr(self, name) for name in names} | {"settings": settings}
        )
        rounds = self.rounds
        if rounds is None and self.seconds is None:
            rounds = lesson.task_and_method()[1].rounds
        # learn, then draw
        with self.progress() as progress:
            progress.say(f"compiling {self.robot}")
            until = StopCondition(rounds, self.seconds, self.every)
            threads = self.threads or usable_cores()
            found = learn(
                lesson, self.out, until, lambda r, s: progress.say(told(r, s, {})), threads
            )
            files = [self.out / "policy.npz", self.out / "curve.jsonl"]
            progress.say("writing what was learned")
            found = self._more(lesson, found, files)
        self._print(lesson, found, files)
        return INTERRUPTED if found.stopped else 0

    def _more(
        self, lesson: TrainingSpec, found: TrainingResult, files: list[Path]
    ) -> TrainingResult:
        """Write the files that are asked for, and add them to `files`; what they need is imported
        when all is learned. What cannot be drawn is a notice of what is returned.
        """
        if self.onnx:
            from tarsus.learning.onnx_file import save_onnx

            files.append(save_onnx(found.policy, self.out / "policy.onnx"))
        if not self.no_pictures and not found.stopped:
            from tarsus.learning.figures import record_log, save_curve, save_strip
            from tarsus.viewer.numbers import short_name

            try:
                robot = short_name(str(lesson.robot))
                title = f"{robot}, {lesson.task}, {short_name(str(lesson.law))}"
                curve = self.out / "curve.png"
                files.append(save_curve(found.curve, curve, title, found.units))
                log = record_log(found.policy, SHOWN, law=lesson.law, terrain=lesson.terrain)
                files.append(save_strip(log, self.out / "strip.png", title))
            except TarsusError as error:
                text = f"some pictures were not drawn: {error}"
                notice = WarningRecord(text, "pictures-not-drawn", error.subject)
                return replace(found, warnings=(*found.warnings, notice))
        return found

    def _print(self, lesson: TrainingSpec, found: TrainingResult, files: list[Path]) -> None:
        if self.json:
            last = {} if found.last is None else asdict(found.last)
            told_too = {"rounds": found.rounds, "resumed": found.resumed, "seconds": found.spent}
            told_too |= {
                "lesson": asdict(lesson),
                "interrupted": found.stopped,
                "notices": found.warnings,
            }
            print_json(told_too | {"last": last, "written": [written(file) for file in files]})
            return
        print(f"learned with {_words(lesson)}")
        if found.resumed:
            print(f"went on after round {found.resumed}")
        if found.last is not None:
            print(told(found.last, found.spent, found.units))
        for notice in found.warnings:
            print(f"warning: {notice}")
        for file in files:
            print(f"written {file}")


def told(found: Round, spent: float, units: Mapping[str, str]) -> str:
    """A round in a line."""
    missed = ", ".join(f"{k} {v:.3f} {units.get(k, '')}".rstrip() for k, v in found.missed.items())
    terms = ", ".join(f"{name} {value:.2f}" for name, value in found.terms.items())
    troubles = {"diverged": found.diverged, "steps unconverged": found.unconverged}
    level = "" if found.level is None else f" ground times {found.level:.2f};"
    trouble = "".join(f"; {count} {name}" for name, count in troubles.items() if count)
    return (
        f"round {found.round}, {found.periods / 1e6:.2f} M periods, {spent:.1f} s:{level}"
        f" missed {missed};"
        f" {found.falls:.3f} falls a second; paid {found.paid:.2f} a second ({terms}){trouble}"
    )


def _words(lesson: TrainingSpec) -> str:
    """What it was learned with, as the options that ask for it."""
    settings = f" --set {' '.join(lesson.settings)}" if lesson.settings else ""
    return f"--law {lesson.law} --terrain {lesson.terrain} --dt {lesson.dt:g}{settings}"
