"""`tarsus identify`: parameters of robot, contact and ground from logs."""

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
    called,
    names_of,
    print_json,
    written,
)
from tarsus.errors import InvalidValue

if TYPE_CHECKING:
    from tarsus.identification.estimates import Estimate
    from tarsus.identification.laws import LawRanking
    from tarsus.identification.run import Identification


@dataclass(frozen=True)
class Identify(Command):
    """Identify parameters of robot, contact and ground from logs.

    What a spec may say: docs/identification.md. With --laws it ranks contact laws by how well they
    repeat what was held out.
    """

    place: ClassVar[int] = 64
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus identify slope.toml --out found": "estimates, intervals; a page",
        "tarsus identify slope.toml --laws all": "which law would you choose?",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Identification": "laws trust",
        "Computation": "threads",
        "Results": "out",
    }

    spec: tyro.conf.Positional[
        Annotated[Path, called("SPEC.toml", "Logs, model, and what is identified.")]
    ]
    laws: Annotated[str | None, called("NAME,..."), names_of("law", LAWS, "all")] = None
    """Contact laws to rank by cross-validation (`tarsus list laws`), paths of your own, or all."""
    trust: Trust = ()
    threads: Annotated[int | None, called("NUMBER")] = None
    """Threads; by default as many cores as this process may use. The results do not depend on
    it."""
    out: Folder = None
    """Folder for identify.json, identify.html and, without --laws, identify.png."""

    def execute(self) -> int:
        from tarsus.files import check_writable
        from tarsus.processes import usable_cores

        # what is asked
        if self.threads is not None and self.threads < 1:
            raise InvalidValue(f"--threads must be at least 1, not {self.threads}.", "--threads")
        if self.out is not None:
            check_writable(self.out)
        threads = self.threads or usable_cores()
        return self._rank(threads) if self.laws else self._identify(threads)

    def _identify(self, threads: int) -> int:
        """Identify, tell, and draw."""
        from tarsus.identification.run import identify

        with self.progress() as progress:
            found = identify(self.spec, None, threads, progress.say)
        record = asdict(found)
        files = self._written(record)
        if self.out is not None:
            from tarsus.identification.figures import identification_figure
            from tarsus.identification.page import page
            from tarsus.viewer.figure import save

            files.append(self.out / "identify.png")
            save(identification_figure(found), files[-1])
            files.append(self._page(page(found)))
        return self._told(record, files, lambda: _print(found))

    def _rank(self, threads: int) -> int:
        """Rank laws, and tell."""
        from tarsus.identification.laws import rank_laws

        assert self.laws is not None
        given = registry.split_names(self.laws)
        names = "all" if "all" in given else given
        with self.progress() as progress:
            found = rank_laws(self.spec, names, None, threads, progress.say)
        record = asdict(found)
        files = self._written(record)
        if self.out is not None:
            from tarsus.identification.page import ranking_page

            files.append(self._page(ranking_page(found)))
        return self._told(record, files, lambda: _print_laws(found))

    def _told(self, record: Mapping[str, Any], files: list[Path], tell: Callable[[], None]) -> int:
        """The exit code, when the record is printed as JSON, or by `tell` with what was written."""
        if self.json:
            print_json({**record, "written": [written(file) for file in files]})
            return 0
        tell()
        for file in files:
            print(f"written {file}")
        return 0

    def _page(self, text: str) -> Path:
        """The page in its file."""
        from tarsus.files import write_text

        assert self.out is not None
        write_text({self.out / "identify.html": text})
        return self.out / "identify.html"

    def _written(self, record: Mapping[str, Any]) -> list[Path]:
        """The record in a file, if a folder is given."""
        if self.out is None:
            return []
        from tarsus.files import json_text, write_text

        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / "identify.json"
        write_text({path: json_text(record, indent=1) + "\n"})
        return [path]


def _print(found: Identification) -> None:
    """A table, residuals, and what a reader must know."""
    known = any(one.true is not None for one in found.estimates)
    head = ["parameter", "estimate", "95 % interval", "unit", "first guess"]
    rows = [head + (["true", "error"] if known else [])]
    for one in (*found.estimates, *found.derived):
        rows.append(_row(one, known))
    _print_table(rows)
    kinds = {"first guess": found.before, "identified": found.after, "held out": found.held_out}
    train, test = found.windows
    print(f"\nresiduals in deviations of the noise; {train} windows, {test} held out, {found.law}")
    for name, errors in kinds.items():
        if errors:
            listed = ", ".join(f"{what} {value:.4g}" for what, value in errors.items())
            print(f"  {name}: {listed}")
    for sentence in found.sentences:
        print(f"- {sentence}")


def _row(one: Estimate, known: bool) -> list[str]:
    from tarsus.viewer.numbers import ends

    interval = "open" if one.open else ends(one.low, one.high, 4, " .. ")
    row = [one.name, f"{one.value:.5g}", interval, one.unit, f"{one.start:.4g}"]
    if known:
        row += ["" if one.true is None else f"{one.true:.4g}", one.told_error]
    return row


def _print_laws(found: LawRanking) -> None:
    """Laws, best first."""
    from tarsus.viewer.numbers import ends, short_name

    rows = [["law", "held-out error", "95 % interval", "behind the best", "parameters", "dt / s"]]
    for law in found.laws:
        behind = f"{law.behind[0]:.3g} ({law.behind[1]:.3g} .. {law.behind[2]:.3g})"
        interval = ends(law.low, law.high, 4, " .. ")
        name = f"{short_name(law.law)} *" if law.as_good else short_name(law.law)
        rows.append(
            [name, f"{law.error:.4g}", interval, behind, str(law.parameters), f"{law.dt:.3g}"]
        )
    _print_table(rows)
    print(
        f"\n{found.windows} windows, {found.folds} folds; errors in deviations of the noise."
        f" Choose {found.chosen}: of the laws marked *, which these data cannot tell from the"
        " best, it has the fewest parameters."
    )
    for text in found.failed:
        print(f"- not ranked: {text}")


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())
