"""`tarsus results`: the rows of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tarsus.commands.base import Command, File, Flag, called, print_json
from tarsus.errors import IncompatibleOptions


@dataclass(frozen=True)
class Results(Command):
    """Summarize a sweep, ask its rows with SQL, draw two columns, or write a page.

    Without options it prints how many worlds failed, and the mean of every outcome for each value
    of what was varied, with intervals. In SQL the table is called rows: a column for each name of
    the spec and each outcome, sample, failure, trajectory, chunk, tarsus_version, versions. Names
    with a dot stand in quotation marks.
    """

    place: ClassVar[int] = 63
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus results trot": "a summary",
        "tarsus results trot --sql 'SELECT law, avg(fell) FROM rows GROUP BY law'": "a question",
        "tarsus results trot --plot law.mu speed --by law --out speed.png": "a picture",
        "tarsus results trot --out trot.html": "a page",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Query": "sql external_access",
        "Pictures and pages": "plot by out",
    }

    folder: tyro.conf.Positional[Annotated[Path, called("FOLDER", "Folder of a sweep.")]]
    sql: Annotated[str | None, called("SQL")] = None
    """A question, such as 'SELECT law, avg(speed) FROM rows GROUP BY law'."""
    external_access: Flag = False
    """Let the question of --sql also read and write files, attach databases and load extensions."""
    plot: Annotated[tuple[str, str] | None, called("COLUMN")] = None
    """Two columns: the picture's x and y."""
    by: Annotated[str | None, called("COLUMN")] = None
    """A color for each value of this column."""
    out: File = None
    """File for the picture (.png, .svg) or, without --plot, for the page (.html)."""

    def execute(self) -> int:
        from tarsus.sweeps import query
        from tarsus.viewer.tables import TextTable

        # a picture, a page, or an answer
        if self.plot is not None:
            figure = query.picture(self.folder, *self.plot, self.by)
            out = self.out or Path("results.png")
            if out.suffix == ".html":
                return self._page([[*self.plot, *([self.by] if self.by else [])]])
            from tarsus.viewer.figure import save

            save(figure, out)
            print(f"written {out}")
            return 0
        if self.by is not None:
            raise IncompatibleOptions("--by needs --plot X Y.", "--by")
        if self.out is not None:
            return self._page([])
        if self.sql is None:
            return self._summary()
        answer = query.asked(self.folder, self.sql, self.external_access)
        if self.json:
            print_json(answer.to_dict("records"))
            return 0
        words = [str(c) for c in answer.columns if answer[c].dtype.kind not in "fiu"]
        cells = [[_cell(value) for value in row] for row in answer.to_numpy(object)]
        TextTable([str(c) for c in answer.columns], cells, words).print()
        return 0

    def _summary(self) -> int:
        """Print counts and outcomes for each value of what was varied."""
        from dataclasses import asdict

        from tarsus.sweeps import summary

        if self.json:
            print_json([asdict(cell) for cell in summary.summary(self.folder)])
            return 0
        table, failures = summary.tables(self.folder)
        table.print()
        print("means with 95 % intervals; of shares Wilson's")
        if failures:
            print(failures)
        return 0

    def _page(self, plots: list[list[str]]) -> int:
        """Write the page."""
        from tarsus.files import write_text
        from tarsus.sweeps import query

        assert self.out is not None
        write_text({self.out: query.report(self.folder, plots)})
        print(f"written {self.out}")
        return 0


def _cell(value: object) -> str:
    """Return a value of an answer as a table shows it."""
    from rich.markup import escape

    if value is None or value != value:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
