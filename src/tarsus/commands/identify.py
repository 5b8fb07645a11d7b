"""`tarsus identify`: identify parameters of robot, contact and ground from logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import registry
from tarsus.commands.base import (
    LAWS,
    Command,
    Folder,
    Trust,
    argument,
    checked_names,
    file_record,
    print_json,
)
from tarsus.errors import InvalidValue

if TYPE_CHECKING:
    from tarsus.identification.estimates import Estimate
    from tarsus.identification.laws import LawRanking
    from tarsus.identification.run import Identification


@dataclass(frozen=True)
class Identify(Command):
    """Identify parameters of robot, contact and ground from logs.

    docs/identification.md describes the spec file. With --laws, contact laws are ranked by how well
    they predict data that was held out.
    """

    position: ClassVar[int] = 64
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus identify slope.toml --out result": "estimate parameters; write a report",
        "tarsus identify slope.toml --laws all": "rank all contact laws",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Identification": "laws trust",
        "Computation": "threads",
        "Result": "out",
    }

    spec: tyro.conf.Positional[
        Annotated[
            Path,
            argument("SPEC.toml", "Spec of the identification: logs, model and unknowns."),
        ]
    ]
    laws: Annotated[str | None, argument("NAME,..."), checked_names("law", LAWS, "all")] = None
    """Contact laws to rank by cross-validation: names (`tarsus list laws`), paths to your own
    Python files, or all."""
    trust: Trust = ()
    threads: Annotated[int | None, argument("NUMBER")] = None
    """Number of threads; it does not affect the results. (default: all available cores)"""
    out: Folder = None
    """Write identify.json, identify.html and, without --laws, identify.png to this folder."""

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.processes import usable_cores

        if self.threads is not None and self.threads < 1:
            raise InvalidValue(f"--threads must be at least 1, not {self.threads}.", "--threads")
        if self.out is not None:
            check_writable(self.out)
        threads = self.threads or usable_cores()
        return self._rank(threads) if self.laws else self._identify(threads)

    def _identify(self, threads: int) -> int:
        """Identify, write the files and print the result."""
        from tarsus.identification.run import identify

        with self.progress() as progress:
            result = identify(self.spec, None, threads, progress.say)
        record = asdict(result)
        files = self._write_json(record)
        if self.out is not None:
            from tarsus.identification.figures import identification_figure
            from tarsus.identification.page import page
            from tarsus.viewer.figure import save

            files.append(self.out / "identify.png")
            save(identification_figure(result), files[-1])
            files.append(self._write_page(page(result)))
        return self._print(record, files, lambda: _print_result(result))

    def _rank(self, threads: int) -> int:
        """Rank laws, write the files and print the ranking."""
        from tarsus.identification.laws import rank_laws

        assert self.laws is not None
        requested = registry.split_names(self.laws)
        names = "all" if "all" in requested else requested
        with self.progress() as progress:
            ranking = rank_laws(self.spec, names, None, threads, progress.say)
        record = asdict(ranking)
        files = self._write_json(record)
        if self.out is not None:
            from tarsus.identification.page import ranking_page

            files.append(self._write_page(ranking_page(ranking)))
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
    for sentence in result.sentences:
        print(f"- {sentence}")


def _estimate_row(estimate: Estimate, known: bool) -> list[str]:
    from tarsus.viewer.number_format import interval

    limits = "open" if estimate.open else interval(estimate.low, estimate.high, 4, " .. ")
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
        behind = f"{law.behind[0]:.3g} ({law.behind[1]:.3g} .. {law.behind[2]:.3g})"
        limits = interval(law.low, law.high, 4, " .. ")
        name = f"{short_name(law.law)} *" if law.as_good else short_name(law.law)
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
