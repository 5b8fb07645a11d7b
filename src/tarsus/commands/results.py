"""`tarsus results`: summarize, query and plot the results of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tarsus.commands.base import Command, File, Flag, argument, print_json
from tarsus.errors import IncompatibleOptions


@dataclass(frozen=True)
class Results(Command):
    """Summarize, query or plot the results of a sweep, or write a report page.

    Without options, print the number of failed worlds and, for each value of the varied parameters,
    the mean of every outcome with its confidence interval.

    In SQL, the table is `rows`. Its columns are the names in the spec, the outcomes, and `sample`,
    `failure`, `trajectory`, `chunk`, `tarsus_version` and `versions`. Put names that contain a dot
    in double quotes.
    """

    position: ClassVar[int] = 63
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus results trot": "print a summary",
        "tarsus results trot --sql 'SELECT law, avg(fell) FROM rows GROUP BY law'": "run a query",
        "tarsus results trot --plot law.mu speed --by law --out speed.png": "plot two columns",
        "tarsus results trot --out trot.html": "write a report page",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Query": "sql external_access",
        "Plot and page": "plot by out",
    }

    folder: tyro.conf.Positional[Annotated[Path, argument("FOLDER", "Folder of a sweep.")]]
    sql: Annotated[str | None, argument("SQL")] = None
    """SQL query, such as 'SELECT law, avg(speed) FROM rows GROUP BY law'."""
    external_access: Flag = False
    """Allow the query to read and write files, attach databases and load extensions."""
    plot: Annotated[tuple[str, str] | None, argument("COLUMN")] = None
    """Plot two columns, x and y."""
    by: Annotated[str | None, argument("COLUMN")] = None
    """Use a color for each value of this column."""
    out: File = None
    """Write the plot (.png, .svg) or a report page (.html) to this file."""

    def execute(self) -> int:
        from tarsus.sweeps import query
        from tarsus.viewer.tables import TextTable

        if self.plot is not None:
            figure = query.plot(self.folder, *self.plot, self.by)
            out = self.out or Path("results.png")
            if out.suffix == ".html":
                return self._write_page([[*self.plot, *([self.by] if self.by else [])]])
            from tarsus.viewer.figure import save

            save(figure, out)
            print(f"wrote {out}")
            return 0
        if self.by is not None:
            raise IncompatibleOptions("--by needs --plot X Y.", "--by")
        if self.out is not None:
            return self._write_page([])
        if self.sql is None:
            return self._print_summary()
        result = query.run_sql(self.folder, self.sql, self.external_access)
        if self.json:
            print_json(result.to_dict("records"))
            return 0
        text_columns = [str(c) for c in result.columns if result[c].dtype.kind not in "fiu"]
        cells = [[_format_cell(value) for value in row] for row in result.to_numpy(object)]
        TextTable([str(c) for c in result.columns], cells, text_columns).print()
        return 0

    def _print_summary(self) -> int:
        """Print counts and mean outcomes for each combination of varied parameters."""
        from dataclasses import asdict

        from tarsus.sweeps import summary

        if self.json:
            print_json([asdict(cell) for cell in summary.summary(self.folder)])
            return 0
        table, failures = summary.tables(self.folder)
        table.print()
        print("means with 95 % confidence intervals (Wilson's for proportions)")
        if failures:
            print(failures)
        return 0

    def _write_page(self, plots: list[list[str]]) -> int:
        """Write the report page and return the exit code."""
        from tarsus.files import write_text
        from tarsus.sweeps import query

        assert self.out is not None
        write_text({self.out: query.report(self.folder, plots)})
        print(f"wrote {self.out}")
        return 0


def _format_cell(value: object) -> str:
    """Format a value of a query result for a table."""
    from rich.markup import escape

    if value is None or value != value:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
