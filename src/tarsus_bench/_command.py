"""`tarsus bench`: speed compared with MuJoCo and other simulators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tarsus import registry
from tarsus.commands.base import (
    FAILED,
    Command,
    File,
    Flag,
    Folder,
    Seconds,
    argument,
    name_list_check,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidFile
from tarsus.files import json_text, write_text


@dataclass(frozen=True)
class Bench(Command):
    """Measure speed against MuJoCo on the same robot and trot."""

    position: ClassVar[int] = 70
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus bench": "one world and 4096, compared with MuJoCo; two minutes",
        "tarsus bench --history docs/speed.json": "the same, and append the figures to a history",
        "tarsus bench --laws": "cost of each contact law",
        "tarsus bench --peers --engines tarsus,mujoco --json": "ANYmal in two simulators, as JSON",
        "tarsus bench --robots go2 robot.xml": "speed of two robots in their default gaits",
        "tarsus bench --precision --figures plots": "error over processor time of each simulator",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Measurement": "device laws walks whole robots learning peers precision engines",
        "Time": "budget quick",
        "Results": "out figures history",
    }

    device: Literal["cpu", "cuda"] = "cpu"
    """cuda: check and time the GPU kernel instead, and compare it with MuJoCo Warp if installed."""
    budget: Seconds = 480.0
    """Time limit of the GPU benchmark; results of finished parts are kept."""
    out: File = None
    """Also write the results to this file (with --device cuda, --robots, --peers or
    --precision)."""
    figures: Folder = None
    """With --precision, draw a figure of each motion into this folder."""
    quick: Flag = False
    """With --robots: measure two robots by default, and in short runs."""
    laws: Flag = False
    """Measure the cost of every contact law instead, relative to the law moreau."""
    walks: Flag = False
    """Time walking bipeds on flat feet instead, one world and 512, compared with MuJoCo."""
    whole: Flag = False
    """Time G1 and ANYmal C with all forces (limits, friction, servos, self-contacts) instead."""
    robots: Annotated[
        tuple[str, ...] | None,
        argument(
            "ROBOT",
            "Measure every robot in its default gait instead: those named, or files; without names"
            " the built-in robots and those of example-robot-data. With --whole: its robots.",
        ),
    ] = None
    learning: Flag = False
    """Time control periods of an environment with and without a learner, compared with MuJoCo
    (extra `learn`). With --device cuda: check and time those of Go2 and G1 on the GPU (extra
    `rsl`)."""
    peers: Flag = False
    """Compare with other simulators instead: ANYmal stands, flies and falls (docs/peers.md)."""
    precision: Flag = False
    """Measure errors over processor time instead: flight, rolling, standing, a fall, a drop of G1
    (docs/precision.md)."""
    engines: Annotated[
        str | None,
        argument(
            "NAMES",
            "With --peers or --precision: comma-separated simulators (`tarsus list peers`).",
        ),
        name_list_check("simulator", "tarsus_bench.peers"),
    ] = None
    history: File = None
    """Append the figures, with date, versions and processor, to this JSON file
    (docs/speed_history.md)."""

    def execute(self) -> int:
        from tarsus.program.run.tiers import optimize_everything

        self._check()
        optimize_everything()
        if self.peers:
            return self._compare()
        if self.precision:
            return self._measure_precision()
        from tarsus_bench import report, speed
        from tarsus_bench.gpu import cuda_bench
        from tarsus_bench.history import append
        from tarsus_bench.laws import law_costs
        from tarsus_bench.walks import walk_costs
        from tarsus_bench.whole_robots import ROBOTS, whole_costs

        # on a GPU, part after part
        if self.device == "cuda":
            say = (lambda text: None) if self.output.quiet else _print_progress
            results = cuda_bench(self.budget, say, self._write, environments=self.learning)
            print_json(results) if self.json else report.print_parts(results)
            return FAILED if results["failed"] else 0
        # on the CPU
        figures: Any
        print_figures: Any
        with self.progress() as progress:
            if self.laws:
                figures, print_figures = law_costs(progress.show_stage), report.print_laws
            elif self.walks:
                figures, print_figures = walk_costs(progress.show_stage), report.print_walks
            elif self.whole:
                names = self._robot_names() or ROBOTS
                figures, print_figures = whole_costs(names, progress.show_stage), report.print_whole
            elif self.robots is not None:
                figures, print_figures = self._speeds(progress.show_stage), report.print_robots
            elif self.learning:
                figures, print_figures = (
                    _measure_learning(progress.show_stage),
                    report.print_learning,
                )
            else:
                figures, print_figures = speed.bench(progress.show_stage), report.print_speed
        print_json(figures) if self.json else print_figures(figures)
        if self.history is not None:
            append(self.history, figures)
        return 0

    def _check(self) -> None:
        """Raise TarsusError for options that exclude each other or a folder that does not exist."""
        options = {
            "--peers": self.peers,
            "--precision": self.precision,
            "--walks": self.walks,
            "--whole": self.whole,
            "--learning": self.learning and self.device == "cpu",
            "--laws": self.laws,
            "--robots": self.robots is not None and not self.whole,
            "--device cuda": self.device == "cuda",
        }
        first, *others = [name for name, given in options.items() if given] or [""]
        if others:
            raise IncompatibleOptions(
                f"{first} cannot be combined with {others[0]}: run one benchmark at a time.", first
            )
        if self.engines is not None and not (self.peers or self.precision):
            raise IncompatibleOptions(
                "--engines selects simulators: add --peers or --precision.", "--engines"
            )
        if self.figures is not None and not self.precision:
            raise IncompatibleOptions(
                "--figures draws the results of --precision: add --precision.", "--figures"
            )
        if self.quick and (self.robots is None or self.whole):
            raise IncompatibleOptions("--quick shortens --robots: add --robots.", "--quick")
        if self.history is not None and first:
            raise IncompatibleOptions(
                f"--history records only the default benchmark: omit {first}.", "--history"
            )
        for file in (self.out, self.history):
            if file is not None and not file.parent.is_dir():
                raise InvalidFile(
                    f"cannot write {file.name!r}: the folder {str(file.parent)!r} does not exist.",
                    file,
                )

    def _compare(self) -> int:
        from tarsus_bench.peer_bench import bench_peers
        from tarsus_bench.peer_report import print_peers

        names = None if self.engines is None else registry.split_names(self.engines)
        with self.progress() as progress:
            results = bench_peers(names, progress=progress.show_stage)
        self._write(results)
        print_json(results) if self.json else print_peers(results)
        return 0

    def _robot_names(self) -> tuple[str, ...]:
        """Return the names given to --robots, separated by spaces or commas."""
        return tuple(name for text in self.robots or () for name in registry.split_names(text))

    def _speeds(self, say: Callable[[str], None]) -> dict[str, Any]:
        """Measure robots in their default gaits, and write the results after each one."""
        from tarsus.validation.robot_check import select_robots
        from tarsus_bench.robot_speeds import QUICK, QUICK_ROBOTS, Effort, robot_rows, settings

        names = self._robot_names() or (QUICK_ROBOTS if self.quick else ())
        effort = QUICK if self.quick else Effort()
        results: dict[str, Any] = {"rows": [], "settings": settings(effort)}
        for row in robot_rows(select_robots(names), effort, say):
            results["rows"].append(row)
            self._write(results)
        return results

    def _measure_precision(self) -> int:
        from tarsus_bench.precision_report import draw_precision, print_precision
        from tarsus_bench.work_precision import measure

        names = None if self.engines is None else registry.split_names(self.engines)
        with self.progress() as progress:
            results = measure(names, progress=progress.show_stage)
        self._write(results)
        print_json(results) if self.json else print_precision(results)
        if self.figures is not None:
            for file in draw_precision(results, self.figures):
                print(f"wrote {file}", file=sys.stderr)
        return 0

    def _write(self, results: dict[str, Any]) -> None:
        if self.out is not None:
            write_text({self.out: json_text(results) + "\n"})


def _measure_learning(say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the costs of learning with the PPO of `tarsus learn`."""
    from tarsus.learning.methods.ppo import PPO
    from tarsus_bench.learning_speed import learning_costs

    method = PPO()

    def learn(environment: Any) -> Callable[[], int]:
        learner = method.create_learner(environment)
        return lambda: (learner.run_round(), method.periods * environment.worlds)[1]

    return learning_costs(learn, say)


def _print_progress(text: str) -> None:
    """Print progress to standard error, even without a terminal, because the run takes minutes."""
    print(text, file=sys.stderr, flush=True)
