"""`tarsus identify`: identify parameters of robot, contact and ground from logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import registry
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    LAWS,
    Command,
    Folder,
    OptionalSeconds,
    Trust,
    argument,
    file_record,
    name_list_check,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.identification.actuators import ActuatorIdentification
    from tarsus.identification.estimates import Estimate
    from tarsus.identification.laws import LawRanking
    from tarsus.identification.run import Identification


@dataclass(frozen=True)
class Identify(Command):
    """Identify parameters of robot, contact and ground from logs.

    docs/identification.md describes the spec file. With --laws, contact laws are ranked by how well
    they predict data that was held out. Given a log of the position servos of a robot with a
    fixed base, it identifies the actuators (docs/identification.md).
    """

    position: ClassVar[int] = 64
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus identify slope.toml --out result": "estimate parameters; write a report",
        "tarsus identify slope.toml --laws all": "rank all contact laws",
        "tarsus identify log.npz --robot arm.urdf --fixed-base --servo 20 1.5": "identify motors",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Identification": "laws trust",
        "Actuators": "robot servo structures per hold_out_from",
        "Computation": "threads",
        "Result": "out",
    }

    spec: tyro.conf.Positional[
        Annotated[
            Path,
            argument(
                "SPEC",
                "Spec of the identification (.toml): logs, model and unknowns; or a log of position"
                " servos (.npz, .csv or .parquet) with time, q and q_desired, or a ROS 2 bag.",
            ),
        ]
    ]
    laws: Annotated[str | None, argument("NAME,..."), name_list_check("law", LAWS, "all")] = None
    """Contact laws to rank by cross-validation: names (`tarsus list laws`), paths to your own
    Python files, or all."""
    trust: Trust = ()
    robot: Annotated[str | None, argument("ROBOT")] = None
    """Model of the robot in a servo log: a name or a path to an MJCF, URDF or SDF file."""
    servo: Annotated[tuple[float, float] | None, argument("KP KD")] = None
    """Gains of the servos in a servo log, N m/rad and N m s/rad."""
    structures: Annotated[str | None, argument("NAME,...")] = None
    """Actuator structures to compare: sums of friction, spring, angle, stribeck, load, delay, lag
    and offset, such as friction+spring,friction+angle. (default: six structures)"""
    per: Annotated[str | None, argument("joint|type")] = None
    """Fit parameters per joint, or per type of joint, which the legs share. (default: joint)"""
    hold_out_from: OptionalSeconds = None
    """Start of the part of a servo log that is held out. (default: its last quarter)"""
    base: Base = field(default_factory=BaseFlags)
    threads: Annotated[int | None, argument("NUMBER")] = None
    """Number of threads; it does not affect the results. (default: all available cores)"""
    out: Folder = None
    """Write identify.json, identify.html and, without --laws, identify.png to this folder; from a
    servo log also the identified robot."""

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.processes import usable_cores

        if self.threads is not None and self.threads < 1:
            raise InvalidValue(f"--threads must be at least 1, not {self.threads}.", "--threads")
        if self.out is not None:
            check_writable(self.out)
        threads = self.threads or usable_cores()
        if self.spec.suffix != ".toml":
            return self._identify_actuators(threads)
        for name in ("robot", "servo", "structures", "per", "hold_out_from"):
            if getattr(self, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise IncompatibleOptions(
                    f"{option} is for a servo log; a spec file contains these settings.", option
                )
        return self._rank(threads) if self.laws else self._identify(threads)

    def _identify(self, threads: int) -> int:
        """Identify, write the files and print the result."""
        from tarsus.identification.run import identify

        with self.progress() as progress:
            result = identify(self.spec, None, threads, progress.show_stage)
        record = asdict(result)
        files = self._write_json(record)
        if self.out is not None:
            from tarsus.identification.figures import draw_identification
            from tarsus.identification.page import build_page
            from tarsus.viewer.figure import save

            files.append(self.out / "identify.png")
            save(draw_identification(result), files[-1])
            files.append(self._write_page(build_page(result)))
        return self._print(record, files, lambda: _print_result(result))

    def _identify_actuators(self, threads: int) -> int:
        """Identify actuators from a servo log, write the files and print the result."""
        from tarsus.identification.actuators import PER, STRUCTURES, identify_actuators

        for name, value in (("--robot", self.robot), ("--servo", self.servo)):
            if value is None:
                raise InvalidValue(
                    f"a servo log needs {name}, such as --robot go2.xml --servo 20 1.5.", name
                )
        if self.laws is not None:
            raise IncompatibleOptions("--laws needs a spec, not a servo log.", "--laws")
        assert self.robot is not None and self.servo is not None
        names = registry.split_names(self.structures) if self.structures else STRUCTURES
        with self.progress() as progress:
            result = identify_actuators(
                self.spec,
                self.base.load(self.robot),
                *self.servo,
                structures=names,
                per=self.per or PER[0],
                hold_out_from=self.hold_out_from,
                threads=threads,
                on_progress=progress.show_stage,
            )
        record = result.record()
        files = self._write_json(record)
        if self.out is not None:
            from tarsus.identification.figures import draw_actuators
            from tarsus.identification.identified_file import write_identified
            from tarsus.viewer.figure import save

            files.append(self.out / "identify.png")
            save(draw_actuators(result), files[-1])
            files += write_identified(result.robot, self.out)
        return self._print(record, files, lambda: _print_actuators(result))

    def _rank(self, threads: int) -> int:
        """Rank laws, write the files and print the ranking."""
        from tarsus.identification.laws import rank_laws

        assert self.laws is not None
        requested = registry.split_names(self.laws)
        names = "all" if "all" in requested else requested
        with self.progress() as progress:
            ranking = rank_laws(self.spec, names, None, threads, progress.show_stage)
        record = asdict(ranking)
        files = self._write_json(record)
        if self.out is not None:
            from tarsus.identification.page import build_ranking_page

            files.append(self._write_page(build_ranking_page(ranking)))
        return self._print(record, files, lambda: _print_ranking(ranking))

    def _print(
        self, record: Mapping[str, Any], files: list[Path], print_text: Callable[[], None]
    ) -> int:
        """Print the record as JSON, or as text with the written files; return the exit code."""
        if self.json:
            print_json({**record, "written": [file_record(file) for file in files]})
            return 0
        print_text()
        for file in files:
            print(f"wrote {file}")
        return 0

    def _write_page(self, text: str) -> Path:
        """Write the HTML page and return its path."""
        from tarsus.files import write_text

        assert self.out is not None
        write_text({self.out / "identify.html": text})
        return self.out / "identify.html"

    def _write_json(self, record: Mapping[str, Any]) -> list[Path]:
        """Write the record as JSON, if `out` is set, and return the files."""
        if self.out is None:
            return []
        from tarsus.files import json_text, write_text

        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / "identify.json"
        write_text({path: json_text(record, indent=1) + "\n"})
        return [path]


def _print_result(result: Identification) -> None:
    """Print the estimates, the residuals and the remarks."""
    known = any(estimate.true is not None for estimate in result.estimates)
    head = ["parameter", "estimate", "95 % interval", "unit", "initial guess"]
    rows = [head + (["true value", "error"] if known else [])]
    for estimate in (*result.estimates, *result.derived):
        rows.append(_estimate_row(estimate, known))
    _print_table(rows)
    kinds = {
        "initial guess": result.before,
        "identified": result.after,
        "held out": result.held_out,
    }
    train, test = result.windows
    print(
        f"\nresiduals, in standard deviations of the noise (law {result.law}, {train} windows,"
        f" {test} held out)"
    )
    for name, errors in kinds.items():
        if errors:
            listed = ", ".join(f"{quantity} {value:.4g}" for quantity, value in errors.items())
            print(f"  {name}: {listed}")
    for sentence in result.remarks:
        print(f"- {sentence}")


def _print_actuators(result: ActuatorIdentification) -> None:
    """Print the structures, the estimates of the chosen one, and the remarks on it."""
    rows = [["structure", "parameters", "fitted", "held out", "worst joint", "AIC", "BIC"]]
    least = [min(getattr(fit, name) for fit in result.fits) for name in ("aic", "bic")]
    for fit in result.fits:
        rms = (fit.train_rms, fit.held_out_rms, fit.held_out.max())
        criteria = [f"{v - low:+.0f}" for v, low in zip((fit.aic, fit.bic), least, strict=True)]
        mark = " *" if fit.structure == result.chosen else ""
        errors = [f"{1e3 * value:.2f}" for value in rms]
        rows.append([fit.structure + mark, str(fit.parameters), *errors, *criteria])
    _print_table(rows)
    print(
        "\nRMS errors of joint angles in mrad, simulated from the targets alone; held out from"
        f" {result.split:g} s on. AIC and BIC are relative to the smallest.\nChosen:"
        f" {result.chosen}. It has the fewest parameters of those whose held-out error is at most"
        " 10 % above the best, or not significantly above it.\n"
    )
    chosen = result[result.chosen].identification
    if chosen is not None:
        head = ["parameter", "estimate", "95 % interval", "unit", "initial guess"]
        _print_table([head] + [_estimate_row(one, False) for one in chosen.estimates])
        for sentence in chosen.remarks:
            print(f"- {sentence}")
    print(f"{result.simulated} windows simulated in {result.seconds:.0f} s")


def _estimate_row(estimate: Estimate, known: bool) -> list[str]:
    from tarsus.viewer.number_format import interval

    limits = (
        "not determined"
        if estimate.undetermined
        else interval(estimate.low, estimate.high, 4, " .. ")
    )
    row = [
        estimate.name,
        f"{estimate.value:.5g}",
        limits,
        estimate.unit,
        f"{estimate.start:.4g}",
    ]
    if known:
        row += ["" if estimate.true is None else f"{estimate.true:.4g}", estimate.error_text]
    return row


def _print_ranking(ranking: LawRanking) -> None:
    """Print the laws, best first."""
    from tarsus.viewer.number_format import interval, short_name

    rows = [
        ["law", "held-out error", "95 % interval", "excess over the best", "parameters", "dt / s"]
    ]
    for law in ranking.laws:
        behind = f"{law.excess[0]:.3g} ({law.excess[1]:.3g} .. {law.excess[2]:.3g})"
        limits = interval(law.low, law.high, 4, " .. ")
        name = f"{short_name(law.law)} *" if law.is_indistinguishable else short_name(law.law)
        rows.append(
            [name, f"{law.error:.4g}", limits, behind, str(law.parameters), f"{law.dt:.3g}"]
        )
    _print_table(rows)
    print(
        f"\nErrors are in standard deviations of the noise ({ranking.windows} windows,"
        f" {ranking.folds} folds). These data cannot distinguish the laws marked * from the best."
        f" Choose {ranking.chosen}: of these, it has the fewest parameters."
    )
    for text in ranking.failed:
        print(f"- not ranked: {text}")


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
